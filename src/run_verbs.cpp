// run, gradient and invert: the verbs that write a run folder.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/results/estimates_file.hpp"
#include "runtime/durations.hpp"
#include "runtime/nearest_name.hpp"
#include "runtime/standard_streams.hpp"
#include "runtime/stopwatch.hpp"
#include "src/inversion_report.hpp"
#include "src/report.hpp"
#include "src/same_start.hpp"
#include "src/session.hpp"
#include "src/staged_inversion.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

void write_outputs(ArchiveWriter& to, const OutputsWritten& written) {
  to.write(written.steps);
  to.write(written.times);
  to.write(static_cast<std::int64_t>(written.values.size()));
  for (const std::vector<double>& values : written.values) to.write(values);
}

OutputsWritten read_outputs(ArchiveReader& from) {
  OutputsWritten written;
  from.read(written.steps);
  from.read(written.times);
  for (auto n = from.get<std::int64_t>(); n > 0; --n) written.values.push_back(from.get<std::vector<double>>());
  return written;
}

/// Whether the process before has finished the output and was ended before it said so.
bool has_output(const RunFolder& folder) {
  return folder.communicator().any(folder.communicator().is_root() &&
                                   std::filesystem::exists(folder.file("fields.h5")));
}

/// Output that goes on where the journal has it; null when it is finished. Where it cannot go on, what would write it
/// is evaluated again.
std::unique_ptr<OutputObserver> begin_output(const Session& session, RunJournal& journal) {
  if (session.has_shots()) return nullptr;  // fields of a shot are those of a run of it alone; there may be groups
  std::optional<OutputsWritten> written;
  const bool is_kept = journal.read_attached("output", [&](ArchiveReader& from) { written = read_outputs(from); });
  if (is_kept && journal.has_next() && has_output(journal.folder())) return nullptr;
  std::unique_ptr<OutputObserver> output;
  try {
    output = std::make_unique<OutputObserver>(session, journal.folder(), std::move(written));
  } catch (const ResourceError&) {
    if (!is_kept) throw;
    journal.evaluate_again();
    output = std::make_unique<OutputObserver>(session, journal.folder());
  }
  journal.attach("output", [&o = *output](ArchiveWriter& to) { write_outputs(to, o.written()); });
  journal.before_epoch([&o = *output] { o.flush(); });
  return output;
}

StateObserver observer_of(const std::unique_ptr<OutputObserver>& output) {
  return output ? output->observer() : StateObserver();
}

/// Nothing is evaluated again because the process is killed from here on.
void finish_output(const std::unique_ptr<OutputObserver>& output, RunJournal& journal) {
  if (!output) return;
  journal.settle();
  output->finish();
}

/// A run from its begin to its result.
class Run {
 public:
  Run(const Options& options, const Case& source, const Communicator& comm, Sensitivities sensitivities)
      : groups_(make_groups(options, source, comm, sensitivities)),
        journal(options, source, comm, groups_.get()),
        session(source, groups_ ? groups_->group() : comm, sensitivities,
                session_options(options, source, comm, &journal, groups_.get())),
        options_(options) {
    begin();
  }
  const RunFolder& folder() const { return journal.folder(); }
  /// The first group writes the results, of which all have the same.
  template <class Work>
  void write(const Work& work) const {
    session.groups().world().together([&] {
      if (session.groups().index() == 0) work();
    });
  }
  /// Whether it says on standard output, for people, what it does.
  bool talks() const { return !options_.quiet && options_.json != "-"; }
  /// Adds the warnings and what was resident to the result. Collective. @param seconds that the result took.
  void finish(Json result, double seconds) {
    session.look_at_end();
    result["memory"]["resident"] = resident_result(session);
    for (const std::vector<std::string>& texts : {session.notes(), session.warnings()})
      for (const std::string& text : texts) {
        result["warnings"].push_back(text);
        event("warning", {{"text", text}});
      }
    write([&] { folder().write_text("result.json", result.dump(2) + "\n"); });
    event("finished", {{"seconds", seconds}, {"objective", result["objective"]}});
    journal.finish();
    write_json(options_, session.groups().world(), result);
  }
  /// In the log of what happened when.
  void event(const std::string& name, const Json& details) {
    if (log_) log_->event(name, details);
  }

 private:
  std::unique_ptr<ShotGroups> groups_;  // null: all ranks are one

 public:
  RunJournal journal;
  Session session;

 private:
  void begin() {
    journal.begin(session.source(), session.epoch_bytes());
    write([&] {
      folder().write_text("case.yaml", session.source().resolved);
      log_.emplace(folder(), options_.verb, session);
    });
  }

  std::optional<RunLog> log_;
  const Options& options_;
};

/// "81 steps", of steps that errors decide with what became of them.
std::string steps_text(const Session& session, const char* steps) {
  if (session.has_shots()) return fmt::format("{} shots, {} {}", session.shot_results().size(), session.steps(), steps);
  const TimeLine& time = session.simulation().time();
  std::string text = fmt::format("{} {}", time.steps(), steps);
  if (time.tries_steps())
    text += fmt::format(" ({:.3g} to {:.3g} long, {} more tried in vain)", time.shortest().step, time.longest().step,
                        time.rejected());
  return text;
}

}  // namespace

SessionOptions session_options(const Options& options, const Case& c, const Communicator& comm, RunJournal* journal,
                               const ShotGroups* groups) {
  SessionOptions session;
  session.machine = chosen_backend(options).open(comm);
  session.costs = options.cost;
  if (options.verb == "invert") session.gradients = std::max<std::int64_t>(2, iterations_of(stages_of(c)));
  session.disk.scratch = (journal != nullptr ? journal->work() : run_path(options, c)) + "/scratch";
  if (journal != nullptr) {
    session.journal = journal;
    session.disk.tag = journal->checkpoint_tag();
    session.disk.keeps = true;
    session.disk.reopens = journal->is_resumed();
  }
  if (options.developer.emulate_disk.size() == 2)
    session.disk.emulated = {options.developer.emulate_disk[0], options.developer.emulate_disk[1]};
  session.groups = groups;
  session.shuffle_shots = options.developer.shuffle_shots;
  session.shows_progress = !options.quiet && (groups == nullptr || groups->index() == 0);
  return session;
}

ExitCode run_verb(const Options& options, const Communicator& comm) {
  const Case source = read_same_case(options, comm);
  Run run(options, source, comm, Sensitivities::none);
  Session& session = run.session;
  const std::unique_ptr<OutputObserver> output = begin_output(session, run.journal);
  session.keep_simulated();
  const Stopwatch watch;
  const double objective = run.journal.with_failures_told([&] { return session.objective(observer_of(output)); });
  const double seconds = watch.seconds();
  finish_output(output, run.journal);
  run.write([&] { write_misfits(session, run.folder()); });
  Json json = base_result("run", session, objective);
  json["seconds"] = {{"forward", seconds}};
  run.finish(json, watch.seconds());
  if (run.talks())
    print(comm, fmt::format("{}: {} in {:.3g} s, objective {:.10g}\n{}results in {}\n", session.source().name,
                            steps_text(session, "steps"), seconds, objective,
                            shots_text(session) + misfit_text(session), run.journal.place()));
  return ExitCode::done;
}

ExitCode gradient_verb(const Options& options, const Communicator& comm) {
  const Case source = read_same_case(options, comm);
  if (source.unknowns.empty())
    throw InputError({options.target, 0, 0}, "a gradient needs unknowns: add them to the case");
  Run run(options, source, comm, Sensitivities::adjoint);
  Session& session = run.session;
  const Stopwatch begin;
  const std::unique_ptr<OutputObserver> output = begin_output(session, run.journal);
  OutputSeconds output_seconds;
  if (output) output_seconds.written = output->measure();
  output_seconds.begin = begin.seconds();
  session.keep_simulated();
  const Stopwatch watch;
  const Evaluation evaluation = run.journal.with_failures_told([&] { return session.gradient(observer_of(output)); });
  const double seconds = watch.seconds();
  finish_output(output, run.journal);
  Json json = base_result("gradient", session, evaluation.objective);
  run.write([&] {
    write_misfits(session, run.folder());
    json["gradient"] = values_result(session, run.folder(), "gradient.h5", evaluation.gradient);
  });
  json.merge_patch(counts_result(options, session, evaluation.counts, evaluation.seconds, output_seconds));
  json["seconds"] = {{"start", session.gradients().checkpoints().planned_at()},
                     {"memory", session.gradients().checkpoints().memory_seconds()},
                     {"gradient", seconds},
                     {"total", process_seconds()}};
  run.finish(json, watch.seconds());
  if (!run.talks()) return ExitCode::done;
  std::string text = fmt::format("{}: objective {:.10g}\n", session.source().name, evaluation.objective);
  for (const auto& [name, value] : json["gradient"].items())
    text += value.is_number() ? fmt::format("  dJ/d{:<14} {:.10g}\n", name, value.get<double>())
                              : fmt::format("  dJ/d{:<14} norm {:.10g}, in {}\n", name, value["norm"].get<double>(),
                                            value["dataset"].get<std::string>());
  const CheckpointPlan& plan = session.plan();
  const Tier memory = session.plan_inputs().memory();
  const std::string predicted =
      plan.is_predicted() ? fmt::format(" (predicted: {})",
                                        seconds_text(session.planned().seconds + output_seconds.written.value_or(0.0)))
                          : "";
  text += fmt::format("{}, {} recomputed, {} reversed in {}{}; schedule {}, {} of {} {} memory\n",
                      steps_text(session, "steps forward"), json["steps"]["recomputed"].get<std::int64_t>(),
                      json["steps"]["reversed"].get<std::int64_t>(), seconds_text(evaluation.seconds), predicted,
                      plan.kind->name, bytes_text(session.peak_bytes(memory)), bytes_text(session.budget(memory)),
                      to_text(memory)) +
          walked_text(json);
  text +=
      fmt::format("{} in all{}: {} to start and plan, {} for memory\n", seconds_text(process_seconds()),
                  plan.is_predicted() && !options.resume
                      ? fmt::format(" (predicted: {})", seconds_text(predicted_total(options, session, output_seconds)))
                      : "",
                  seconds_text(session.gradients().checkpoints().planned_at()),
                  seconds_text(session.gradients().checkpoints().memory_seconds()));
  print(comm, text + shots_text(session) + misfit_text(session) + "results in " + run.journal.place() + "\n");
  return ExitCode::done;
}

namespace {

/// estimates.h5, where the case wants it, in the first group.
std::unique_ptr<EstimatesFile> begin_estimates(const Run& run) {
  std::unique_ptr<EstimatesFile> file;
  const Simulation& simulation = run.session.simulation();
  const Case& c = run.session.source();
  if (c.output.estimates == 0) return file;
  std::vector<EstimatesFile::Unknown> unknowns;
  for (std::size_t i = 0; i < c.unknowns.size(); ++i) {
    const bool is_of_cells = simulation.spec().unknowns[i].is_field() && simulation.grid().dimensions() > 0;
    unknowns.push_back({c.unknowns[i].label(), is_of_cells ? 0 : simulation.values()[i].size()});
  }
  const std::int64_t most = iterations_of(stages_of(c)) / c.output.estimates + 1;
  run.write(
      [&] { file = std::make_unique<EstimatesFile>(run.folder(), simulation.grid(), std::move(unknowns), most); });
  return file;
}

/// Says on standard output and in the log how an inversion goes on. @param estimates null: none are kept.
StageWatch watch_of(Run& run, const Case& source, EstimatesFile* estimates) {
  const auto of_stage = [has_stages = has_stages(source)](std::size_t stage) {
    return has_stages ? Json{{"stage", stage + 1}} : Json::object();
  };
  const std::size_t count = stages_of(source).size();
  /// The log has the evaluations of illuminations as well, one before each stage.
  const auto is_recalled = [&run, preconditions = source.inversion && source.inversion->preconditions](
                               std::int64_t evaluations, std::size_t stages) {
    return evaluations + (preconditions ? static_cast<std::int64_t>(stages) : 0) < run.journal.recalled();
  };
  StageWatch watch;
  watch.begins = [&run, &source, of_stage, count, is_recalled](std::size_t stage, std::int64_t evaluations) {
    run.journal.stage_begins(has_stages(source) ? stage + 1 : 0, count);
    if (has_stages(source) && !is_recalled(evaluations, stage)) run.event("stage", of_stage(stage));
    if (run.talks()) print(run.session.groups().world(), stage_head(run.session, stage));
  };
  watch.iteration = [&run, of_stage, estimates, is_recalled, every = source.output.estimates](
                        std::size_t stage, const InversionIteration& now,
                        const std::function<UnknownValues()>& estimate) {
    if (estimates != nullptr && now.iteration % every == 0 && now.iteration > estimates->last())
      estimates->write(now.iteration, estimate());
    if (!is_recalled(now.evaluations - 1, stage + 1)) {
      Json details = {{"iteration", now.iteration},
                      {"objective", now.objective},
                      {"gradient_norm", now.gradient_norm},
                      {"evaluations", now.evaluations}};
      details.update(of_stage(stage));
      for (const ShotResult& shot : run.session.shot_results()) details["shots"][shot.name] = shot.objective;
      run.event("iteration", details);
    }
    if (run.talks()) print(run.session.groups().world(), table_line(now));
  };
  watch.ends = [&run, &source](std::size_t, const InversionResult& result) {
    if (run.talks() && has_stages(source)) print(run.session.groups().world(), "stopped: " + result.reason + "\n\n");
  };
  return watch;
}

}  // namespace

ExitCode invert_verb(const Options& options, const Communicator& comm) {
  const Case source = read_same_case(options, comm);
  if (source.unknowns.empty())
    throw InputError({options.target, 0, 0}, "an inversion needs unknowns: add them to the case");
  Run run(options, source, comm, Sensitivities::adjoint);
  Session& session = run.session;
  const UnknownValues start = session.simulation().values();
  if (run.talks()) print(comm, source.name + "\n");
  const std::unique_ptr<EstimatesFile> estimates = begin_estimates(run);
  const Stopwatch watch;
  const StagedInversion inversion =
      run.journal.with_failures_told([&] { return invert_in_stages(session, watch_of(run, source, estimates.get())); });
  run.journal.stage_begins(0, 0);
  const double seconds = watch.seconds();
  const UnknownValues estimate = session.simulation().values();
  const std::unique_ptr<OutputObserver> output = begin_output(session, run.journal);
  session.keep_simulated();
  const double objective = run.journal.with_failures_told([&] { return session.objective(observer_of(output)); });
  finish_output(output, run.journal);

  Json json = base_result("invert", session, objective);
  run.write([&] {
    if (estimates) estimates->finish();
    write_misfits(session, run.folder());
    run.folder().write_text("convergence.csv", convergence_table(source, inversion));
    json["estimate"] = values_result(session, run.folder(), "estimate.h5", estimate);
  });
  json["inversion"] = inversion_result(source, inversion);
  json.merge_patch(counts_result(options, session, inversion.counts, inversion.gradient_seconds));
  json["seconds"] = {{"inversion", seconds}};
  run.finish(json, watch.seconds());
  const InversionResult& last = inversion.stages.back();
  if (run.talks())
    print(comm, fmt::format("{} ({} evaluations, {:.3g} s)\n\n{}\n{}results in {}\n",
                            has_stages(source) ? "all stages are done" : "stopped: " + last.reason, last.evaluations,
                            seconds, estimates_text(session, start, estimate),
                            walked_text(json) + shots_text(session) + misfit_text(session), run.journal.place()));
  if (!last.unused_options.empty() && comm.is_root())
    print_error("warning: " + source.petsc.origin(last.unused_options.front()) + " nothing asked for " +
                join(last.unused_options) + "\n");
  return last.gave_up ? ExitCode::numerics : ExitCode::done;
}

}  // namespace hindsight

// plan and schedule: what checkpointing will do and what it costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/report.hpp"
#include "adjoint/schedule/roles.hpp"
#include "runtime/stop_request.hpp"
#include "runtime/stopwatch.hpp"
#include "src/picture.hpp"
#include "src/report.hpp"
#include "src/same_start.hpp"
#include "src/session.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

/// A plan with another budget, or why there is none.
struct Variant {
  std::string name;
  std::int64_t bytes = 0;  ///< of the tier that is varied, working memory included
  std::optional<CheckpointPlan> plan;
};

Variant vary(const PlanInputs& inputs, const std::string& name, Tier tier, std::int64_t bytes) {
  PlanInputs changed = inputs;
  const std::int64_t working = inputs.working(tier);
  changed.units[tier] = std::max<std::int64_t>(0, (bytes - working) / taken_bytes(tier, inputs));
  if (tier == Tier::host) changed.host_bytes = std::max<std::int64_t>(0, bytes - working);
  Variant variant{name, bytes, {}};
  try {
    if (bytes > working) variant.plan = make_plan(changed);
  } catch (const InputError&) {
    variant.plan.reset();
  }
  return variant;
}

std::vector<Variant> variants(const Session& session) {
  const PlanInputs& inputs = session.plan_inputs();
  std::vector<Variant> all;
  const Tier memory = inputs.memory();
  for (const auto& [name, factor] : {std::pair{"half", 0.5}, {"this", 1.0}, {"double", 2.0}})
    all.push_back(vary(inputs, fmt::format("{} {} memory", name, to_text(memory)), memory,
                       static_cast<std::int64_t>(factor * static_cast<double>(session.gradients().budget(memory)))));
  if (inputs.units[Tier::disk] == 0) return all;
  const std::int64_t disk = inputs.units[Tier::disk] * unit_bytes(Tier::disk, inputs);
  all.push_back(vary(inputs, "half disk", Tier::disk, disk / 2));
  all.push_back(vary(inputs, "double disk", Tier::disk, disk * 2));
  return all;
}

/// Memory with which at most factor * n forward steps are taken: by Revolve, or by walking back where that may be;
/// below twice by keeping the stage records of some steps and the states of the others.
std::int64_t bytes_for(double factor, std::int64_t n, const PlanInputs& inputs) {
  if (factor < 2) {
    const double records = (2 - factor) * static_cast<double>(n), states = static_cast<double>(n) - records;
    const double units = std::ceil(records) * static_cast<double>(inputs.record_units) + std::ceil(states);
    return inputs.working(inputs.memory()) + static_cast<std::int64_t>(units) * taken_bytes(inputs.memory(), inputs);
  }
  std::int64_t low = 0, high = std::max<std::int64_t>(1, n - 1);
  while (high - low > 1) {
    const std::int64_t slots = low + (high - low) / 2;
    const std::int64_t plain = binomial_plain_steps(n, slots);
    (static_cast<double>(plain) + static_cast<double>(n) <= factor * static_cast<double>(n) ? high : low) = slots;
  }
  std::int64_t bytes = high * taken_bytes(inputs.memory(), inputs);
  if (inputs.no_walking_back.empty() && inputs.memory() == Tier::host)
    bytes = std::min(bytes, taken_bytes(Tier::host, inputs) + n * inputs.left_behind_bytes);
  return inputs.working(inputs.memory()) + bytes;
}

std::string count_text(std::int64_t count) {
  return count == unpredicted ? "-" : std::to_string(count);
}

/// What moving a state to and from the slow tiers in use takes.
std::string transfers_text(const Session& session) {
  const PlanInputs& inputs = session.plan_inputs();
  std::string text;
  for (const Tier tier : {Tier::host, Tier::disk}) {
    const auto t = index_of(tier);
    if (!session.tiers().is_asked_for(tier) || session.plan().schedule.predicted.peak[t] == 0) continue;
    const Codec* const codec = session.tiers().codec(tier);
    text += fmt::format("  A state takes {} to the {} and {} back{}, {}.\n", seconds_text(inputs.seconds.write[t]),
                        tier == Tier::disk ? "disk" : "host slots", seconds_text(inputs.seconds.read[t]),
                        codec != nullptr
                            ? fmt::format(", coded ({}) into {}", codec->name(), bytes_text(unit_bytes(tier, inputs)))
                            : "",
                        inputs.overlap.is_on() ? "beside the steps" : "while the steps wait");
    const double delay = std::max(inputs.seconds.write_delay[t], inputs.seconds.read_delay[t]);
    if (inputs.overlap.is_on() && delay > 0)
      text += fmt::format("  No core is free for that: the steps get up to {} later each time.\n", seconds_text(delay));
  }
  return text;
}

/// Of single steps, where plans take spans of them as one.
struct SingleSteps {
  explicit SingleSteps(const Session& session) {
    const PlanInputs& inputs = session.plan_inputs();
    const Simulation& simulation = session.simulation();
    steps = simulation.steps_of(inputs.at_most);
    state_bytes = simulation.state_bytes();
    const double each = static_cast<double>(steps) / static_cast<double>(inputs.at_most);
    forward = inputs.seconds.forward / each;
    record = inputs.seconds.record / each;
    record_last = inputs.seconds.record_last / each;
    reverse = inputs.seconds.reverse / each;
  }
  std::int64_t steps = 0, state_bytes = 0;
  double forward = 0.0, record = 0.0, record_last = 0.0, reverse = 0.0;  ///< seconds
};

/// What a number of groups gives to a case with shots.
struct Division {
  int groups = 1, ranks = 1;      ///< ranks of a group
  std::int64_t bytes = 0;         ///< of memory that each rank needs at least
  std::optional<double> seconds;  ///< of the first evaluation; none where plans predict nothing
  std::string failure;            ///< why there is no plan; empty: there is one
};

Division division_of(const Session& session) {
  const Experiments& all = session.experiments();
  Division division{session.groups().count(), session.communicator().size(), 0, {}, ""};
  all.for_each_kind([&](const Simulation&, const Gradients* own) {
    const PlanInputs& inputs = own->checkpoints().inputs();
    division.bytes += inputs.working(inputs.memory());
  });
  if (session.plan().is_predicted()) division.seconds = session.planned().seconds;
  return division;
}

/// Of all numbers of groups that there can be. @param known one of them.
std::vector<Division> divisions(const Options& options, const Case& c, const Communicator& comm,
                                const Division& known) {
  std::vector<Division> all;
  for (int groups = 1; groups <= comm.size(); ++groups) {
    if (comm.size() % groups != 0 || groups > static_cast<int>(c.shots.size())) continue;
    if (groups == known.groups) {
      all.push_back(known);
      continue;
    }
    const ShotGroups division(comm, groups);
    Division now{groups, comm.size() / groups, 0, {}, ""};
    try {
      SessionOptions plan_from = session_options(options, c, comm, nullptr, &division);
      plan_from.only_plan = true;
      plan_from.shows_progress = false;
      now = division_of(Session(c, division.group(), Sensitivities::adjoint, plan_from));
    } catch (const Stopped&) {
      throw;
    } catch (const Error& error) {  // of all groups
      now.failure = error.what();
    }
    all.push_back(now);
  }
  return all;
}

std::string divisions_text(const std::vector<Division>& all) {
  if (all.size() < 2) return "";
  std::string text = fmt::format("\nWhat groups of ranks give\n  {:>6}{:>12}{:>18}{:>20}\n", "groups", "ranks each",
                                 "memory at least", "an evaluation");
  for (const Division& one : all)
    text += fmt::format("  {:>6}{:>12}{:>18}{:>20}\n", one.groups, one.ranks,
                        one.failure.empty() ? bytes_text(one.bytes) : "there is less",
                        one.seconds ? seconds_text(*one.seconds) : "-");
  return text;
}

/// "5 shots, of 2 kinds that are simulated apart: what follows is of the first, 'cold'."
std::string shots_of_plan(const Session& session) {
  if (!session.has_shots()) return "";
  const Experiments& all = session.experiments();
  const std::string kinds =
      all.kinds() > 1 ? fmt::format(", of {} kinds that are simulated apart and share the budgets", all.kinds()) : "";
  const ShotGroups& groups = session.groups();
  const int ranks = groups.group().size();
  const std::string turns = groups.count() == 1 ? "one after the other"
                                                : fmt::format(
                                                      "on {} groups of {} {}, each of which takes the next "
                                                      "when it is free",
                                                      groups.count(), ranks, ranks == 1 ? "rank" : "ranks");
  const Division division = division_of(session);
  const std::string time =
      division.seconds ? fmt::format(" An evaluation takes {}.", seconds_text(*division.seconds)) : "";
  return fmt::format("{} shots, {}{}.{}\nWhat follows is of the first, '{}', but for the times in all.\n\n",
                     all.count(), turns, kinds, time, all.name(all.in_use()));
}

std::string plan_text(const Options& options, const Session& session, const OutputSeconds& output,
                      const std::vector<Variant>& all) {
  const CheckpointPlan& plan = session.plan();
  const PlanInputs& inputs = session.plan_inputs();
  const SingleSteps single(session);
  const ScheduleCounts& counts = plan.schedule.predicted;
  std::string text = fmt::format(
      "{}: {}{} steps. One state takes {}{}, all of them {}.\n"
      "A step takes {}, {} {} ({}).\n\n",
      session.source().name, plan.is_open() ? "at most " : "", single.steps, bytes_text(single.state_bytes),
      session.simulation().element() == Element::float32 ? " in float32" : "",
      bytes_text(static_cast<double>(single.state_bytes) * static_cast<double>(single.steps)),
      seconds_text(single.forward),
      inputs.seconds.reverses_from_state ? "reversing one from its state" : "recording and reversing one",
      seconds_text(single.record_last + single.reverse),
      options.cost.empty() ? "measured" : "as --cost says, the rest measured");
  if (const auto solvers = session.simulation().stepper().solver_report().solvers; !solvers.empty()) {
    for (const auto& [prefix, how] : solvers)
      text += fmt::format("Systems with options {}... are solved by {}.\n", prefix, how);
    text += "\n";
  }
  text += shots_of_plan(session);
  if (inputs.are_spans)
    text += fmt::format("Steps are taken in {} spans, each in one call and kept as one checkpoint.\n\n", inputs.steps);
  if (inputs.are_first_levels)
    text += fmt::format("Records of all steps are kept, {} each: the fields that they begin with.\n\n",
                        bytes_text(inputs.state_bytes));
  text += fmt::format("Schedule {}{}: {}\n", plan.kind->name, plan.is_automatic ? " (chosen)" : "", plan.kind->summary);
  text += fmt::format("  {:<6}{:>14}{:>14}{:>14}{:>10}{:>10}{:>12}\n", "tier", "budget", "used", "checkpoints",
                      "writes", "reads", "moved");
  for (const Tier tier : tiers_in_use(inputs)) {
    const auto t = index_of(tier);
    const std::int64_t used = inputs.working(tier) + plan.checkpoint_bytes(tier, inputs);
    const std::int64_t budget = session.gradients().budget(tier);
    const bool is_counted = counts.writes[t] != unpredicted && counts.reads[t] != unpredicted;
    const std::string moved = is_counted ? bytes_text(static_cast<double>(counts.writes[t] + counts.reads[t]) *
                                                      static_cast<double>(unit_bytes(tier, inputs)))
                                         : "-";
    text += fmt::format("  {:<6}{:>14}{:>14}{:>14}{:>10}{:>10}{:>12}\n", to_text(tier), bytes_text(budget),
                        bytes_text(used), counts.peak[t], count_text(counts.writes[t]), count_text(counts.reads[t]),
                        tier != Tier::disk && !session.tiers().is_asked_for(tier) ? "no copies" : moved);
  }
  for (const Tier tier : {Tier::device, Tier::host})
    if (inputs.working(tier) > 0)
      text +=
          fmt::format("  ({} of the {} memory is working memory.)\n", bytes_text(inputs.working(tier)), to_text(tier));
  if (!session.gradients().checkpoints().source_of_host_budget().empty())
    text += fmt::format("  (The budget of host memory is {}.)\n",
                        session.gradients().checkpoints().source_of_host_budget());
  text += transfers_text(session);
  if (!plan.is_open() && !plan.is_predicted())
    return text + "An online schedule does not use the number of steps, so nothing is predicted.\n";
  if (plan.is_open()) return text + "How many steps there will be is known only when the run ends.\n";
  text += fmt::format(
      "Each step is taken {:.2f} times on average; the gradient will take about {}, and {} in all: with start, "
      "planning,\n"
      "{} for making the memory of checkpoints and {} for writing the output.\n",
      plan.recomputation(), seconds_text(session.planned().seconds),
      seconds_text(predicted_total(options, session, output)), seconds_text(plan.memory_seconds),
      output.written ? seconds_text(*output.written) : "an unknown time");
  if (counts.retreated > 0)
    text += fmt::format("States are walked back {} steps, each of which takes {}.\n", counts.retreated,
                        seconds_text(single.forward));
  if (counts.retreated > 0 && inputs.left_behind_bytes > 0)
    text +=
        fmt::format("What layers took from waves is kept for that, {} a step.\n", bytes_text(inputs.left_behind_bytes));
  text +=
      fmt::format("After a kill, checkpoints in host memory are computed again, in one pass that takes {} at most.\n",
                  seconds_text(static_cast<double>(inputs.steps) * inputs.seconds.forward));
  if (plan.proven_least_seconds)
    text +=
        fmt::format("No schedule for these budgets takes less than {} (proven; this one is within {:.2f} %).\n",
                    seconds_text(*plan.proven_least_seconds), 100 * (plan.seconds / *plan.proven_least_seconds - 1));
  text += fmt::format("\nWhat memory buys\n  {:<20}{:>14}{:>14}{:>22}{:>14}\n", "", "budget", "schedule",
                      "times a step is taken", "gradient");
  const std::int64_t in_spans = inputs.are_spans ? 0 : session.gradients().checkpoints().bytes_in_spans();
  for (const Variant& v : all)
    text += in_spans > 0 && v.bytes >= in_spans
                ? fmt::format("  {:<20}{:>14}{:>14}{:>22.2f}\n", v.name, bytes_text(v.bytes), "in spans", 1.0)
            : v.plan ? fmt::format("  {:<20}{:>14}{:>14}{:>22.2f}{:>14}\n", v.name, bytes_text(v.bytes),
                                   v.plan->kind->name, v.plan->recomputation(), seconds_text(v.plan->seconds))
                     : fmt::format("  {:<20}{:>14}{:>14}\n", v.name, bytes_text(v.bytes),
                                   inputs.are_spans          ? "step by step"
                                   : inputs.are_first_levels ? "by states"
                                                             : "too little");
  if (in_spans > 0)
    text += fmt::format("With {} steps are taken in spans, several in a call and each of them once.\n",
                        enough_text(in_spans));
  if (inputs.are_spans || inputs.are_first_levels) return text;
  text += fmt::format("\n{} memory with which each step is taken at most ... times\n ",
                      inputs.memory() == Tier::host ? "Host" : "Device");
  for (const double factor : {1.5, 2.0, 3.0, 5.0})
    text += fmt::format("  {:g}: {}", factor, bytes_text(bytes_for(factor, inputs.at_most, inputs)));
  return text + "\n";
}

Json division_json(const Division& one) {
  Json json = {{"groups", one.groups}, {"ranks_each", one.ranks}};
  if (!one.failure.empty()) {
    json["failure"] = one.failure;
    return json;
  }
  json["least_memory"] = one.bytes;
  if (one.seconds) json["seconds"] = *one.seconds;
  return json;
}

Json plan_json(const Options& options, const Session& session, const OutputSeconds& output,
               const std::vector<Variant>& all) {
  const CheckpointPlan& plan = session.plan();
  const PlanInputs& inputs = session.plan_inputs();
  const ScheduleCounts& counts = plan.schedule.predicted;
  const Tier memory = inputs.memory();
  const SingleSteps single(session);
  Json json = {{"case", session.source().name},
               {"precision", name_of(session.simulation().element())},
               {"schedule", plan.kind->name},
               {"content", plan.request.content == Content::record ? "record" : "state"},
               {"steps", single.steps},
               {"steps_known", !plan.is_open()},
               {"solvers", session.simulation().stepper().solver_report().solvers},
               {"slots", counts.peak[index_of(memory)]},
               {"memory",
                {{"budget", session.gradients().budget(memory)},
                 {"peak", inputs.working(memory) + plan.checkpoint_bytes(memory, inputs)},
                 {"working", inputs.working(memory)},
                 {"state", single.state_bytes},
                 {"record", session.simulation().record_bytes()},
                 {"checkpoint", inputs.state_bytes}}},
               {"costs",
                {{"forward", single.forward},
                 {"record", single.record},
                 {"record_last", single.record_last},
                 {"reverse", single.reverse}}}};
  if (session.has_shots())
    json["shots"] = {{"count", session.experiments().count()},
                     {"kinds", session.experiments().kinds()},
                     {"groups", session.groups().count()}};
  if (!session.gradients().checkpoints().source_of_host_budget().empty())
    json["memory"]["budget_source"] = session.gradients().checkpoints().source_of_host_budget();
  if (!plan.is_predicted()) return json;
  json["plain"] = session.simulation().steps_of(counts.plain);
  json["recorded"] = session.simulation().steps_of(counts.recorded);
  if (counts.retreated > 0) json["retreated"] = counts.retreated;
  json["recomputation"] = plan.recomputation();
  json["seconds"] = session.planned().seconds;
  json["memory_seconds"] = plan.memory_seconds;
  json["output_seconds"] = output.written ? Json(*output.written) : Json();
  json["total_seconds"] = predicted_total(options, session, output);
  for (const Tier tier : tiers_in_use(inputs)) {
    const auto t = index_of(tier);
    const auto count = [](std::int64_t c) { return c == unpredicted ? Json() : Json(c); };
    json["tiers"][to_text(tier)] = {{"slots", counts.peak[t]},
                                    {"bytes", plan.checkpoint_bytes(tier, inputs)},
                                    {"writes", count(counts.writes[t])},
                                    {"reads", count(counts.reads[t])},
                                    {"write_seconds", inputs.seconds.write[t]},
                                    {"read_seconds", inputs.seconds.read[t]},
                                    {"write_delay_seconds", inputs.seconds.write_delay[t]},
                                    {"read_delay_seconds", inputs.seconds.read_delay[t]},
                                    {"slot_bytes", unit_bytes(tier, inputs)}};
    if (!session.tiers().is_asked_for(tier)) continue;
    const Codec* const codec = session.tiers().codec(tier);
    json["tiers"][to_text(tier)].update({{"codec", codec != nullptr ? codec->name() : no_codec},
                                         {"queue", inputs.overlap.queue},
                                         {"prefetch", inputs.overlap.prefetch}});
  }
  if (plan.proven_least_seconds) json["proven_least_seconds"] = *plan.proven_least_seconds;
  for (const Variant& v : all) {
    Json row = {{"name", v.name}, {"bytes", v.bytes}};
    if (v.plan)
      row.update(
          {{"schedule", v.plan->kind->name}, {"recomputation", v.plan->recomputation()}, {"seconds", v.plan->seconds}});
    json["variants"].push_back(row);
  }
  if (inputs.are_spans || inputs.are_first_levels) return json;
  for (const double factor : {1.5, 2.0, 3.0, 5.0})
    json[to_text(memory) + "_bytes_for"][fmt::format("{:g}", factor)] = bytes_for(factor, inputs.at_most, inputs);
  return json;
}

void write_picture(const Options& options, const Communicator& comm, const PictureText& text, const ScheduleKind& kind,
                   const Schedule& schedule, const ScheduleRequest& request, const ScheduleCosts& costs) {
  if (options.picture.empty()) return;
  comm.on_root([&] {
    const std::string picture = schedule_picture(text, kind, schedule, request, costs);
    std::ofstream file(options.picture);
    file << picture;
    if (!file.flush()) throw ResourceError("cannot write the picture " + options.picture);
  });
}

/// What the simulated machine executes within about a minute and 2 GiB.
constexpr std::int64_t most_simulated_steps = 400'000'000, most_simulated_slots = 50'000'000;

bool can_be_simulated(std::int64_t steps, const Schedule& schedule) {
  const PerTier& peak = schedule.predicted.peak;
  return steps <= most_simulated_steps &&
         std::all_of(peak.begin(), peak.end(), [](std::int64_t units) { return units <= most_simulated_slots; });
}

/// Of a schedule that is too long to be executed. @throws InputError when it predicts nothing.
ScheduleCounts predicted_counts(const ScheduleKind& kind, const Schedule& schedule) {
  if (schedule.predicted.reversed != unpredicted) return schedule.predicted;
  throw InputError(
      fmt::format("schedule {}: only executing it tells its counts, which would take more than a minute or 2 GiB; at "
                  "most {} steps and {} slots can be executed",
                  kind.name, most_simulated_steps, most_simulated_slots));
}

/// A folder of a name that nobody else has, beside where a run would be. On rank 0; removed at the end with all in it.
class FolderForATrial {
 public:
  /// Collective. @throws ResourceError when it cannot be made.
  FolderForATrial(const std::string& run, const Communicator& comm) : comm_(comm) {
    std::string path;
    comm.on_root([&] {
      std::filesystem::path there = std::filesystem::absolute(run);
      while (!std::filesystem::is_directory(there)) there = there.parent_path();
      path = there / ".hindsight-XXXXXX";
      if (mkdtemp(path.data()) == nullptr) throw ResourceError("cannot make the folder '" + path + "'");
    });
    path_ = comm.broadcast(path);
  }
  ~FolderForATrial() {
    std::error_code ignored;
    if (comm_.is_root()) std::filesystem::remove_all(path_, ignored);
  }
  FolderForATrial(const FolderForATrial&) = delete;
  FolderForATrial& operator=(const FolderForATrial&) = delete;
  const std::string& path() const { return path_; }

 private:
  Communicator comm_;
  std::string path_;
};

/// Measured on a file that is gone afterwards; unknown where nothing can be written.
OutputSeconds output_seconds(const Session& session, const std::string& run) {
  const StopSignalsDelayed nothing_is_left;
  const Communicator& comm = session.communicator();
  const Stopwatch begin;
  OutputSeconds seconds;
  try {
    const FolderForATrial folder(run, comm);
    const RunFolder as_of_a_run(folder.path(), comm);
    seconds.written = OutputObserver(session, as_of_a_run).measure();
  } catch (const ResourceError&) {
  }
  seconds.begin = begin.seconds();
  return seconds;
}

}  // namespace

ExitCode plan_verb(const Options& options, const Communicator& comm) {
  const Case source = read_same_case(options, comm);
  const std::unique_ptr<ShotGroups> groups = make_groups(options, source, comm, Sensitivities::adjoint);
  SessionOptions plan_from = session_options(options, source, comm, nullptr, groups.get());
  plan_from.only_plan = true;
  const Session session(source, groups ? groups->group() : comm, Sensitivities::adjoint, plan_from);
  const CheckpointPlan& plan = session.plan();
  const std::vector<Variant> all = plan.is_predicted() ? variants(session) : std::vector<Variant>{};
  const OutputSeconds output = session.has_shots() ? OutputSeconds{0.0, 0.0}  // runs of shots together have none
                                                   : output_seconds(session, run_path(options, source));
  const std::vector<Division> others =
      session.has_shots() ? divisions(options, source, comm, division_of(session)) : std::vector<Division>{};
  Json json = plan_json(options, session, output, all);
  for (const Division& one : others) json["shots"]["divisions"].push_back(division_json(one));
  write_json(options, comm, json);
  const OperationSeconds& s = session.plan_inputs().seconds;
  const ScheduleCosts costs{s.forward, s.record_last + s.reverse, s.write, s.read};
  write_picture(options, comm, {session.source().name + ", " + plan.kind->name, " in seconds", "time.at most"},
                *plan.kind, plan.schedule, plan.request, costs);
  if (options.json != "-") print(comm, plan_text(options, session, output, all) + divisions_text(others));
  return ExitCode::done;
}

ExitCode schedule_verb(const Options& options, const Communicator& comm) {
  const ScheduleKind& kind = schedules().find(options.target);
  ScheduleRequest request;
  request.steps = options.schedule.steps_unknown ? unknown_steps : options.schedule.steps;
  request.at_most = options.schedule.steps;
  request.capacities = parse_slots(options.schedule.slots);
  request.content = options.schedule.content == "record" ? Content::record : Content::state;
  request.record_units = options.schedule.stages;
  request.record_gives_state = options.schedule.stiffly_accurate;
  request.period = options.schedule.period;
  request.costs = parse_costs(options.cost);
  const Schedule schedule = make_schedule(kind, request);
  const bool is_executed = can_be_simulated(options.schedule.steps, schedule);
  const ScheduleCounts counts = is_executed ? simulate(kind, request) : predicted_counts(kind, schedule);
  const std::string title = fmt::format("{}, {} steps", kind.name, options.schedule.steps);
  write_picture(options, comm, {title, "", "--steps"}, kind, schedule, request, request.costs);
  request.steps = options.schedule.steps;
  if (!options.json.empty()) {
    Json json = Json::parse(counts_json(kind.name, request, counts, request.costs));
    json["executed"] = is_executed;
    write_json(options, comm, json);
    if (options.json == "-") return ExitCode::done;
  }
  print(comm, counts_table(kind.name, request, counts, request.costs));
  if (!is_executed)
    print(comm, fmt::format("These counts were computed, not executed: that would take more than a minute or 2 GiB (at "
                            "most {} steps and {} slots are executed).\n",
                            most_simulated_steps, most_simulated_slots));
  return ExitCode::done;
}

}  // namespace hindsight

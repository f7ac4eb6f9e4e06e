#include "src/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "adjoint/schedule/schedule.hpp"
#include "runtime/backends.hpp"
#include "runtime/durations.hpp"
#include "runtime/nearest_name.hpp"
#include "src/refused_words.hpp"
#include "src/report.hpp"
#include "src/words.hpp"

namespace hindsight {
namespace {

/// "host; device, what it is; "
std::string backends_text() {
  std::string text;
  for (const Backend* const backend : backends()) {
    const std::string help = backend->help();
    text += backend->name() + (help.empty() ? "; " : ", " + help + "; ");
  }
  return text;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names{"auto"};
  for (const Backend* const backend : backends()) names.push_back(backend->name());
  return names;
}

/// Of options that count something.
const CLI::Validator& at_least_one() {
  static const CLI::Validator check(
      [](const std::string& text) {
        std::int64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc::result_out_of_range && stop == end && text.front() != '-')
          return fmt::format("{} is more than can be counted ({})", text, std::numeric_limits<std::int64_t>::max());
        return error == std::errc() && stop == end && number > 0 ? "" : "'" + text + "' is no whole number above 0";
      },
      "");
  return check;
}

void add_groups_option(CLI::App& app, Options& options) {
  app.add_option("--groups", options.groups,
                 "of ranks, which share the shots (default: as many as a shot's memory allows)")
      ->check(at_least_one());
}

void add_case_options(CLI::App& app, Options& options) {
  app.add_option("--set", options.set, "override keys of the case: --set time.step=0.25 time.to=2*pi")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--shot", options.shot, "of a case with shots this one alone");
  add_groups_option(app, options);
  app.add_option("--out", options.out, "run folder (default: runs/CASE/VERB)");
  app.add_option("--backend", options.backend,
                 "what computes: " + backends_text() + "auto: the " + backends().front()->name())
      ->check(CLI::IsMember(backend_names()));
  app.add_option("--petsc", options.petsc,
                 "options for PETSc: of its optimiser, and of the solvers of implicit steps: --petsc \"-tao_type bqnls "
                 "-step_ksp_type cg\"");
}

void add_overwrite_option(CLI::App& app, Options& options) {
  app.add_flag("--overwrite", options.overwrite,
               "give up what is in the run folder: a run that can be gone on with, results of another verb or case, "
               "files that have the names of results");
}

void add_lock_option(CLI::App& app, Options& options) {
  app.add_flag(
      "--take-lock", options.take_lock,
      "take the run folder over though it cannot be seen from here whether the process in it still runs; if it does, "
      "it will end");
}

void add_stop_options(CLI::App& app, Options& options) {
  app.add_option("--stop-after", options.stop_after,
                 "stop in time, to go on with `hindsight resume`, this long after the start: 55min, 1h30min");
  app.add_option("--epoch", options.epoch, "time between two epochs of the journal (default: so that they cost 1 %)");
  add_lock_option(app, options);
  app.add_option("--die-at", options.developer.die_at)->group("");
  app.add_option("--die-on-rank", options.developer.die_on_rank)->group("");
  app.add_option("--shuffle-shots", options.developer.shuffle_shots)->group("");
}

void add_cluster_options(CLI::App& app, Options& options) {
  ClusterOptions& cluster = options.cluster;
  app.add_option("VERB", cluster.verb, "run, gradient, check or invert (default: chosen from the case)");
  app.add_option("--time", cluster.time, "limit of each job: 8h, 90min");
  app.add_option("--ranks", cluster.ranks, "MPI ranks (default: 1, or as the run had)")->check(at_least_one());
  app.add_option("--nodes", cluster.nodes, "nodes (default: SLURM chooses)")->check(at_least_one());
  app.add_option("--account", cluster.account, "that pays");
  app.add_option("--partition", cluster.partition, "of the cluster");
  app.add_option("--memory", cluster.memory, "of each node: '8 GiB'");
  app.add_option("--launcher", cluster.launcher, "srun, mpirun, or words that start a program on all ranks");
  app.add_flag("--dry-run", cluster.dry_run, "print the batch script, send nothing");
  app.footer("Words after -- are options for sbatch: -- --qos=long --mail-type=END");
}

std::string unknown_verb(const std::string& word) {
  std::vector<std::string> names;
  for (const VerbEntry& entry : verbs()) names.emplace_back(entry.name);
  return "unknown verb '" + word + "'" + did_you_mean(word, names) + " (verbs: " + join(names) +
         "; a case's file name has a dot)";
}

/// The kinds of schedules, for people who ask what there is.
std::string schedule_kinds() {
  std::string text = "Kinds:\n";
  for (const ScheduleKind& kind : schedules().all()) text += fmt::format("  {:<18}{}\n", kind.name, kind.summary);
  return text;
}

void check_duration(const std::string& option, const std::string& text) {
  if (text.empty()) return;
  try {
    parse_duration(text);
  } catch (const InputError& error) {
    throw InputError(option + ": " + error.what());
  }
}

/// What can be told wrong before anything runs.
void check_options(const Options& options) {
  check_duration("--stop-after", options.stop_after);
  check_duration("--epoch", options.epoch);
  check_duration("--time", options.cluster.time);
  if (!options.picture.empty() && !options.picture.ends_with(".svg"))
    throw InputError("--picture " + options.picture + ": pictures are drawn as SVG; name a file that ends in .svg");
}

void add_schedule_options(CLI::App& app, Options& options) {
  app.footer(schedule_kinds());
  app.add_option("--steps", options.schedule.steps, "number of steps")->required()->check(at_least_one());
  app.add_option("--slots", options.schedule.slots, "slots per tier: host=10,disk=20");
  app.add_option("--cost", options.cost, "forward=1,reverse=2,disk.write=5,disk.read=5");
  app.add_option("--content", options.schedule.content, "store-all: keep states or records")
      ->check(CLI::IsMember({"state", "record"}));
  app.add_option("--stages", options.schedule.stages, "units that a stage record takes (cams, store-all)")
      ->check(at_least_one());
  app.add_flag("--stiffly-accurate", options.schedule.stiffly_accurate, "a record also gives the state after its step");
  app.add_option("--period", options.schedule.period, "steps between checkpoints (uniform, periodic, twolevel, stride)")
      ->check(at_least_one());
  app.add_flag("--unknown", options.schedule.steps_unknown,
               "the schedule is not told the number of steps (online, twolevel)");
  app.add_option("--picture", options.picture, "draw the schedule: time against step, as SVG");
}

void add_plan_options(CLI::App& app, Options& options) {
  app.add_option("--cost", options.cost, "seconds, instead of measured: forward=0.1,disk.write=0.5,disk.read=0.4");
  app.add_option("--picture", options.picture, "draw the schedule: time against step, as SVG");
}

/// @returns whether the verb reads a case.
bool add_options_of(const VerbEntry& entry, CLI::App& app, Options& options) {
  if (entry.target != nullptr) app.add_option(entry.target, options.target)->required();
  app.add_option("--json", options.json, "write the result as JSON to a file, - for standard output");
  app.add_flag("--quiet", options.quiet, "print nothing but errors");
  const bool takes_case = std::string(entry.target ? entry.target : "") == "CASE";
  if (takes_case) add_case_options(app, options);
  if (entry.run == resume_verb) {
    app.add_option("--petsc", options.petsc,
                   "options for PETSc from now on, beside those that the run began with; the results say so");
    app.add_option("--ranks", options.ranks, "go on with another number of ranks: as many as there are")
        ->check(at_least_one());
    add_groups_option(app, options);
    app.add_option("--scratch", options.scratch,
                   "folder of checkpoint files from now on; those elsewhere are given up");
  }
  if (entry.can_be_resumed) add_overwrite_option(app, options);
  if (entry.run == observe_verb) {
    app.add_flag("--overwrite", options.overwrite, "give up tables that are there");
    CLI::Option* const noise =
        app.add_option("--noise", options.noise, "standard deviation of normal noise that is added");
    const auto is_negative = [](const std::string& text) {
      return text.starts_with('-') ? "'" + text + "' is no whole number from 0 on" : std::string();
    };
    app.add_option("--seed", options.seed, "of the noise, a whole number from 0 on")->needs(noise)->check(is_negative);
  }
  if (entry.can_be_resumed || entry.run == resume_verb) add_stop_options(app, options);
  if (entry.run == clean_verb) add_lock_option(app, options);
  if (entry.run == status_verb)
    app.add_option("--csv", options.cluster.csv, "of a sweep: write the table to a file, - for standard output");
  if (entry.run == sweep_verb) app.add_option("CASE", options.cluster.sweep_case)->required();
  if (entry.run == submit_verb || entry.run == sweep_verb) {
    add_case_options(app, options);
    add_overwrite_option(app, options);
    add_cluster_options(app, options);
    app.add_option("--epoch", options.epoch, "time between two epochs of the journal");
  }
  if (entry.run == submit_verb)
    app.add_option("--most-jobs", options.cluster.most_jobs, "of the chain (default: 20)")->check(at_least_one());
  if (entry.run == sweep_verb) {
    app.add_option("--at-once", options.cluster.at_once, "rows at a time at most")->check(at_least_one());
    app.add_option("--local", options.cluster.local, "without SLURM: so many rows at a time on this machine")
        ->check(at_least_one());
  }
  if (entry.run == schedule_verb) add_schedule_options(app, options);
  if (entry.run == plan_verb) add_plan_options(app, options);
  if (entry.run == gradient_verb || entry.run == invert_verb)
    app.add_option("--emulate-disk", options.developer.emulate_disk)->expected(2)->group("");
  if (entry.run == check_verb) app.add_option("--break-gradient", options.developer.break_gradient)->group("");
  return takes_case || entry.run == resume_verb;
}

/// hindsight CASE ... stands for hindsight auto CASE ...
std::vector<std::string> with_verb(std::vector<std::string> words) {
  const bool has_verb = !words.empty() && std::any_of(verbs().begin(), verbs().end(),
                                                      [&](const VerbEntry& v) { return words[0] == v.name; });
  if (!has_verb && !words.empty() && words[0][0] != '-' && words[0].find('.') != std::string::npos)
    words.insert(words.begin(), "auto");
  const bool is_verb_wrong = !has_verb && !words.empty() && words[0] != "auto" && words[0][0] != '-';
  if (is_verb_wrong) throw InputError(unknown_verb(words[0]));
  return words;
}

/// Takes what follows -- from the words of a verb that sends jobs.
std::vector<std::string> words_for_sbatch(std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  if (end == words.end() || (words[0] != "submit" && words[0] != "sweep")) return {};
  std::vector<std::string> taken(end + 1, words.end());
  words.erase(end, words.end());
  return taken;
}

}  // namespace

Choice parse_command_line(int argc, char** argv, Options& options, bool prints) {
  CLI::App app{"Hindsight: simulations and their exact gradients", "hindsight"};
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", "hindsight " + program_version() + " (commit " + build_commit() + ")",
                       "print version and commit");
  app.footer(
      "Without a verb: hindsight CASE inverts when the case has an inversion, differentiates when it has unknowns,\n"
      "and simulates otherwise.");
  app.require_subcommand(1);
  Choice choice;
  for (const VerbEntry& entry : verbs()) {
    CLI::App* sub = app.add_subcommand(entry.name, entry.summary);
    const bool reads_case = add_options_of(entry, *sub, options);
    sub->callback([&choice, &options, &entry, reads_case] {
      choice.verb = entry.run;
      choice.reads_case = reads_case;
      options.verb = entry.name;
    });
  }
  CLI::App* automatic = app.add_subcommand("auto", "what the case asks for")->group("");
  automatic->add_option("CASE", options.target)->required();
  automatic->add_option("--json", options.json);
  automatic->add_flag("--quiet", options.quiet);
  add_case_options(*automatic, options);
  add_overwrite_option(*automatic, options);
  add_stop_options(*automatic, options);
  automatic->callback([&choice] {
    choice.verb = default_verb;
    choice.reads_case = true;
  });

  std::vector<std::string> words = with_each_setting_named({argv + 1, argv + argc});
  require_utf8(words);
  options.cluster.sbatch = words_for_sbatch(words);
  words = with_verb(std::move(words));
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw InputError(refusal(app, error, words, automatic->get_name()));
    if (prints) app.exit(error);
    choice.verb = nullptr;
    return choice;
  }
  check_options(options);
  return choice;
}

/// Whether what is asked for writes a run: a signal is then a request, and otherwise what it always is.
bool writes_run(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "-";
  for (const VerbEntry& entry : verbs())
    if (word == entry.name) return entry.can_be_resumed || entry.run == resume_verb || entry.run == sweep_verb;
  return word[0] != '-';
}

}  // namespace hindsight

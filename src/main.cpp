// The program: command line, MPI, exit codes.
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>

#include "adjoint/inversion/inversion.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "runtime/durations.hpp"
#include "runtime/nearest_name.hpp"
#include "runtime/standard_streams.hpp"
#include "runtime/stop_request.hpp"
#include "src/launched_tasks.hpp"
#include "src/refused_words.hpp"
#include "src/report.hpp"
#include "src/same_start.hpp"
#include "src/verbs.hpp"
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

void add_case_options(CLI::App& app, Options& options) {
  app.add_option("--set", options.set, "override keys of the case: --set time.step=0.25 time.to=2*pi")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--out", options.out, "run folder (default: runs/CASE/VERB)");
  app.add_option("--backend", options.backend,
                 "what computes: " + backends_text() + "auto: the " + backends().front()->name())
      ->check(CLI::IsMember(backend_names()));
  app.add_option("--petsc", options.petsc, "options for PETSc's optimiser: --petsc \"-tao_type bqnls\"");
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
  app.add_option("--die-at", options.die_at)->group("");
  app.add_option("--die-on-rank", options.die_on_rank)->group("");
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
  for (const ScheduleKind& kind : schedules()) text += fmt::format("  {:<18}{}\n", kind.name, kind.summary);
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
  if (!options.picture.empty() && !options.picture.ends_with(".svg"))
    throw InputError("--picture " + options.picture + ": pictures are drawn as SVG; name a file that ends in .svg");
}

/// Fills `options`; returns the chosen verb, or an exit code when there is nothing to run.
struct Choice {
  Verb verb = nullptr;
  bool reads_case = false;
  ExitCode code = ExitCode::done;
};

/// Of options that count something.
const CLI::Validator& at_least_one() {
  static const CLI::Validator check(
      [](const std::string& text) {
        std::int64_t number = 0;
        const bool is_whole = CLI::detail::lexical_cast(text, number);
        return is_whole && number > 0 ? std::string() : "'" + text + "' is no whole number above 0";
      },
      "");
  return check;
}

Choice parse(int argc, char** argv, Options& options, bool is_root) {
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
    if (entry.target != nullptr) sub->add_option(entry.target, options.target)->required();
    sub->add_option("--json", options.json, "write the result as JSON to a file, - for standard output");
    sub->add_flag("--quiet", options.quiet, "print nothing but errors");
    const bool takes_case = std::string(entry.target ? entry.target : "") == "CASE";
    const bool reads_case = takes_case || entry.run == resume_verb;
    if (takes_case) add_case_options(*sub, options);
    if (entry.run == resume_verb)
      sub->add_option("--ranks", options.ranks, "go on with another number of ranks: as many as there are")
          ->check(at_least_one());
    if (entry.can_be_resumed) add_overwrite_option(*sub, options);
    if (entry.can_be_resumed || entry.run == resume_verb) add_stop_options(*sub, options);
    if (entry.run == clean_verb) add_lock_option(*sub, options);
    if (entry.run == schedule_verb) {
      sub->footer(schedule_kinds());
      sub->add_option("--steps", options.steps, "number of steps")->required();
      sub->add_option("--slots", options.slots, "slots per tier: host=10,disk=20");
      sub->add_option("--cost", options.cost, "forward=1,reverse=2,disk.write=5,disk.read=5");
      sub->add_option("--content", options.content, "store-all: keep states or records")
          ->check(CLI::IsMember({"state", "record"}));
      sub->add_option("--stages", options.stages, "units that a stage record takes (cams, store-all)")
          ->check(at_least_one());
      sub->add_flag("--stiffly-accurate", options.stiffly_accurate, "a record also gives the state after its step");
      sub->add_option("--period", options.period, "steps between checkpoints (uniform, periodic, twolevel, stride)")
          ->check(at_least_one());
      sub->add_flag("--unknown", options.steps_unknown,
                    "the schedule is not told the number of steps (online, twolevel)");
      sub->add_option("--picture", options.picture, "draw the schedule: time against step, as SVG");
    }
    if (entry.run == plan_verb) {
      sub->add_option("--cost", options.cost, "seconds, instead of measured: forward=0.1,disk.write=0.5,disk.read=0.4");
      sub->add_option("--picture", options.picture, "draw the schedule: time against step, as SVG");
    }
    if (entry.run == gradient_verb || entry.run == invert_verb)
      sub->add_option("--emulate-disk", options.emulate_disk)->expected(2)->group("");
    if (entry.run == check_verb) sub->add_option("--break-gradient", options.break_gradient)->group("");
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

  // hindsight CASE ... stands for hindsight auto CASE ...
  std::vector<std::string> words = with_each_setting_named({argv + 1, argv + argc});
  require_utf8(words);
  const bool has_verb = !words.empty() && std::any_of(verbs().begin(), verbs().end(),
                                                      [&](const VerbEntry& v) { return words[0] == v.name; });
  if (!has_verb && !words.empty() && words[0][0] != '-' && words[0].find('.') != std::string::npos)
    words.insert(words.begin(), "auto");
  const bool is_verb_wrong = !has_verb && !words.empty() && words[0] != "auto" && words[0][0] != '-';
  if (is_verb_wrong) throw InputError(unknown_verb(words[0]));
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw InputError(refusal(app, error, words, automatic->get_name()));
    if (is_root) app.exit(error);
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
    if (word == entry.name) return entry.can_be_resumed || entry.run == resume_verb;
  return word[0] != '-';
}

/// What is explained is compiled for devices, but run by none.
void refuse_missing_backend(const Options& options) {
  if (options.verb == "explain") return;
  const std::string missing = chosen_backend(options).missing();
  if (!missing.empty()) throw ResourceError("--backend " + options.backend + " is not available. " + missing);
}

/// What failed before is told by its own exit code. Collective.
void require_printed(ExitCode code, const Communicator& comm) {
  try {
    comm.on_root(require_output);
  } catch (const ResourceError& error) {
    if (code == ExitCode::done) throw;
    if (comm.is_root()) print_error(std::string("hindsight: ") + error.what() + "\n");
  }
}

int run(int argc, char** argv) {
  const Communicator comm(MPI_COMM_WORLD);
  require_same_start(argc, argv, comm);
  Options options;
  options.started = process_seconds();
  const Choice choice = parse(argc, argv, options, comm.is_root());
  ExitCode code = choice.code;
  if (choice.verb != nullptr) {
    if (choice.reads_case) refuse_to_be_alone(comm);
    refuse_missing_backend(options);
    for (const std::string& path : {options.json, options.picture}) require_writable(path, options.out, comm);
    code = choice.verb(options, comm);
  }
  require_printed(code, comm);
  return static_cast<int>(code);
}

/// A process that no launcher has started needs no daemon of MPI's either, which would take as long as the program's
/// own start. All such processes have one folder for shared memory in common, and the first that ends removes it, so
/// the MPI-IO that uses it is the second choice.
void do_without_launcher() {
  for (const char* mark : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (std::getenv(mark) != nullptr) return;
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_io_ompio_priority", "1", 0);
}

/// Ends all ranks. When every rank fails alike, rank 0 speaks for all; when one fails alone it speaks for itself and
/// the others are stopped.
[[noreturn]] void end_with(const std::string& message, ExitCode code) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0 || code == ExitCode::bug) print_error("hindsight: " + message + "\n");
  std::fflush(nullptr);
  if (size == 1) std::_Exit(static_cast<int>(code));
  // Ranks that agree on the failure all come here; one that is alone must not wait for the others for ever.
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int is_done = 0;
  const double start = MPI_Wtime();
  while (is_done == 0 && MPI_Wtime() - start < 2.0) MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
  if (is_done != 0) {
    MPI_Finalize();
    std::_Exit(static_cast<int>(code));
  }
  if (rank != 0 && code != ExitCode::bug) print_error(fmt::format("hindsight: rank {}: {}\n", rank, message));
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace
}  // namespace hindsight

int main(int argc, char** argv) {
  if (hindsight::writes_run(argc, argv)) hindsight::catch_stop_signals();
  hindsight::do_without_launcher();
  hindsight::do_without_shared_file_pointers();
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    code = hindsight::run(argc, argv);
  } catch (const hindsight::Error& error) {
    hindsight::end_with(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    hindsight::end_with("out of memory", hindsight::ExitCode::resource);
  } catch (const std::exception& error) {
    hindsight::end_with(std::string("internal error: ") + error.what(), hindsight::ExitCode::bug);
  }
  hindsight::finish_petsc();
  MPI_Finalize();
  return code;
}

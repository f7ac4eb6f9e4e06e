// sweep: a table of independent runs, as arrays of jobs or on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/files/file_system.hpp"
#include "io/slurm/slurm.hpp"
#include "runtime/nearest_name.hpp"
#include "runtime/process.hpp"
#include "runtime/stop_request.hpp"
#include "src/cluster/begun_run.hpp"
#include "src/cluster/chain.hpp"
#include "src/cluster/job_options.hpp"
#include "src/cluster/sweep.hpp"
#include "src/cluster/sweep_script.hpp"
#include "src/run_generation.hpp"
#include "src/run_place.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

enum class Stage { absent, begun, complete };

/// A row and its case.
struct Work {
  SweepRow row;
  Case source;
  Stage stage = Stage::absent;
};

Options options_of(const Options& options, const Sweep& sweep, const SweepRow& row) {
  Options of_row = options;
  of_row.verb = sweep.verb;
  of_row.target = sweep.file;
  of_row.set = sweep.set;
  of_row.set.insert(of_row.set.end(), row.set.begin(), row.set.end());
  of_row.out = sweep.run(row);
  of_row.cluster = {};
  return of_row;
}

/// The case of a row, judged. @throws InputError with the row's place.
Case case_of(const SweepRow& row, const Options& options, std::string& verb, int ranks) {
  try {
    Case c = read_case(options.target, options.set, options.shot);
    if (verb.empty()) verb = verb_of(c);
    require_runnable(c, verb, ranks);
    return c;
  } catch (const InputError& error) {
    throw InputError(row.place, std::string("this row: ") + error.what());
  }
}

/// A new parameter would be taken for one that no equation uses, and all rows would be alike. @throws InputError
void require_known(const SweepRow& row, const Case& base) {
  constexpr const char* head = "parameters.";
  std::vector<std::string> names;
  for (const ParameterText& p : base.parameters) names.push_back(p.name);
  for (const std::string& setting : row.set) {
    if (!setting.starts_with(head)) continue;
    const std::string key = setting.substr(std::string(head).size());
    const std::string name = key.substr(0, key.find_first_of(".="));
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw InputError(SourcePlace{row.place.file, 0, 0},
                       "column '" + setting.substr(0, setting.find('=')) + "': the case has no parameter '" + name +
                           "'" + did_you_mean(name, names) + " (parameters: " + join(names) + ")");
  }
}

/// All rows are judged before anything begins.
std::pair<Sweep, std::vector<Work>> read_all(const Options& options) {
  Sweep sweep;
  sweep.file = fs::absolute(options.cluster.sweep_case).lexically_normal().string();
  sweep.verb = options.cluster.verb;
  sweep.set = options.set;
  sweep.ranks = static_cast<int>(std::max<std::int64_t>(1, options.cluster.ranks));
  sweep.rows = read_sweep(options.target);
  require_known(sweep.rows.front(), read_case(sweep.file, sweep.set));
  std::vector<Work> all;
  for (const SweepRow& row : sweep.rows)
    all.push_back({row, case_of(row, options_of(options, sweep, row), sweep.verb, sweep.ranks), Stage::absent});
  const std::string name = fs::path(options.target).stem();
  sweep.folder = run_folder(options.out.empty() ? "runs/" + all.front().source.name + "/" + name : options.out);
  return {sweep, all};
}

/// @throws InputError while its jobs are in the queue.
void require_no_jobs(const Sweep& sweep) {
  if (sweep.jobs.empty()) return;
  const std::optional<std::vector<QueuedJob>> jobs = jobs_of(sweep.script());
  if (!jobs)
    throw ResourceError(
        "'" + sweep.folder + "' has sent jobs (" + join(sweep.jobs) +
        "), and squeue does not say whether they are in the queue: ask where they were sent, or choose " +
        "another folder (--out)");
  if (!jobs->empty())
    throw InputError(
        fmt::format("'{0}' is being computed: job {1} is {2} (hindsight status {0}; hindsight cancel {0} "
                    "ends it)",
                    sweep.folder, jobs->front().id, jobs->front().seen.state));
}

/// How far the row's run is, if it is of the verb and the case as they are now.
Stage stage_of(const std::string& run, const std::string& verb, const Case& source) {
  std::error_code unknown;
  if (!fs::exists(RunManifest::file(run), unknown)) return Stage::absent;
  const RunPlace place = RunPlace::of(run);
  if (!place.manifest().is_of(verb, source)) return Stage::absent;
  return place.is_complete ? Stage::complete : Stage::begun;
}

/// @throws InputError when another run can be gone on with there.
void require_free(const std::string& run, const SourcePlace& place) {
  std::error_code unknown;
  if (!fs::exists(RunManifest::file(run), unknown)) return;
  const RunPlace there = RunPlace::of(run);
  PosixFileSystem files;
  if (!there.is_complete && kept_epoch(files, there.work, there.manifest()) > 0)
    throw InputError(place, "this row: '" + run +
                                "' holds a run of another case, which can be gone on with; give it up " +
                                "with --overwrite, or name the row otherwise");
}

/// The rows that are not complete. @throws InputError, with the row's place, where one would lose what another has
/// kept.
std::vector<Work> incomplete(const Options& options, const Sweep& sweep, std::vector<Work> all) {
  std::vector<Work> waiting;
  for (Work& work : all) {
    work.stage = stage_of(sweep.run(work.row), sweep.verb, work.source);
    if (work.stage == Stage::complete) continue;
    if (work.stage == Stage::absent && !options.overwrite) require_free(sweep.run(work.row), work.row.place);
    waiting.push_back(std::move(work));
  }
  return waiting;
}

/// Kernels of one row serve all; tasks that start at once find them. Where that cannot be done here, the first task
/// does it, and the others wait for it.
void compile_first(const Options& options, const Sweep& sweep, const Work& work, const Communicator& comm) {
  constexpr double most_bytes = 1 << 28;
  if (sweep.ranks > 1 || state_bytes(work.source) > most_bytes) return;
  const Sensitivities wanted = sweep.verb == "run"     ? Sensitivities::none
                               : sweep.verb == "check" ? Sensitivities::adjoint_and_tangent
                                                       : Sensitivities::adjoint;
  try {
    SessionOptions how = session_options(options_of(options, sweep, work.row), work.source, comm);
    how.shows_progress = false;
    how.only_plan = true;
    const Session session(work.source, comm, wanted, std::move(how));
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {  // the row's own run says it, if it is so there
  }
}

void write_work(const Sweep& sweep, const std::vector<Work>& waiting, const std::string& script) {
  PosixFileSystem files;
  std::string names;
  for (const Work& work : waiting) names += work.row.name + "\n";
  write_text_file(files, sweep.folder + "/waiting.txt", names);
  write_text_file(files, sweep.script(), script);
}

/// As many arrays as SLURM's limit asks for; where few rows may run at once, one after another.
void send_arrays(Sweep& sweep, std::int64_t rows, std::int64_t at_once, const JobRequest& request) {
  const std::int64_t most = most_array_tasks() - 1;
  sweep.jobs.clear();
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    std::vector<std::string> words = {
        fmt::format("--array=0-{}{}", count - 1, at_once > 0 ? fmt::format("%{}", at_once) : "")};
    if (at_once > 0 && !sweep.jobs.empty()) words.push_back("--dependency=afterany:" + sweep.jobs.back());
    sweep.jobs.push_back(send_job(words, {sweep.script(), std::to_string(first)}, hidden_variables(request)));
    sweep.write();
  }
}

/// Rows one after another on as many processes, without SLURM.
void run_here(const Sweep& sweep, std::int64_t rows, std::int64_t processes) {
  const std::string command =
      fmt::format("seq 0 {} | xargs -P {} -I@ env -u SLURM_JOB_ID SLURM_ARRAY_TASK_ID=@ bash {}", rows - 1, processes,
                  quoted_word(sweep.script()));
  ProcessSetting setting;
  setting.as_at_start = true;
  setting.look = [] { stop_if_asked(); };
  setting.grace = 60.0;  // rows keep what they have
  run_process({"/bin/sh", "-c", command}, setting);
}

JobRequest request_for(const Options& options, const Sweep& sweep, const std::string& name) {
  ClusterOptions asked = options.cluster;
  asked.ranks = sweep.ranks;
  if (options.cluster.local > 0) asked.launcher = "mpirun";  // no SLURM is needed here
  const JobRequest request = job_request(asked, "hindsight:" + name);
  require_time(request, 0.0);
  return request;
}

ExitCode report(const Options& options, const Sweep& sweep, const Communicator& comm) {
  Json json = {{"sweep", sweep.folder}, {"jobs", sweep.jobs}};
  const std::string text = sweep_text(sweep, "", json);
  write_json(options, comm, json);
  say(options, comm, text);
  const bool is_complete = json["counts"].value("complete", 0) == static_cast<int>(sweep.rows.size());
  return is_complete ? ExitCode::done : ExitCode::numerics;
}

}  // namespace

ExitCode sweep_verb(const Options& options, const Communicator& comm) {
  require_alone(comm, "sweep");
  const bool is_local = options.cluster.local > 0;
  auto [sweep, all] = read_all(options);
  const JobRequest request = request_for(options, sweep, all.front().source.name);
  const std::string script = sweep_script(request, sweep.folder, own_path());
  if (options.cluster.dry_run) {
    print(comm, script);
    return ExitCode::done;
  }
  if (!is_local && find_program("sbatch").empty())
    throw ResourceError("there is no sbatch here: --local N computes N rows at a time on this machine");
  const RunLock lock(sweep.folder, comm);
  if (Sweep::is_in(sweep.folder)) require_no_jobs(Sweep::read(sweep.folder));
  const std::size_t rows = all.size();
  const std::vector<Work> waiting = incomplete(options, sweep, std::move(all));
  sweep.write();
  for (const Work& work : waiting)
    if (work.stage == Stage::absent) leave_begun(options_of(options, sweep, work.row), work.source, sweep.ranks);
  const std::int64_t count = std::ssize(waiting);
  if (count > 0) compile_first(options, sweep, waiting.front(), comm);
  write_work(sweep, waiting, script);
  if (count > 0 && is_local) run_here(sweep, count, options.cluster.local);
  if (count > 0 && !is_local) send_arrays(sweep, count, options.cluster.at_once, request);
  if (count == 0) say(options, comm, fmt::format("all {} rows are complete: nothing is sent\n", rows));
  if (is_local || count == 0) return report(options, sweep, comm);
  write_json(options, comm, {{"sweep", sweep.folder}, {"jobs", sweep.jobs}, {"rows", rows}, {"sent", count}});
  say(options, comm,
      fmt::format("{} of {} rows are queued (job {}); hindsight status {} shows them\n", count, rows,
                  fmt::join(sweep.jobs, ", "), sweep.folder));
  return ExitCode::done;
}

}  // namespace hindsight

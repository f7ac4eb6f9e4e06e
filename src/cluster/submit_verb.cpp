// submit and cancel: a run as a chain of jobs.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "io/files/file_system.hpp"
#include "io/journal/epoch_clock.hpp"
#include "io/slurm/slurm.hpp"
#include "runtime/process.hpp"
#include "src/cluster/begun_run.hpp"
#include "src/cluster/chain.hpp"
#include "src/cluster/job_options.hpp"
#include "src/cluster/sweep.hpp"
#include "src/run_generation.hpp"
#include "src/run_place.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

/// What is to be sent.
struct Submission {
  Case source;
  std::string verb, run;                       ///< the run's folder, from the root
  bool is_begun = false, is_complete = false;  ///< the folder was named, and holds such a run
  int ranks = 1;
};

/// How a run was submitted, for the next time.
std::string request_file(const std::string& run) {
  return run + "/submit.json";
}

/// What of the options is kept, by name.
template <class Options, class Visit>
void visit_request(Options& asked, const Visit& visit) {
  visit("time", asked.time);
  visit("nodes", asked.nodes);
  visit("account", asked.account);
  visit("partition", asked.partition);
  visit("memory", asked.memory);
  visit("launcher", asked.launcher);
  visit("most_jobs", asked.most_jobs);
  visit("sbatch", asked.sbatch);
}

void keep_request(const std::string& run, const ClusterOptions& asked) {
  PosixFileSystem files;
  Json json;
  visit_request(asked, [&](const char* name, const auto& value) { json[name] = value; });
  write_text_file(files, request_file(run), json.dump(1) + "\n");
}

/// What the command line does not say is as it was when the run was submitted before.
ClusterOptions completed(ClusterOptions asked, const std::string& run) {
  const Json before = Json::parse(std::ifstream(request_file(run)), nullptr, false);
  if (!before.is_object()) return asked;
  try {
    visit_request(asked, [&](const char* name, auto& value) {
      if (value == std::decay_t<decltype(value)>() && before.contains(name)) before[name].get_to(value);
    });
  } catch (const Json::exception& error) {
    throw ResourceError("'" + request_file(run) + "' is damaged: " + error.what());
  }
  return asked;
}

void require_slurm() {
  for (const char* name : {"sbatch", "squeue", "scancel"})
    if (find_program(name).empty())
      throw ResourceError(std::string("there is no ") + name +
                          " here: submitting takes SLURM's commands, in a folder of PATH");
}

/// @throws InputError while jobs of its are in the queue, or a process computes it.
void require_unused(const std::string& run) {
  const QueueView now = view_queue(run, JobLog::of(run));
  if (!now.has_answered())
    throw ResourceError("'" + run +
                        "' has a chain of jobs, and whether they are in the queue cannot be said: " + now.silence);
  if (!now.jobs.empty())
    throw InputError(
        fmt::format("'{}' is computed by a chain of jobs: job {} is {} (hindsight status {}; hindsight "
                    "cancel {} ends it)",
                    run, now.jobs.front().id, now.jobs.front().seen.state, run, run));
  const std::optional<ProcessIdentity> owner = FolderLock::owner(run);
  const Liveness state = owner ? liveness(*owner) : Liveness::dead;
  if (state == Liveness::alive || state == Liveness::unknown)
    throw InputError(fmt::format("'{}' is in use by process {} on host {} since {}; its chain can begin when that ends",
                                 run, owner->process, owner->host, owner->date));
}

/// @throws InputError when jobs would find that what the run began with has changed. Their processor is not this one.
void require_unchanged(const std::string& run, RunManifest begun, const Case& source) {
  RunManifest now = RunManifest::of(begun.options, run, source, begun.ranks);
  PosixFileSystem files;
  if (kept_epoch(files, RunPlace::of(run).work, begun) == 0) begun.take_setting(now);
  now.kernels = begun.kernels;
  if (const std::string difference = begun.difference(now); !difference.empty())
    throw InputError("cannot go on with '" + run + "': " + difference);
}

Submission named(const Options& options) {
  Submission what;
  if (fs::is_directory(options.target)) {
    if (!options.set.empty() || !options.out.empty() || !options.epoch.empty() || !options.petsc.empty() ||
        options.overwrite || options.backend != "auto")
      throw InputError("--set, --out, --epoch, --petsc, --backend and --overwrite belong to a run that begins; '" +
                       options.target + "' holds one");
    what.run = run_folder(options.target);
    const RunManifest manifest = RunPlace::of(what.run).manifest();
    what.is_begun = true;
    what.verb = manifest.options.verb;
    what.ranks = manifest.ranks;
    what.is_complete = RunPlace::of(what.run).is_complete;
    what.source = read_case(manifest.options.target, manifest.options.set, manifest.options.shot);
    if (!what.is_complete) require_unchanged(what.run, manifest, what.source);
    if (!options.cluster.verb.empty() && options.cluster.verb != what.verb)
      throw InputError("'" + options.target + "' holds hindsight " + what.verb + ", not " + options.cluster.verb);
    return what;
  }
  what.source = read_case(options.target, options.set, options.shot);
  what.verb = options.cluster.verb.empty() ? verb_of(what.source) : options.cluster.verb;
  Options of_run = options;
  of_run.verb = what.verb;
  what.run = run_folder(run_path(of_run, what.source));
  return what;
}

/// A rough guess: what an epoch has; the host's checkpoints are not kept where that takes long.
double seconds_to_stop(const Case& source) {
  return EpochClock::guessed_seconds(3.0 * state_bytes(source));
}

/// @returns the job's number.
std::string send(const std::string& run, const std::string& script, int most_jobs, const JobRequest& request) {
  PosixFileSystem files;
  write_text_file(files, chain_file(run), script);
  const JobLog log = JobLog::of(run);
  const int chain = log.is_empty() ? 1 : log.newest().number + 1;
  JobLog::say(run, chain, fmt::format("begins: at most {} jobs on {}", most_jobs, cluster_name()));
  try {
    const std::string job = send_job({}, {chain_file(run), std::to_string(chain)}, hidden_variables(request));
    JobLog::say(run, chain, "job " + job + " queued");
    return job;
  } catch (const Error& error) {
    JobLog::say(run, chain, std::string("ends: ") + error.what());
    throw;
  }
}

/// Before anything begins. @throws InputError with SLURM's words where it would refuse the script.
void test_script(const std::string& script, const JobRequest& request) {
  const fs::path file = fs::temp_directory_path() / fmt::format("hindsight-{}.sbatch", getpid());
  std::ofstream(file) << script;
  try {
    test_job(file, hidden_variables(request));
  } catch (...) {
    fs::remove(file);
    throw;
  }
  fs::remove(file);
}

}  // namespace

ExitCode submit_verb(const Options& options, const Communicator& comm) {
  require_alone(comm, "submit");
  Submission what = named(options);
  if (what.is_complete) {
    write_json(options, comm, {{"run", what.run}, {"job", nullptr}, {"state", "complete"}});
    say(options, comm, "'" + what.run + "' is complete: nothing is sent\n");
    return ExitCode::done;
  }
  if (options.cluster.ranks > 0) what.ranks = static_cast<int>(options.cluster.ranks);
  require_runnable(what.source, what.verb, what.ranks);
  ClusterOptions asked = what.is_begun ? completed(options.cluster, what.run) : options.cluster;
  asked.ranks = what.ranks;
  const JobRequest request = job_request(asked, "hindsight:" + what.source.name);
  require_time(request, seconds_to_stop(what.source));
  const int most_jobs = asked.most_jobs > 0 ? static_cast<int>(asked.most_jobs) : 20;
  const std::string script = chain_script(request, what.run, own_path(), most_jobs);
  if (asked.dry_run) {
    print(comm, script);
    return ExitCode::done;
  }
  require_slurm();
  require_unused(what.run);
  test_script(script, request);
  if (!what.is_begun) {
    Options of_run = options;
    of_run.verb = what.verb;
    leave_begun(of_run, what.source, what.ranks);
  }
  keep_request(what.run, asked);
  const std::string job = send(what.run, script, most_jobs, request);
  write_json(options, comm, {{"run", what.run}, {"job", job}, {"ranks", what.ranks}});
  say(options, comm,
      fmt::format("job {} is queued: hindsight {} of {} on {} {}\nits folder: {}\nhindsight status {} says how far it "
                  "is, hindsight cancel {} ends it\n",
                  job, what.verb, what.source.name, what.ranks, what.ranks == 1 ? "rank" : "ranks", what.run, what.run,
                  what.run));
  return ExitCode::done;
}

namespace {

ExitCode cancel_sweep(const Options& options, const Communicator& comm) {
  const std::optional<std::vector<QueuedJob>> jobs = jobs_of(Sweep::read(options.target).script());
  if (!jobs) throw ResourceError("squeue does not answer: its jobs cannot be cancelled");
  std::set<std::string> arrays;
  for (const QueuedJob& job : *jobs) arrays.insert(job.array);
  for (const std::string& array : arrays) cancel_job(array);
  write_json(options, comm, {{"sweep", options.target}, {"cancelled", arrays.size()}});
  say(options, comm,
      arrays.empty() ? "no job of '" + options.target + "' is in the queue\n"
                     : "its jobs are cancelled; the same hindsight sweep goes on with what is not complete\n");
  return ExitCode::done;
}

}  // namespace

ExitCode cancel_verb(const Options& options, const Communicator& comm) {
  require_alone(comm, "cancel");
  if (Sweep::is_in(options.target)) return cancel_sweep(options, comm);
  const std::string run = run_folder(options.target);
  const JobLog log = JobLog::of(run);
  if (log.is_empty()) throw InputError("'" + options.target + "' has no chain of jobs: nothing was submitted for it");
  const QueueView now = view_queue(run, log);
  if (!now.has_answered()) throw ResourceError(now.silence + ": its jobs cannot be cancelled");
  if (log.newest().end.empty()) JobLog::say(run, log.newest().number, "ends: cancelled");
  std::string text;
  for (const bool waits : {true, false})  // the successors first
    for (const auto& [id, array, seen] : now.jobs) {
      if (seen.may_run() == waits) continue;
      cancel_job(id);
      text += fmt::format("job {} {}\n", id, waits ? "is out of the queue" : "is asked to stop");
    }
  if (text.empty()) text = "no job of '" + options.target + "' is in the queue\n";
  write_json(options, comm, {{"run", run}, {"cancelled", now.jobs.size()}});
  say(options, comm, text + "what was kept can be gone on with: hindsight submit " + options.target + "\n");
  return ExitCode::done;
}

}  // namespace hindsight

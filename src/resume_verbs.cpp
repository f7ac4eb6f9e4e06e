// resume, status and clean: the verbs that work on a run folder.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "io/checkpoints/scratch_folder.hpp"
#include "io/results/progress.hpp"
#include "io/slurm/slurm.hpp"
#include "src/cluster/begun_run.hpp"
#include "src/cluster/chain.hpp"
#include "src/cluster/sweep.hpp"
#include "src/report.hpp"
#include "src/run_cleaning.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

std::string failure_text(const std::string& run, const Json& json) {
  const bool solvers = json.contains("other_solvers_may_do");
  return fmt::format(
      "failed, as it would again{}: {}\n{}begin anew with a case that is mended: --overwrite, or another --out",
      solvers ? " with the same solvers" : "", json["failure"].get<std::string>(),
      solvers
          ? fmt::format("go on with others from its last epoch: hindsight resume {} --petsc \"-step_...\"; or ", run)
          : "");
}

/// "running", "stopped", "failed" (for good), "unknown" (on another host), with the owner. @param json has what the
/// run's status says.
std::string owner_text(const std::string& run, Json& json) {
  const std::optional<ProcessIdentity> owner = FolderLock::owner(run);
  if (!owner && FolderLock::text(run)) {
    json["state"] = "unknown";
    return "has a lock that cannot be read; if no run uses the folder: hindsight resume --take-lock " + run;
  }
  const Liveness state = owner ? liveness(*owner) : Liveness::dead;
  if (state == Liveness::dead || state == Liveness::given_up) {
    json["state"] = json.contains("failure") ? "failed" : "stopped";
    if (json.contains("failure")) return failure_text(run, json);
    return "stopped; go on with: hindsight resume " + run;
  }
  const bool is_alive = state == Liveness::alive ||
                        (owner->job && owner->job->cluster == cluster_name() && view_job(owner->job->job).may_run());
  json["state"] = is_alive ? "running" : "unknown";
  json["host"] = owner->host;
  json["process"] = owner->process;
  return fmt::format("{} process {} on host {} since {}",
                     is_alive ? "running:" : "cannot be seen from here:", owner->process, owner->host, owner->date);
}

/// A run that its chain's next job will go on with is in nobody's way, and nobody should be in its.
std::string queued_text(const std::string& owner, Json& json) {
  if (json["state"] != "stopped" || !json.contains("chain")) return owner;
  const Json& chain = json["chain"];
  if (chain["queue"].empty()) return "stopped; go on with: hindsight submit " + json["run"].get<std::string>();
  json["state"] = "queued";
  return "waits for job " + chain["queue"][0]["job"].get<std::string>();
}

SweepPosition position_in(const Json& status) {
  SweepPosition position{status["done"], status["total"]};
  if (status.contains("part")) position.part = status["part"].get<double>();
  if (status.contains("latest_end")) position.reached = {status["time"], status["latest_end"], true};
  if (status.contains("end")) position.reached = {status["time"], status["end"], false};
  return position;
}

/// How far the sweep under way is, in words; adds to what the status has what follows from it.
std::string progress_text(Json& json) {
  if (!json.contains("done")) return "no step has been taken yet\n";
  const auto seconds = json["seconds"].get<double>();
  const SweepPosition position = position_in(json);
  if (position.part) json["percent"] = 100.0 * *position.part;
  json["rate"] = seconds > 0 ? static_cast<double>(position.done) / seconds : 0.0;
  if (const auto left = seconds_to_go(position, seconds)) json["eta_seconds"] = *left;
  std::string text = progress_line(json["phase"], position, seconds) + "\n";
  if (json.contains("stage"))
    text += fmt::format("stage {} of {}\n", json["stage"]["number"].get<int>(), json["stage"]["count"].get<int>());
  if (json["evaluations"] > 0) text += fmt::format("{} evaluations before this one\n", json["evaluations"].get<int>());
  return text + fmt::format("last epoch: {}, as of {}\n", json["epoch"].get<int>(), json["date"].get<std::string>());
}

/// "7 of 12 shots done", and what further groups of ranks are at; adds their shots to those of the first.
std::string shots_text(const std::string& run, int groups, Json& json) {
  if (!json.contains("shots")) return "";
  Json& shots = json["shots"];
  std::string text;
  Json under_way = Json::array();
  if (shots.contains("under_way")) under_way.push_back(shots["under_way"]);
  for (int group = 1; group < groups; ++group) {
    const Json theirs = status_of(run, group);
    if (!theirs.contains("shots") || theirs["evaluations"] != json["evaluations"]) continue;
    for (const Json& shot : theirs["shots"]["done"]) shots["done"].push_back(shot);
    if (!theirs["shots"].contains("under_way")) continue;
    under_way.push_back(theirs["shots"]["under_way"]);
    text += progress_line(theirs["phase"], position_in(theirs), theirs["seconds"].get<double>()) + "\n";
  }
  shots["under_way"] = under_way;
  return text + fmt::format("{} of {} shots done in this evaluation\n", shots["done"].size(),
                            shots["count"].get<std::size_t>());
}

/// "complete", or who is in it and how far it is.
std::string state_text(const RunPlace& run, int groups, Json& json) {
  if (run.is_complete) {
    json["state"] = "complete";
    return run.is_in_place ? "complete\n"
                           : "complete; its files are put in place by: hindsight resume " + run.folder + "\n";
  }
  json.update(status_of(run.folder));
  const std::string owner = queued_text(owner_text(run.folder, json), json);
  const std::string earlier = run.work != run.folder ? "an earlier run's results stay until it is complete\n" : "";
  const std::string progress = progress_text(json);
  return owner + "\n" + progress + shots_text(run.folder, groups, json) + earlier;
}

}  // namespace

ExitCode resume_verb(const Options& options, const Communicator& comm) {
  const RunPlace place = RunPlace::from_root(options.target, comm);
  const RunManifest manifest = RunManifest::from_root(comm, [&] { return place.manifest(); });
  if (place.is_complete) {
    const std::string result = fs::absolute(options.target) / manifest.result();
    finish_cleaning(place, options.take_lock, comm);
    print(comm, options.quiet ? "" : fmt::format("{} is complete: see {}\n", options.target, result));
    return ExitCode::done;
  }
  Options begun = manifest.options;
  begun.out = fs::absolute(options.target);
  begun.resume = true;
  if (!options.petsc.empty()) {
    begun.petsc += " " + options.petsc;
    begun.petsc_changes.push_back(options.petsc);
  }
  begun.take_lock = options.take_lock;
  begun.ranks = options.ranks;
  const bool has_groups = manifest.ranks == comm.size() && manifest.groups > 0;
  begun.groups = options.groups > 0 ? options.groups : has_groups ? manifest.groups : manifest.options.groups;
  begun.quiet = options.quiet;
  begun.stop_after = options.stop_after;
  begun.scratch = options.scratch.empty() ? manifest.scratch : scratch_text(options.scratch);
  begun.developer.die_at = options.developer.die_at;
  begun.developer.die_on_rank = options.developer.die_on_rank;
  begun.developer.shuffle_shots = options.developer.shuffle_shots;
  if (!options.epoch.empty()) begun.epoch = options.epoch;
  if (!options.json.empty()) begun.json = options.json == "-" ? "-" : fs::absolute(options.json).string();
  comm.together([&] {
    std::error_code error;
    fs::current_path(manifest.folder, error);
    if (error) throw ResourceError("cannot go to '" + manifest.folder + "', where the run began: " + error.message());
  });
  return begin_run(begun, comm);
}

ExitCode status_verb(const Options& options, const Communicator& comm) {
  Json json;
  std::string text;
  comm.on_root([&] {
    if (Sweep::is_in(options.target)) {
      text = sweep_text(Sweep::read(options.target), options.cluster.csv, json);
      return;
    }
    if (!options.cluster.csv.empty()) throw InputError("--csv: '" + options.target + "' is no folder of a sweep");
    const std::string run = options.target;
    const RunPlace place = RunPlace::of(run);
    const RunManifest manifest = place.manifest();
    json = {
        {"run", run}, {"verb", manifest.options.verb}, {"case", manifest.options.target}, {"ranks", manifest.ranks}};
    const std::string chain = place.is_complete ? "" : chain_text(run_folder(run), json);
    const std::string groups = manifest.groups > 1 ? fmt::format(" in {} groups", manifest.groups) : "";
    if (manifest.groups > 1) json["groups"] = manifest.groups;
    text = fmt::format("{}: {} of {} on {} {}{}\n", run, manifest.options.verb, manifest.options.target, manifest.ranks,
                       manifest.ranks == 1 ? "rank" : "ranks", groups) +
           state_text(place, manifest.groups, json) + chain;
  });
  write_json(options, comm, json);
  options.cluster.csv == "-" ? print(comm, text) : say(options, comm, text);
  return ExitCode::done;
}

ExitCode clean_verb(const Options& options, const Communicator& comm) {
  const RunPlace place = RunPlace::from_root(options.target, comm);
  clean_run(options.target, options.take_lock, comm);
  const std::string gone = place.work != place.folder ? "; the run after its results cannot be gone on with any more\n"
                                                      : "; the run cannot be gone on with any more\n";
  if (!options.quiet) print(comm, options.target + " is clean" + (place.is_complete ? "\n" : gone));
  return ExitCode::done;
}

}  // namespace hindsight

#include "src/run_claim.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "io/files/dying_files.hpp"
#include "io/journal/process_identity.hpp"
#include "io/results/successor.hpp"
#include "runtime/error.hpp"
#include "runtime/stop_request.hpp"
#include "src/report.hpp"
#include "src/run_cleaning.hpp"
#include "src/run_generation.hpp"
#include "src/run_place.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<FileSystem> files_of(const Options& options, const Communicator& comm) {
  auto files = std::make_unique<PosixFileSystem>();
  if (options.developer.die_at == 0 || options.developer.die_on_rank.value_or(comm.rank()) != comm.rank()) return files;
  return std::make_unique<DyingFiles>(std::move(files), options.developer.die_at);
}

/// How the run in this folder began, which is how it would begin now. One that has kept nothing yet may have begun with
/// another program, on another processor: it takes what is here. @throws InputError naming the difference.
RunManifest begun_as(FileSystem& files, const std::string& run, const RunManifest& now) {
  RunManifest begun = RunManifest::read(run);
  if (kept_epoch(files, run, begun) == 0) begun.take_setting(now);
  if (const std::string difference = begun.difference(now); !difference.empty())
    throw InputError("cannot go on with '" + now.options.out + "': " + difference);
  return begun;
}

}  // namespace

RunClaim::RunClaim(const Options& options, const Case& c, const Communicator& comm, int groups)
    : comm_(comm),
      files_(files_of(options, comm)),
      place_(fs::absolute(run_path(options, c)).string()),
      groups_(groups),
      is_resumed_(options.resume) {
  is_resumed_ ? go_on(options, c) : begin_run(options, c);
}

void RunClaim::begin_run(const Options& options, const Case& c) {
  manifest_ = RunManifest::from_root(comm_, [&] { return RunManifest::of(options, place_, c, comm_.size()); });
  manifest_.groups = groups_;
  const RoomWanted wanted{place_, manifest_, c.inputs(), options.json == "-" ? "" : options.json, options.overwrite};
  if (options.take_lock) comm_.on_root([&] { require_room(*files_, wanted); });  // nobody is driven out for nothing
  lock_ = std::make_unique<RunLock>(place_, comm_, options.take_lock);
  lock_->hold([&] {
    RoomForRun room;
    comm_.on_root([&] { room = make_room(*files_, wanted); });
    work_ = comm_.broadcast(room.work);
    for (std::int64_t i = 0, n = comm_.max(std::ssize(room.gone)); i < n; ++i)
      remove_checkpoints(work_, RunManifest::from_root(comm_, [&] { return room.gone[static_cast<std::size_t>(i)]; }),
                         comm_);
    manifest_.generation = manifest_.copied_from = generation_ =
        static_cast<int>(comm_.max(std::int64_t{room.generation}));
    write_manifest();
  });
  say_when_stopped("before anything was worked out; begin it with: hindsight resume " + place_);
  stop_if_asked(comm_);
}

void RunClaim::go_on(const Options& options, const Case& c) {
  const RunManifest now =
      RunManifest::from_root(comm_, [&] { return RunManifest::of(options, place_, c, comm_.size()); });
  lock_ = std::make_unique<RunLock>(place_, comm_, options.take_lock);
  lock_->hold([&] {
    RunPlace place;
    comm_.on_root([&] {
      place = RunPlace::of(place_);
      if (place.is_complete) throw ResourceError("another process has completed the run in '" + place_ + "' meanwhile");
    });
    work_ = comm_.broadcast(place.work);
    manifest_ = RunManifest::from_root(comm_, [&] { return begun_as(*files_, work_, now); });
    require_ranks(options);
    petsc_ = now.options.petsc;
    petsc_changes_ = now.options.petsc_changes;
    if (manifest_.scratch != now.scratch) {
      remove_checkpoints(work_, manifest_, comm_);
      manifest_.scratch = now.scratch;
    }
    if (manifest_.groups == 0) manifest_.groups = groups_;  // submitted, and not begun yet
    if (comm_.any(needs_new_generation(manifest_))) begin_generation(*files_, work_, manifest_, comm_);
    write_manifest();
  });
  moves_ = manifest_.ranks != comm_.size() || manifest_.groups != groups_;
  is_published_ = !moves_;
  generation_ = manifest_.generation + (moves_ ? 1 : 0);
  say_when_stopped("before it went on; go on with: hindsight resume " + place_);
  stop_if_asked(comm_);
}

void RunClaim::require_ranks(const Options& options) const {
  const int before = manifest_.ranks, now = comm_.size();
  if (before != now && options.ranks != now)
    throw InputError(
        fmt::format("'{}' was run on {} ranks, now there are {}: go on with mpirun -n {}, or say --ranks {}", place_,
                    before, now, before, now));
  if (options.ranks > 0 && options.ranks != now)
    throw InputError(
        fmt::format("--ranks {}: there are {}; start as many with mpirun -n {}", options.ranks, now, options.ranks));
}

RunClaim::~RunClaim() {
  try {
    const bool is_lost = lock_->is_lost();
    if (is_lost || (stage_ == Stage::claimed && !is_resumed_)) remove_own_checkpoints();
    if (!is_lost && stage_ != Stage::finished) lock_->hold_alone([&] { leave(); });
  } catch (const std::exception&) {  // then it looks as after a kill
  }
}

/// Nobody else has checkpoint files of this tag.
void RunClaim::remove_own_checkpoints() const {
  remove_checkpoints(work_, manifest_, Communicator(MPI_COMM_SELF),
                     [&](const std::string& name) { return name.find(checkpoint_tag()) != std::string::npos; });
  if (manifest_.scratch.empty()) rmdir((work_ + "/scratch").c_str());  // when it is empty
}

/// In order: of a run that can be gone on with, or was asked to stop before it began, whoever does so knows that no
/// process writes its files any more; another has not begun.
void RunClaim::leave() const {
  if (stage_ != Stage::claimed || is_resumed_ || has_stopped()) {
    RunManifest now = RunManifest::read(work_);
    now.writer.clear();
    write_text_file(*files_, RunManifest::file(work_), now.to_text());
  } else {
    remove_run(work_);
  }
}

std::string RunClaim::checkpoint_tag() const {
  return fmt::format("{}-{}", manifest_.id, generation_);
}

std::string RunClaim::path(const std::string& name) const {
  return RunManifest::file_of_generation(work_, name, generation_);
}

std::string RunClaim::earlier_path(const std::string& name) const {
  return RunManifest::file_of_generation(work_, name, manifest_.generation);
}

/// As that of a run whose files this process writes.
std::string RunClaim::manifest_text() const {
  RunManifest manifest = manifest_;
  manifest.writer = lock_->owner();
  return manifest.to_text();
}

void RunClaim::write_manifest() const {
  comm_.on_root([&] { write_text_file(*files_, RunManifest::file(work_), manifest_text()); });
}

void RunClaim::begin(const std::function<void()>& make_files) {
  lock_->hold([&] {
    manifest_.generation = manifest_.copied_from = generation_;
    manifest_.ranks = comm_.size();
    manifest_.groups = groups_;
    remove_checkpoints(work_, manifest_, comm_,
                       [&](const std::string& name) { return name.find(checkpoint_tag()) == std::string::npos; });
    make_files();
    if (!is_resumed_ || petsc_ == manifest_.options.petsc) return;
    manifest_.options.petsc = petsc_;  // solvers have taken them
    manifest_.options.petsc_changes = petsc_changes_;
    if (is_published_) write_manifest();
  });
  stage_ = Stage::begun;
}

void RunClaim::leave_begun(int ranks) {
  manifest_.ranks = ranks;
  manifest_.groups = 0;  // whoever begins says
  lock_->hold([&] { write_manifest(); });
  stage_ = Stage::begun;
}

void RunClaim::publish() {
  if (is_published_) return;
  write_manifest();
  is_published_ = true;
}

void RunClaim::publish_alone() const {
  write_text_file(*files_, RunManifest::file(work_), manifest_text());
}

void RunClaim::finish() {
  lock_->hold([&] {
    remove_checkpoints(work_, manifest_, comm_);
    comm_.on_root([&] {
      for (const std::string& folder : {work_, place_}) remove_work_files(folder);
      if (work_ != place_) put_in_place(*files_, place_, earlier_files(place_));
    });
  });
  stage_ = Stage::finished;
}

}  // namespace hindsight

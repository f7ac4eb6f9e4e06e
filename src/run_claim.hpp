// A process's claim on the folder of a run: the lock, what run.json says, and the generation of the files.
//
// G counts the generations of files: a new one begins with another number of ranks, or groups of them, and when the run
// is taken over from a process that may still live. In a folder that holds results already, all files but the lock and
// the status lie in its folder `successor` until the run is complete (io/results/successor.hpp).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/files/file_system.hpp"
#include "io/journal/run_lock.hpp"
#include "src/run_manifest.hpp"

namespace hindsight {

class RunClaim {
 public:
  /// Takes the folder for a run that begins, or, with options.resume, for one that goes on. Refuses when what began the
  /// run is no longer the same; else, when something of worth is in the folder (run_place.hpp). From here on a process
  /// that is killed can be resumed. Collective. @throws InputError naming the difference, or what is there;
  /// ResourceError when the folder is in use or damaged; Stopped. All that follows throws ResourceError when another
  /// process has taken the folder meanwhile.
  /// @param groups of ranks, which share the shots.
  RunClaim(const Options& options, const Case& c, const Communicator& comm, int groups = 1);
  /// Leaves a run that has not finished so that another process can go on with it; one that had not begun goes.
  ~RunClaim();
  RunClaim(const RunClaim&) = delete;
  RunClaim& operator=(const RunClaim&) = delete;

  FileSystem& files() const { return *files_; }
  const RunLock& lock() const { return *lock_; }
  /// Of the run, in the names of its files.
  const std::string& id() const { return manifest_.id; }
  /// In the names of the run's checkpoint files.
  std::string checkpoint_tag() const;
  /// The folder that the run was given.
  const std::string& place() const { return place_; }
  /// Where its files are until it is complete.
  const std::string& work() const { return work_; }
  bool is_resumed() const { return is_resumed_; }
  /// Whether the run goes on with another number of ranks, or of groups.
  bool moves() const { return moves_; }

  /// The path of the journals ("journal"), or of other files of each rank, which this process writes.
  std::string path(const std::string& name) const;
  /// The same of the process that the run goes on from, and its number of ranks, until begin().
  std::string earlier_path(const std::string& name) const;
  int earlier_ranks() const { return manifest_.ranks; }
  int earlier_groups() const { return manifest_.groups; }

  /// The run begins, or goes on, in this process: checkpoint files of others go. Collective. @param make_files makes
  /// what a process that goes on needs; when it throws, the run has not begun.
  void begin(const std::function<void()>& make_files);
  /// The run stays, for other processes to go on with, though this one does not begin it. @param ranks theirs.
  /// Collective.
  void leave_begun(int ranks);
  /// The files that this process has written count from here on: run.json names their generation. Does nothing where it
  /// does already. Collective.
  void publish();
  /// The same by one process for all, which has a grip of the lock.
  void publish_alone() const;
  /// The run is complete: removes what only resuming needs, and puts the results in place. Collective.
  void finish();

 private:
  enum class Stage { claimed, begun, finished };
  void begin_run(const Options& options, const Case& c);
  void go_on(const Options& options, const Case& c);
  void require_ranks(const Options& options) const;
  std::string manifest_text() const;
  void write_manifest() const;
  void remove_own_checkpoints() const;
  void leave() const;

  Communicator comm_;
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<RunLock> lock_;
  RunManifest manifest_;
  std::string place_, work_;
  std::string petsc_;  // PETSc's options of a run that goes on, until they are known to be read
  std::vector<std::string> petsc_changes_;
  int groups_;
  int generation_ = 0;  // manifest_'s, or, before a move to other ranks, the one after
  bool is_resumed_, moves_ = false;
  bool is_published_ = true;  // run.json names the generation
  Stage stage_ = Stage::claimed;
};

}  // namespace hindsight

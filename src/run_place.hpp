// Where a run may keep its files: nothing of worth is lost to a new run in the same folder.
#pragma once

#include <string>
#include <vector>

#include "io/files/file_system.hpp"
#include "src/run_manifest.hpp"

namespace hindsight {

/// The run that a folder speaks of: a successor in it while there is one, else the run whose files are in the folder.
struct RunPlace {
  std::string folder;        ///< as it was named; the lock is here, and a complete run's results in the end
  std::string work;          ///< where that run has its files
  bool is_complete = false;  ///< all its results are there
  bool is_in_place = true;   ///< its results are where they belong
  /// Reads run.json. @throws InputError when no run began in the folder, ResourceError when run.json is damaged.
  static RunPlace of(const std::string& folder);
  /// The same, read by rank 0. Collective.
  static RunPlace from_root(const std::string& folder, const Communicator& comm);
  RunManifest manifest() const;
};

/// What a run asks of the folder in which it is to begin.
struct RoomWanted {
  std::string folder;
  RunManifest run;                  ///< that is to begin
  std::vector<std::string> inputs;  ///< files that it reads
  std::string own;                  ///< a file outside of the run's own that it writes too, perhaps here; empty: none
  bool overwrites = false;          ///< gives up what is there
};

/// What was found or made for it.
struct RoomForRun {
  std::string work;               ///< where it keeps its files
  int generation = 0;             ///< that no process before has written
  std::vector<RunManifest> gone;  ///< runs whose checkpoints are not needed any more
};

/// Looks and changes nothing. @throws InputError naming what is in the way and what to do: a run that can be gone on
/// with, results of another verb, files of others (unless these are given up); input files of the run; a folder
/// that has the name of a result. ResourceError when the folder cannot be read.
void require_room(FileSystem& files, const RoomWanted& wanted);

/// The same, then removes runs that are given up or have kept nothing, and finishes what a process that was killed had
/// begun to put in place. Finished results stay until the new run is complete. The lock must be held.
RoomForRun make_room(FileSystem& files, const RoomWanted& wanted);

/// The files of the run whose results are in the folder; none where there is no run.json. For put_in_place().
std::vector<std::string> earlier_files(const std::string& folder);

/// Removes a run that is not complete. Killed meanwhile, it leaves nothing that passes for a run's results.
void remove_run(const std::string& work);

/// Removes what only a run at work needs, its checkpoints in the folder too, and a successor that never began.
void remove_work_files(const std::string& work);

}  // namespace hindsight

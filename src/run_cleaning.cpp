#include "src/run_cleaning.hpp"

#include <filesystem>
#include <vector>

#include "io/checkpoints/scratch_folder.hpp"
#include "io/journal/run_lock.hpp"
#include "io/results/run_files.hpp"
#include "io/results/successor.hpp"
#include "runtime/error.hpp"

namespace hindsight {

namespace fs = std::filesystem;

void remove_checkpoints(const std::string& work, const RunManifest& run, const Communicator& comm,
                        const std::function<bool(const std::string& name)>& is_old) {
  comm.together([&] {
    std::error_code error;
    std::vector<fs::path> old;
    std::string folder = work + "/scratch";
    try {
      if (!run.scratch.empty()) folder = scratch_folder(run.scratch);
    } catch (const InputError&) {  // what it stands for is not known here
      return;
    }
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename();
      if (name.rfind("checkpoints-" + run.id, 0) == 0 && is_old(name)) old.push_back(entry.path());
    }
    for (const fs::path& file : old) fs::remove(file, error);
  });
}

void remove_checkpoints(const std::string& work, const RunManifest& run, const Communicator& comm) {
  remove_checkpoints(work, run, comm, [](const std::string&) { return true; });
}

void clean_run(const std::string& folder, bool takes_lock, const Communicator& comm) {
  const RunLock lock(folder, comm, takes_lock);
  lock.hold([&] {
    const RunPlace place = RunPlace::from_root(folder, comm);
    const RunManifest manifest = RunManifest::from_root(comm, [&] { return place.manifest(); });
    remove_checkpoints(place.work, manifest, comm);
    comm.on_root([&] {
      PosixFileSystem files;
      if (!place.is_in_place) put_in_place(files, folder, earlier_files(folder));
      if (!place.is_complete) remove_run(place.work);
      remove_work_files(folder);
    });
  });
}

void finish_cleaning(const RunPlace& place, bool takes_lock, const Communicator& comm) {
  const std::string& folder = place.folder;
  const auto is_left = [&] {
    return !place.is_in_place || fs::exists(FolderLock::file(folder)) || !list_run_files(folder).work.empty();
  };
  if (!comm.any(comm.is_root() && is_left())) return;
  try {
    clean_run(folder, takes_lock, comm);
  } catch (const ResourceError&) {  // who is still in it, will
    if (!place.is_in_place) throw;
  }
}

}  // namespace hindsight

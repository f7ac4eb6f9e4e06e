#include "src/run_place.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "io/results/run_files.hpp"
#include "io/results/successor.hpp"
#include "runtime/error.hpp"
#include "src/run_generation.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

bool is_there(const std::string& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

void remove_file(const std::string& path) {
  std::error_code error;
  if (fs::remove(path, error); error)
    throw ResourceError("cannot remove '" + path + "' of an earlier run: " + error.message());
}

std::string quoted(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i > 0 ? ", '" : "'") + names[i] + "'";
  return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

/// What is in a folder.
struct Found {
  RunPlace place;
  std::optional<RunManifest> complete, begun;
  std::string damage;                             ///< of a run.json, or a journal
  std::int64_t epoch = 0;                         ///< that `begun` has kept
  std::vector<std::string> foreign, replaceable;  ///< the second have names of results
};

bool has_run(const std::string& folder) {
  return is_there(RunManifest::file(folder)) || is_there(RunManifest::file(folder + "/" + successor_name)) ||
         is_there(folder + "/" + whole_successor_name);
}

/// The results of a run that has a successor are in the folder, too.
std::optional<RunManifest> run_before(const RunPlace& place) {
  if (place.work == place.folder || !is_there(RunManifest::file(place.folder))) return std::nullopt;
  RunManifest earlier = RunManifest::read(place.folder);
  if (!is_there(place.folder + "/" + earlier.result())) return std::nullopt;
  return earlier;
}

/// Whose the results in the folder are. A damaged run.json says it of all of them.
std::vector<std::string> owned_names(const std::string& folder) {
  if (!is_there(RunManifest::file(folder))) return {};
  std::vector<std::string> names = result_names();
  try {
    names = result_names(RunManifest::read(folder).options.verb);
  } catch (const ResourceError&) {
  }
  return names;
}

void look_for_files(const RoomWanted& wanted, Found& found) {
  const RunFiles files = list_run_files(wanted.folder);
  const std::vector<std::string> owned = owned_names(wanted.folder);
  for (const std::string& name : files.others) {
    std::error_code error;
    const bool is_own = !wanted.own.empty() && fs::equivalent(wanted.folder + "/" + name, wanted.own, error);
    if (!is_own) found.foreign.push_back(name);
  }
  for (const std::string& name : files.results)
    if (std::find(owned.begin(), owned.end(), name) == owned.end()) found.replaceable.push_back(name);
}

Found look(FileSystem& files, const RoomWanted& wanted) {
  Found found;
  found.place.folder = found.place.work = wanted.folder;
  look_for_files(wanted, found);
  if (!has_run(wanted.folder)) return found;
  try {
    found.place = RunPlace::of(wanted.folder);
    (found.place.is_complete ? found.complete : found.begun) = found.place.manifest();
    if (!found.place.is_in_place) found.replaceable.clear();  // of the earlier run, on their way out
    if (!found.complete) found.complete = run_before(found.place);
    if (found.begun) found.epoch = kept_epoch(files, found.place.work, *found.begun);
  } catch (const ResourceError& error) {
    found.damage = error.what();
  }
  return found;
}

std::string remedy(const std::string& text) {
  return text + "give it up with --overwrite, or choose another folder with --out";
}

/// @throws InputError unless what is there may be given up.
void refuse_runs(const RoomWanted& wanted, const Found& found) {
  if (!found.damage.empty())
    throw InputError(remedy("'" + wanted.folder + "' holds a run that cannot be read (" + found.damage + "): "));
  if (found.begun && found.epoch > 0)
    throw InputError(
        remedy(fmt::format("'{}' holds hindsight {} of {}, which was stopped or killed and has kept epoch "
                           "{}: go on with it (hindsight resume {}), ",
                           wanted.folder, found.begun->options.verb, found.begun->name, found.epoch, wanted.folder)));
  if (found.complete && found.complete->options.verb != wanted.run.options.verb)
    throw InputError(remedy(fmt::format("'{}' holds the results of hindsight {} of {}: ", wanted.folder,
                                        found.complete->options.verb, found.complete->name)));
}

/// @throws InputError unless they may be replaced, or stay beside the run.
void refuse_files(const RoomWanted& wanted, const Found& found) {
  std::vector<std::string> names = found.replaceable;
  names.insert(names.end(), found.foreign.begin(), found.foreign.end());
  if (names.empty()) return;
  throw InputError(fmt::format(
      "'{}' holds files that are not a run's own: {}; choose another folder with --out, or "
      "say --overwrite: {}",
      wanted.folder, quoted(names),
      found.replaceable.empty() ? "they stay beside those of the run" : "the run replaces those whose names it needs"));
}

/// What cannot be given up. @throws InputError
void refuse_always(const RoomWanted& wanted, const Found& found) {
  for (const std::string& folder : {wanted.folder, found.place.work}) {
    const RunFiles here = list_run_files(folder);
    for (const auto& names : {here.results, here.about, here.work})
      for (const std::string& name : names) refuse_to_remove(folder + "/" + name, wanted.inputs);
    for (const std::string& name : here.results)
      if (fs::is_directory(folder + "/" + name))
        throw InputError("'" + folder + "/" + name + "' is a folder, and a run writes a file of this name: choose " +
                         "another folder with --out");
  }
  for (const std::string& name : found.foreign)
    if (name.rfind(successor_name, 0) == 0 && name.find('/') != std::string::npos)
      throw InputError("'" + wanted.folder + "/" + name + "' lies where a run works, and no run has written it: " +
                       "move it elsewhere, or choose another folder with --out");
}

Found require(FileSystem& files, const RoomWanted& wanted) {
  Found found = look(files, wanted);
  refuse_always(wanted, found);
  if (!wanted.overwrites) refuse_runs(wanted, found);
  if (!wanted.overwrites) refuse_files(wanted, found);
  return found;
}

}  // namespace

RunPlace RunPlace::of(const std::string& folder) {
  const std::string successor = folder + "/" + successor_name, whole = folder + "/" + whole_successor_name;
  if (is_there(whole)) return {folder, is_there(RunManifest::file(whole)) ? whole : folder, true, false};
  const bool has_successor = is_there(RunManifest::file(successor));
  RunPlace place{folder, has_successor ? successor : folder};
  place.is_complete = is_there(place.work + "/" + place.manifest().result());
  place.is_in_place = !place.is_complete || !has_successor;
  return place;
}

RunPlace RunPlace::from_root(const std::string& folder, const Communicator& comm) {
  RunPlace place{folder, folder};
  comm.on_root([&] { place = of(folder); });
  place.work = comm.broadcast(place.work);
  place.is_complete = comm.any(comm.is_root() && place.is_complete);
  place.is_in_place = !comm.any(comm.is_root() && !place.is_in_place);
  return place;
}

RunManifest RunPlace::manifest() const {
  return RunManifest::read(work);
}

void require_room(FileSystem& files, const RoomWanted& wanted) {
  require(files, wanted);
}

std::vector<std::string> earlier_files(const std::string& folder) {
  std::vector<std::string> names = owned_names(folder);
  if (names.empty()) return names;
  for (const auto& of_run : {list_run_files(folder).work, list_run_files(folder).about})
    for (const std::string& name : of_run)
      if (name != "run.json") names.push_back(name);
  names.emplace_back("run.json");
  return names;
}

RoomForRun make_room(FileSystem& files, const RoomWanted& wanted) {
  const Found found = require(files, wanted);
  RoomForRun room;
  if (!found.place.is_in_place) put_in_place(files, wanted.folder, earlier_files(wanted.folder));
  if (found.begun) {
    room.generation = found.begun->generation + 1;
    room.gone.push_back(*found.begun);
  }
  const std::string successor = wanted.folder + "/" + successor_name;
  if (is_there(successor)) remove_run(successor);
  if (found.begun && found.place.work == wanted.folder) remove_run(wanted.folder);
  remove_work_files(wanted.folder);
  if (found.complete) room.gone.push_back(*found.complete);
  room.work = list_run_files(wanted.folder).results.empty() ? wanted.folder : successor;
  fs::create_directories(room.work);
  return room;
}

/// run.json goes when the results are gone, and before what makes it a run that can be gone on with.
void remove_run(const std::string& work) {
  for (const std::string& name : owned_names(work)) remove_file(work + "/" + name);
  remove_file(RunManifest::file(work));
  remove_work_files(work);
  if (fs::path(work).filename() == successor_name) rmdir(work.c_str());
}

void remove_work_files(const std::string& work) {
  for (const std::string& name : list_run_files(work).work) remove_file(work + "/" + name);
  const std::string scratch = work + "/scratch";
  std::error_code error;
  std::vector<fs::path> checkpoints;
  for (const auto& entry : fs::directory_iterator(scratch, error))
    if (is_checkpoint_file(entry.path().filename())) checkpoints.push_back(entry.path());
  for (const fs::path& file : checkpoints) remove_file(file);
  rmdir(scratch.c_str());
  const std::string successor = work + "/" + successor_name;
  if (is_there(successor) && !is_there(RunManifest::file(successor))) remove_run(successor);
}

}  // namespace hindsight

#include "io/results/successor.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "io/results/run_files.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw ResourceError("cannot " + what + " '" + path + "': " + std::strerror(errno));
}

void move(FileSystem& files, const std::string& from, const std::string& to) {
  if (files.rename(from, to) != 0) fail("rename", from);
}

/// Names made, changed and removed in a folder reach the device.
void flush(FileSystem& files, const std::string& folder) {
  if (files.flush_folder_of(folder + "/.") != 0) fail("flush", folder);
}

void remove_if_there(FileSystem& files, const std::string& path) {
  if (files.remove(path) != 0 && errno != ENOENT) fail("remove", path);
}

/// result.json and check.json.
bool says_complete(const std::string& name) {
  const std::vector<std::string>& all = result_names();
  return std::find(all.end() - 2, all.end(), name) != all.end();
}

/// Of an earlier run.
void remove_files(FileSystem& files, const std::string& folder, const std::vector<std::string>& earlier) {
  for (const bool comes_now : {true, false})
    for (const std::string& name : earlier)
      if (says_complete(name) == comes_now) remove_if_there(files, folder + "/" + name);
  flush(files, folder);
}

/// Of the successor, as far as they are not there yet.
void move_files(FileSystem& files, const std::string& from, const std::string& to) {
  const RunFiles found = list_run_files(from);
  std::vector<std::string> names = found.about;
  names.insert(names.end(), found.results.begin(), found.results.end());
  const auto last = std::stable_partition(names.begin(), names.end(), [](auto& name) { return !says_complete(name); });
  for (auto name = last; name != names.end(); ++name) remove_if_there(files, to + "/" + *name);  // another's
  for (auto name = names.begin(); name != last; ++name) move(files, from + "/" + *name, to + "/" + *name);
  flush(files, to);
  for (auto name = last; name != names.end(); ++name) move(files, from + "/" + *name, to + "/" + *name);
  flush(files, to);
}

}  // namespace

void put_in_place(FileSystem& files, const std::string& folder, const std::vector<std::string>& earlier) {
  const std::string successor = folder + "/" + successor_name, whole = folder + "/" + whole_successor_name;
  if (!fs::exists(whole)) {
    remove_files(files, folder, earlier);
    move(files, successor, whole);
    flush(files, folder);
  }
  move_files(files, whole, folder);
  if (rmdir(whole.c_str()) != 0) fail("remove", whole);
  flush(files, folder);
}

}  // namespace hindsight

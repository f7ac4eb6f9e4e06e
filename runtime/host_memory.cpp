#include "runtime/host_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

#include "runtime/environment.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t unlimited = std::int64_t{1} << 60;  // version 1 has no other word for it than a large number
constexpr std::int64_t assumed = std::int64_t{2} << 30;    // where the system does not say what is available

/// A number, which may have a unit of 1024s behind it; without one, `unit` bytes. Nothing for other words.
std::optional<std::int64_t> bytes_of(const std::string& text, std::int64_t unit) {
  static const std::string letters = "KMGT";
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number < 0) return {};
  if (rest != end) {
    const std::size_t letter = letters.find(*rest);
    if (letter == std::string::npos || rest + 1 != end) return {};
    unit = std::int64_t{1} << (10 * (letter + 1));
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(number, unit, &bytes)) return {};
  return bytes;
}

std::optional<std::int64_t> number_in(const std::string& file) {
  std::string word;
  std::ifstream(file) >> word;
  return bytes_of(word, 1);
}

/// The number behind a name in a file of such lines; 0: it is not there.
std::int64_t value_in(const std::string& file, const std::string& name) {
  std::ifstream lines(file);
  std::int64_t value = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name)) std::istringstream(line.substr(name.size())) >> value;
  return value;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

/// A folder in which a hierarchy of cgroups can be seen, from one of its cgroups downwards.
struct Mount {
  std::string root;    ///< that cgroup
  std::string folder;  ///< where it is
  bool is_first;       ///< of version 1, with the controller of memory; else of version 2
};

/// Lines are: numbers, device, root, folder, options, ..., "-", type, source, options of the hierarchy.
std::vector<Mount> mounts(const std::string& proc) {
  std::vector<Mount> all;
  std::ifstream file(proc + "/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const std::vector<std::string> options = split(dash[3], ',');
    const bool has_memory = std::find(options.begin(), options.end(), "memory") != options.end();
    if (dash[1] == "cgroup2" || (dash[1] == "cgroup" && has_memory))
      all.push_back({words[3], words[4], dash[1] == "cgroup"});
  }
  return all;
}

/// The process's own cgroup in the hierarchy of version 2, or in that of version 1 that has memory; "" when in none.
std::string own_cgroup(const std::string& proc, bool is_first) {
  std::ifstream file(proc + "/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::vector<std::string> controllers = split(line.substr(first + 1, second - first - 1), ',');
    const bool has_memory = std::find(controllers.begin(), controllers.end(), "memory") != controllers.end();
    if (is_first ? has_memory : controllers.empty()) return line.substr(second + 1);
  }
  return "";
}

/// The cgroup's path below the mount's root; "" where it cannot be seen from here, as in a container.
std::string below(const std::string& root, const std::string& cgroup) {
  if (cgroup.find("/..") != std::string::npos) return "";
  if (root == "/") return cgroup == "/" ? "" : cgroup;
  if (!cgroup.starts_with(root) || (cgroup.size() > root.size() && cgroup[root.size()] != '/')) return "";
  return cgroup.substr(root.size());
}

/// Of one cgroup, if it has a limit. @param is_own of the process, not of an ancestor.
std::optional<std::int64_t> room_in(const std::string& folder, bool is_first, bool is_own) {
  if (!is_first) {
    const auto most = number_in(folder + "/memory.max"), high = number_in(folder + "/memory.high");
    if (!most && !high) return {};
    return std::min(most.value_or(unlimited), high.value_or(unlimited)) -
           number_in(folder + "/memory.current").value_or(0) + value_in(folder + "/memory.stat", "inactive_file ");
  }
  const auto most = number_in(folder + "/memory.limit_in_bytes");
  const bool bounds_children = number_in(folder + "/memory.use_hierarchy") != 0;
  if (!most || *most >= unlimited || (!is_own && !bounds_children)) return {};
  return *most - number_in(folder + "/memory.usage_in_bytes").value_or(0) +
         value_in(folder + "/memory.stat", bounds_children ? "total_inactive_file " : "inactive_file ");
}

void add_cgroups(const Mount& mount, const std::string& proc, std::vector<MemoryRoom>& rooms) {
  std::string path = below(mount.root, own_cgroup(proc, mount.is_first));
  for (bool is_own = true;; is_own = false) {
    const std::string folder = mount.folder + path;
    if (const auto room = room_in(folder, mount.is_first, is_own))
      rooms.push_back({std::max<std::int64_t>(0, *room), "left under the cgroup limit " + folder});
    if (path.empty()) return;
    path.resize(path.rfind('/'));
  }
}

void add_slurm(const MemorySources& sources, std::vector<MemoryRoom>& rooms) {
  if (!sources.environment) return;
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
  const auto said = [&](const char* name, std::int64_t unit) {
    return bytes_of(sources.environment(name), unit).value_or(0);
  };
  if (const std::int64_t node = said("SLURM_MEM_PER_NODE", mebibyte); node > 0)
    rooms.push_back({node, "that SLURM_MEM_PER_NODE grants"});
  const std::int64_t cpu = said("SLURM_MEM_PER_CPU", mebibyte);
  std::int64_t cpus = said("SLURM_CPUS_ON_NODE", 1);
  if (cpus == 0) cpus = std::max<std::int64_t>(1, said("SLURM_CPUS_PER_TASK", 1)) * sources.ranks;
  std::int64_t all = 0;
  if (cpu > 0 && !__builtin_mul_overflow(cpu, cpus, &all))
    rooms.push_back({all, fmt::format("that SLURM_MEM_PER_CPU grants {} CPUs", cpus)});
}

}  // namespace

std::vector<MemoryRoom> memory_rooms(const MemorySources& sources) {
  std::vector<MemoryRoom> rooms;
  const std::int64_t available = 1024 * value_in(sources.proc + "/meminfo", "MemAvailable:");
  rooms.push_back(available > 0 ? MemoryRoom{available, "available"}
                                : MemoryRoom{assumed, "assumed, for the system does not say"});
  for (const Mount& mount : mounts(sources.proc)) add_cgroups(mount, sources.proc, rooms);
  add_slurm(sources, rooms);
  return rooms;
}

MemoryRoom memory_room(const MemorySources& sources) {
  const std::vector<MemoryRoom> rooms = memory_rooms(sources);
  return *std::min_element(rooms.begin(), rooms.end(),
                           [](const MemoryRoom& a, const MemoryRoom& b) { return a.bytes < b.bytes; });
}

NodeMemory node_memory(const Communicator& comm) {
  MemorySources sources;
  sources.environment = environment;
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &sources.ranks);
  MPI_Comm_free(&node);
  return {memory_room(sources), sources.ranks};
}

}  // namespace hindsight

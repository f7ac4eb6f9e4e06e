// How much host memory there is to take: what the operating system, cgroups and a scheduler leave.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/communicator.hpp"

namespace hindsight {

/// Memory that may still be taken, and what says so.
struct MemoryRoom {
  std::int64_t bytes = 0;
  std::string source;  ///< to be read after a number of bytes: "available", "left under the cgroup limit DIRECTORY"
};

/// Where to look; tests make such trees up.
struct MemorySources {
  std::string proc = "/proc";  ///< meminfo, self/cgroup and self/mountinfo, which says where cgroups are
  std::function<std::string(const char*)> environment;  ///< a variable; "" when it is not set
  int ranks = 1;                                        ///< of this program on this node
};

/// All that bounds this node's memory for this program:
/// - MemAvailable;
/// - under each cgroup from the process's own to the root, of version 1 and 2, its limit less what is in use there
///   without file pages that are not active (memory.stat), which the kernel gives back first;
/// - what SLURM granted: SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU times the job's CPUs on this node
///   (SLURM_CPUS_ON_NODE, else SLURM_CPUS_PER_TASK for each rank): in MiB, or with K, M, G or T; 0 grants all.
/// What is not there, or cannot be read, bounds nothing; 2 GiB count as available where the system does not say.
std::vector<MemoryRoom> memory_rooms(const MemorySources& sources);

/// Of these, the least.
MemoryRoom memory_room(const MemorySources& sources);

/// What this rank's node has, and how many ranks share it.
struct NodeMemory {
  MemoryRoom room;
  int ranks = 1;
  std::int64_t share() const { return room.bytes / ranks; }
};

/// Collective.
NodeMemory node_memory(const Communicator& comm);

}  // namespace hindsight

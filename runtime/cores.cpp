#include "runtime/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace hindsight {
namespace {

/// Threads of one core count once: they share its arithmetic. The first of them stands for the core.
int core_of(int thread) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(thread) + "/topology/thread_siblings_list");
  int first = thread;
  return file >> first ? first : thread;
}

std::vector<int> cores_of(const cpu_set_t& threads) {
  std::set<int> cores;
  for (int thread = 0; thread < CPU_SETSIZE; ++thread)
    if (CPU_ISSET(thread, &threads)) cores.insert(core_of(thread));
  return {cores.begin(), cores.end()};
}

}  // namespace

double spare_cores_of(std::size_t rank, const std::vector<std::vector<int>>& cores) {
  std::vector<int> shared = cores[rank], common;
  int sharing = 0;
  for (const std::vector<int>& other : cores) {
    common.clear();
    std::set_intersection(cores[rank].begin(), cores[rank].end(), other.begin(), other.end(),
                          std::back_inserter(common));
    if (common.empty()) continue;
    std::vector<int> all;
    std::set_union(shared.begin(), shared.end(), other.begin(), other.end(), std::back_inserter(all));
    shared = all;
    ++sharing;
  }
  return std::max(0.0, static_cast<double>(shared.size()) / std::max(1, sharing) - 1.0);
}

double spare_cores(const Communicator& comm) {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof own, &own) != 0) CPU_SET(0, &own);  // more than a set can tell: as if bound
  MPI_Comm node = MPI_COMM_NULL;
  int rank = 0, ranks = 1;
  MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &ranks);
  std::vector<cpu_set_t> threads(static_cast<std::size_t>(ranks));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, threads.data(), sizeof own, MPI_BYTE, node);
  MPI_Comm_free(&node);
  std::vector<std::vector<int>> cores;
  for (const cpu_set_t& set : threads) cores.push_back(cores_of(set));
  return -comm.max(-spare_cores_of(static_cast<std::size_t>(rank), cores));
}

}  // namespace hindsight

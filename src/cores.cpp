#include "src/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <vector>

namespace hindsight {

double spare_cores(const Communicator& comm) {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof own, &own) != 0) CPU_SET(0, &own);  // more cores than a set can tell: as if bound
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int ranks = 1;
  MPI_Comm_size(node, &ranks);
  std::vector<cpu_set_t> sets(static_cast<std::size_t>(ranks));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, sets.data(), sizeof own, MPI_BYTE, node);
  MPI_Comm_free(&node);
  cpu_set_t cores = own;
  int sharing = 0;
  for (cpu_set_t& set : sets) {
    cpu_set_t common;
    CPU_AND(&common, &own, &set);
    if (CPU_COUNT(&common) == 0) continue;
    CPU_OR(&cores, &cores, &set);
    ++sharing;
  }
  const double share = static_cast<double>(CPU_COUNT(&cores)) / std::max(1, sharing);
  return -comm.max(-std::max(0.0, share - 1.0));
}

}  // namespace hindsight

// The processor cores that ranks share.
#pragma once

#include <vector>

#include "runtime/communicator.hpp"

namespace hindsight {

/// Cores that a rank has beside the one its steps run on: those that the ranks of its node may run on, shared out among
/// the ranks that may run there, less one. 0 where each core has its rank; the least of all ranks. Collective.
double spare_cores(const Communicator& comm);

/// The same for one rank. @param cores that each rank of the node may run on, in order, each once.
double spare_cores_of(std::size_t rank, const std::vector<std::vector<int>>& cores);

}  // namespace hindsight

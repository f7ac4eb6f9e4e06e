// Arrays of states in journals.
#pragma once

#include <span>

#include "solvers/grid/block_archive.hpp"
#include "solvers/grid/state_shape.hpp"

namespace hindsight {

/// Owned cells, for any number of ranks. @param block that holds the arrays, on the host.
void save_arrays(BlockWriter& to, std::span<const StateArray> arrays, const double* block);
void restore_arrays(BlockReader& from, std::span<const StateArray> arrays, double* block);

}  // namespace hindsight

// Sums over all ranks that do not show the number of ranks in any bit.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/communicator.hpp"

namespace hindsight {

/// Adds the values of all rows in global order, by a tree whose shape depends on the global count alone.
/// @param rows this rank's values. @param global_row the global index of each; together they cover 0..total-1 once.
/// @returns the same bits on every rank. Collective. Traffic: 16 bytes per row to every rank, once.
double ordered_sum(std::span<const double> rows, std::span<const std::int64_t> global_row, std::int64_t total,
                   const Communicator& comm);
/// Memory that it takes, and gives back, on every rank.
std::int64_t ordered_sum_bytes(std::int64_t total, const Communicator& comm);

/// Pairwise sum of values[first, last).
double pairwise_sum(const double* values, std::int64_t count);

}  // namespace hindsight

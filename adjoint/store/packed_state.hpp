// The owned cells of a state without its ghosts: what slow tiers keep.
#pragma once

#include <cstdint>

#include "solvers/grid/state_shape.hpp"

namespace hindsight {

/// `count` doubles of the packed state from the `first` on, to and from a padded state: the owned cells of all arrays
/// one after another, row after row, each array filled up with zeros to whole doubles. Ghosts keep what they hold.
void pack(const StateShape& shape, ConstStateBlocks state, std::int64_t first, std::int64_t count, double* packed);
void unpack(const StateShape& shape, const double* packed, std::int64_t first, std::int64_t count, StateBlocks state);

/// CRC32C (Castagnoli), by the processor's instructions where it has them. @param before of what precedes.
std::uint32_t crc32c(const void* data, std::int64_t bytes, std::uint32_t before = 0);

}  // namespace hindsight

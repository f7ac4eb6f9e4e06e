// What transfers past the page cache are made of, and sizes in such units.
#pragma once

#include <cstdint>

namespace hindsight {

/// Bytes; a multiple of the sectors of every disk in use, and of a page of 4 KiB.
inline constexpr std::int64_t transfer_block = 4096;

/// The least multiple of `unit`, which is positive, that is not below `bytes`.
constexpr std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace hindsight

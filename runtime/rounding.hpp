// Sizes in whole units, and the unit of transfers past the page cache.
#pragma once

#include <cstdint>
#include <type_traits>

namespace hindsight {

/// The least multiple of `unit`, which is positive, that is not below `size`, which is not negative.
template <class Size>
constexpr Size rounded_up(Size size, std::type_identity_t<Size> unit) {
  return (size + unit - 1) / unit * unit;
}

/// Bytes; a multiple of the sectors of every disk in use, and of a page of 4 KiB.
inline constexpr std::int64_t transfer_block = 4096;

}  // namespace hindsight

// Bytes as they lie in files. Numbers are little-endian.
#pragma once

#include <bit>
#include <cstddef>
#include <span>
#include <vector>

namespace hindsight {

static_assert(std::endian::native == std::endian::little, "journals are written in the order of bytes in memory");

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

}  // namespace hindsight

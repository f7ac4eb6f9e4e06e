// Payloads that tell which epoch of which life of a journal they belong to.
#pragma once

#include <random>

#include "runtime/bytes.hpp"

namespace hindsight::test {

/// Sizes of some sectors and pages, now and then none; growing and shrinking.
inline Bytes some_payload(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::size_t most = random() % 4 == 0 ? 30000 : 3000;
  Bytes bytes(random() % 8 == 0 ? 0 : random() % most);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace hindsight::test

// The kinds of numbers that arrays hold.
#pragma once

#include <cstdint>

namespace hindsight {

enum class Element : std::uint8_t { float64, float32 };

inline std::int64_t bytes_of(Element element) {
  return element == Element::float64 ? 8 : 4;
}

}  // namespace hindsight

// The kinds of numbers that arrays hold.
#pragma once

#include <cstdint>
#include <limits>

namespace hindsight {

enum class Element : std::uint8_t { float64, float32 };

inline std::int64_t bytes_of(Element element) {
  return element == Element::float64 ? 8 : 4;
}

/// What cases call it.
inline const char* name_of(Element element) {
  return element == Element::float64 ? "float64" : "float32";
}

/// From 1 to the next number.
inline double epsilon_of(Element element) {
  return element == Element::float64 ? std::numeric_limits<double>::epsilon()
                                     : static_cast<double>(std::numeric_limits<float>::epsilon());
}

/// Doubles that so many elements take.
inline std::int64_t doubles_of(Element element, std::int64_t count) {
  return element == Element::float64 ? count : (count + 1) / 2;
}

// Memory is handed around as that of doubles; it may hold other elements.
inline double* at_element(double* memory, std::int64_t place, Element element) {
  return element == Element::float64 ? memory + place
                                     : reinterpret_cast<double*>(reinterpret_cast<float*>(memory) + place);
}
inline const double* at_element(const double* memory, std::int64_t place, Element element) {
  return at_element(const_cast<double*>(memory), place, element);
}

}  // namespace hindsight

// Observations of the same places again and again.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "adjoint/objective/term.hpp"

namespace hindsight {

/// Observations, sorted by time, that are a table of times by places: the i-th is that of time i / places.
struct Traces {
  std::size_t times = 0, places = 0;
  double interval = 0.0;  ///< between times; 0: there is one, or they are not equally far apart
};

/// None where some time does not have the places of the first, in the same order.
std::optional<Traces> traces_in(const std::vector<PointObservation>& observations);

}  // namespace hindsight

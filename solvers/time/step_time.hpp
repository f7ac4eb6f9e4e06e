// When a step is taken.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace hindsight {

struct StepTime {
  double t = 0.0, h = 0.0;
  std::int64_t index = 0;  ///< of the step, from 0: what random numbers depend on
  /// Where rates change at once, at the begin or the end of the step: the times next to it that belong to the step.
  double earliest = -std::numeric_limits<double>::infinity(), latest = std::numeric_limits<double>::infinity();

  /// When a stage is evaluated that lies this part of the step behind its begin.
  double at(double part) const { return std::clamp(t + part * h, earliest, latest); }
  /// The same step, at the time of a stage.
  StepTime stage(double part) const { return {at(part), h, index}; }
  /// What is known of the rates at its end does not hold for the next step.
  bool ends_on_switch() const { return latest < std::numeric_limits<double>::infinity(); }
};

/// How far from a time at which rates change at once they are read, before and after it, by a step of length h that
/// begins or ends there: more than round-off of conditions on the time, little enough to be no error.
inline double beside_switch(double t, double h) {
  return std::min(0.25 * h, std::max(1e-9 * h, 16 * std::numeric_limits<double>::epsilon() * std::fabs(t)));
}

}  // namespace hindsight

// When a step is taken.
#pragma once

#include <cstdint>

namespace hindsight {

struct StepTime {
  double t = 0.0, h = 0.0;
  std::int64_t index = 0;  ///< of the step, from 0: what random numbers depend on
};

}  // namespace hindsight

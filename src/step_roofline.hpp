// What a step must move, beside what this machine moves and what a step takes.
#pragma once

#include <optional>
#include <string>

#include "src/session.hpp"

namespace hindsight {

/// Of a plain step, per cell.
struct StepRoofline {
  int read = 0, written = 0;  ///< bytes (Stepper::traffic_of_step)
  double bandwidth = 0.0;  ///< bytes read and written per second, all ranks at once, by a copy of a state (256 MiB of
                           ///< it at most) on this rank
  double measured = 0.0;   ///< seconds that a step takes
  double least() const { return (read + written) / bandwidth; }
};

/// None without a grid, on devices, and of methods that do more than run kernels. Collective.
std::optional<StepRoofline> step_roofline(const Session& session);
std::string to_text(const StepRoofline& roofline);

}  // namespace hindsight

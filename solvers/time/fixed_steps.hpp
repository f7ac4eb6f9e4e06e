// Steps that are known before the first one is taken.
#pragma once

#include <memory>

#include "solvers/time/time_line.hpp"

namespace hindsight {

/// Steps of equal length between landing times, none longer than asked for: each stretch is divided into
/// ceil(length/step) steps.
std::unique_ptr<StepSource> fixed_steps();

}  // namespace hindsight

// Steps whose lengths follow from estimates of their errors.
#pragma once

#include <memory>

#include "solvers/time/step_rules.hpp"
#include "solvers/time/time_line.hpp"

namespace hindsight {

/// Steps are tried (StepTrial), the first one as long as the line's step; where the error is too large, a shorter one
/// is. From step to step lengths follow a proportional-integral controller, with r the ratio of the error to what is
/// allowed and q the power of h by which it falls:
///     h' = h min(5, max(1/5, 0.9 r^-(1/q - 3/4 beta) r_before^beta)), beta = 1/(5q)
/// (Gustafsson 1991; constants as Hairer, Wanner, Solving ODEs II, section IV.2). Steps land on all landings; what was
/// proposed before a step was shortened to land is what the next one is tried with. The choice of lengths is data to
/// derivatives: they are those of the steps that were taken.
/// Deciding throws NumericsError where a step would have to be shorter than rules.least, or beyond rules.at_most steps.
std::unique_ptr<StepSource> adaptive_steps(const StepRules& rules);

}  // namespace hindsight

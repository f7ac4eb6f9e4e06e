// Which unknowns the objective depends on, as far as the graphs tell.
#pragma once

#include <vector>

#include "adjoint/problem/simulation_spec.hpp"

namespace hindsight {

/// One entry per unknown of the spec: whether a term of the objective with a weight, or an equation, an initial state
/// or a rule of a wall that such a term depends on, reads it. Where none does, the derivative is zero whatever the
/// values; where one does, it may still be zero. Priors are no part of the spec, and `until` ends a run but is no term.
std::vector<bool> used_unknowns(const SimulationSpec& spec);

}  // namespace hindsight

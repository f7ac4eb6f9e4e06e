// What a case takes for likely of its unknowns.
#pragma once

#include "adjoint/problem/simulation.hpp"
#include "io/case/case.hpp"

namespace hindsight {

/// 1/2 sum ((value - mean)/sd)^2 over all values that move of the unknowns that have a prior. @param gradient null, or
/// what the derivatives are added to. Collective.
double add_priors(const Case& c, const Simulation& simulation, UnknownValues* gradient);

}  // namespace hindsight

// From a case (texts) to a simulation (graphs and numbers).
#pragma once

#include "adjoint/problem/simulation_spec.hpp"
#include "io/case/case.hpp"

namespace hindsight {

/// Parses and discretises every expression of a case. @throws InputError with the expression's place.
SimulationSpec assemble(const Case& c);

}  // namespace hindsight

// The explicit Runge-Kutta family.
#pragma once

#include <vector>

#include "solvers/steppers/methods.hpp"

namespace hindsight {

/// One method per tableau (tableau.hpp).
std::vector<Method> explicit_methods();

}  // namespace hindsight

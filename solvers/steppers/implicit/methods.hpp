// Implicit methods.
#pragma once

#include <vector>

#include "solvers/steppers/methods.hpp"

namespace hindsight {

/// beuler, cn, theta, bdf2, sdirk2, sdirk3, esdirk4, ros3p, rodas4.
std::vector<Method> implicit_methods();

}  // namespace hindsight

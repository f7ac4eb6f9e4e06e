// The leapfrog method, for the registry.
#pragma once

#include <vector>

#include "solvers/steppers/methods.hpp"

namespace hindsight {

std::vector<Method> leapfrog_methods();

}  // namespace hindsight

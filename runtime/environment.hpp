// What the environment says.
#pragma once

#include <string>

namespace hindsight {

/// A variable of the environment; "" when it is not set.
std::string environment(const char* name);

}  // namespace hindsight

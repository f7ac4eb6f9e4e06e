// What the environment says.
#pragma once

#include <string>

namespace hindsight {

/// A variable of the environment; "" when it is not set.
std::string environment(const char* name);

/// A text with the values of variables in place of $NAME and ${NAME}. @throws InputError when one is not set, or empty.
std::string with_variables(const std::string& text);

}  // namespace hindsight

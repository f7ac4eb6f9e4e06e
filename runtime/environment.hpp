// What the environment says.
#pragma once

#include <string>

namespace hindsight {

/// A variable of the environment; "" when it is not set.
std::string environment(const char* name);

/// "$SCRATCH/checkpoints": what it stands for is known where the run's processes are.
inline bool begins_with_variable(const std::string& path) {
  return path.starts_with('$');
}

/// A text with the values of variables in place of $NAME and ${NAME}. @throws InputError when one is not set, or empty.
std::string with_variables(const std::string& text);

}  // namespace hindsight

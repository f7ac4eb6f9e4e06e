#include "runtime/environment.hpp"

#include <cstdlib>

namespace hindsight {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace hindsight

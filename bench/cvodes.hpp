// What benchmarks that run CVODES share.
#pragma once

#include <string>

#include "runtime/error.hpp"

namespace hindsight::bench {

/// @throws Error when CVODES returned a failure.
inline void require_cvodes(int code) {
  if (code < 0) throw Error(ExitCode::numerics, "CVODES failed with " + std::to_string(code));
}

}  // namespace hindsight::bench

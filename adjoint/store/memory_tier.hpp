// Which tier the memory of a machine is.
#pragma once

#include "adjoint/schedule/action.hpp"
#include "runtime/machine.hpp"

namespace hindsight {

/// That states are made in on this machine.
inline Tier memory_tier(const Machine& machine) {
  return machine.is_host() ? Tier::host : Tier::device;
}

}  // namespace hindsight

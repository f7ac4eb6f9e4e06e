// The emulated device as a backend.
#pragma once

#include "runtime/backends.hpp"

namespace hindsight::emulated {

const Backend& backend();

}  // namespace hindsight::emulated

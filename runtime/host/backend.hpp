// This process's memory and cores as a backend.
#pragma once

#include "runtime/backends.hpp"

namespace hindsight::host {

const Backend& backend();

}  // namespace hindsight::host

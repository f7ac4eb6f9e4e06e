// CUDA devices as a backend.
#pragma once

#include "runtime/backends.hpp"

namespace hindsight::cuda {

const Backend& backend();

}  // namespace hindsight::cuda

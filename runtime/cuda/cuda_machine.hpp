// A CUDA device as a machine.
#pragma once

#include <memory>

#include "runtime/machine.hpp"

namespace hindsight::cuda {

/// Opens a device of this node; ranks of a node take them in turn. Collective. @throws ResourceError saying why there
/// is none.
std::unique_ptr<Machine> open_machine(const Communicator& comm);

}  // namespace hindsight::cuda

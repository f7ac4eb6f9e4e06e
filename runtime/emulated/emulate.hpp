// Programs for devices, run by the host block by block and thread by thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/device_program.hpp"

namespace hindsight::emulated {

/// The order of blocks, and of a block's threads: a device takes them in any.
enum class Order { forwards, backwards };

/// Compiles a program for the host. It gives the bits that a device gives where there are no functions but sqrt.
/// Collective.
std::unique_ptr<device::Program> emulate(const std::string& text, const std::vector<device::KernelName>& kernels,
                                         Order order, const Communicator& comm);

}  // namespace hindsight::emulated

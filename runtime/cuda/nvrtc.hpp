// CUDA C++ to machine code of a device, without a device: NVRTC, opened when needed.
#pragma once

#include <string>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/device_program.hpp"

namespace hindsight::cuda {

struct Cubin {
  std::string code;
  std::vector<device::KernelResources> kernels;  ///< in the compiler's order
};

/// Whether NVRTC can be opened, and its version; else why not.
struct CompilerReport {
  bool is_there = false;
  std::string sentence;
};
CompilerReport compiler_report();

/// A program's text (runtime/device_program.hpp) as CUDA C++.
std::string device_text(const std::string& text);

/// No multiply-adds are fused but those that the source writes.
/// @param architecture "sm_90". @throws ResourceError when NVRTC is missing or fails, with its message.
Cubin compile(const std::string& source, const std::string& architecture);
/// Its code alone, from the cache (runtime/kernel_cache.hpp) when it is there. Collective: rank 0 goes first.
std::string cached_code(const std::string& source, const std::string& architecture, const Communicator& comm);

}  // namespace hindsight::cuda

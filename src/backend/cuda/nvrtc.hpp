// CUDA C++ to machine code of a device, without a device: NVRTC, opened when needed.
#pragma once

#include <string>
#include <vector>

#include "src/communicator.hpp"

namespace hindsight::cuda {

/// What a kernel takes of a device.
struct KernelResources {
  std::string name;
  int registers = 0;      ///< per thread
  int shared_bytes = 0;   ///< per block
  int spilled_bytes = 0;  ///< per thread, to and from memory
};

struct Cubin {
  std::string code;
  std::vector<KernelResources> kernels;  ///< in the compiler's order
};

/// Whether NVRTC can be opened, and its version; else why not.
struct CompilerReport {
  bool is_there = false;
  std::string sentence;
};
CompilerReport compiler_report();

/// No multiply-adds are fused but those that the source writes.
/// @param architecture "sm_90". @throws ResourceError when NVRTC is missing or fails, with its message.
Cubin compile(const std::string& source, const std::string& architecture);
/// Its code alone, from the cache (src/backend/kernel_cache.hpp) when it is there. Collective: rank 0 goes first.
std::string cached_code(const std::string& source, const std::string& architecture, const Communicator& comm);

}  // namespace hindsight::cuda

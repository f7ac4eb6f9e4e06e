// Kernels written once in the text that follows, for devices and, run block by block and thread by thread, for the
// host.
//
// KERNEL(name, threads) { ... } is a kernel. It has one parameter, L of type struct name_arguments, which the text
// defines before it, and the number BLOCK. EACH_THREAD(threads) is followed by what every thread of the block does, as
// number `thread`; all have done it before what comes after. SHARED variables are those of the block. FUNCTION begins
// the definition of a function for kernels. Arithmetic is that of C; multiply-adds are fused by fma() only; `integer`
// has 64 bits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/communicator.hpp"

namespace hindsight::cuda {

struct KernelName {
  std::string name;
  int threads = 1;  ///< per block, as the text says
};

/// A text and its kernels.
struct ProgramText {
  std::string text;
  std::vector<KernelName> kernels;
};

/// Loaded kernels, in the order of their names. What they are given must lie where they run.
class Program {
 public:
  virtual ~Program() = default;
  /// @param arguments a struct as the kernel's text defines it; copied before the call returns.
  virtual void run(std::size_t kernel, const void* arguments, std::int64_t blocks) = 0;
};

/// The text as CUDA C++, for compile() (nvrtc.hpp).
std::string device_text(const std::string& text);
/// Of blocks, and of a block's threads: a device takes them in any.
enum class EmulatedOrder { forwards, backwards };

class EmulatedProgram : public Program {
 public:
  /// Of the struct that a kernel takes.
  virtual std::int64_t argument_bytes(std::size_t kernel) const = 0;
};

/// On the host, with the bits that a device has where there are no functions but sqrt. Collective.
std::unique_ptr<EmulatedProgram> emulate(const std::string& text, const std::vector<KernelName>& kernels,
                                         EmulatedOrder order, const Communicator& comm);

}  // namespace hindsight::cuda

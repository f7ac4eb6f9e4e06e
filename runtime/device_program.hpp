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
#include <string>
#include <vector>

namespace hindsight::device {

struct KernelName {
  std::string name;
  int threads = 1;  ///< per block, as the text says
};

/// A text and its kernels.
struct ProgramText {
  std::string text;
  std::vector<KernelName> kernels;
};

/// A struct as a kernel's text defines it.
struct Arguments {
  const void* data;
  std::int64_t bytes;
  Arguments(const void* at, std::int64_t size) : data(at), bytes(size) {}
  template <class Struct>
  explicit Arguments(const Struct& arguments) : Arguments(&arguments, sizeof arguments) {}
};

/// What a kernel takes of a device.
struct KernelResources {
  std::string name;
  int registers = 0;      ///< per thread
  int shared_bytes = 0;   ///< per block
  int spilled_bytes = 0;  ///< per thread, to and from memory
};

/// Loaded kernels, in the order of their names. What they are given must lie where they run.
class Program {
 public:
  virtual ~Program() = default;
  /// @param arguments are copied before the call returns.
  virtual void run(std::size_t kernel, Arguments arguments, std::int64_t blocks) = 0;
};

}  // namespace hindsight::device

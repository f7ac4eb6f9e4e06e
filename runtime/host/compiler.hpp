// Turns C source into loaded functions: the host compiler, called once per source, and a cache of what it made.
#pragma once

#include <memory>
#include <string>

#include "runtime/communicator.hpp"

namespace hindsight::host {

/// A loaded shared object; functions stay valid as long as one copy of the handle lives.
class Module {
 public:
  Module() = default;
  explicit Module(std::shared_ptr<void> handle) : handle_(std::move(handle)) {}
  /// @throws Error(bug) when there is no such function.
  void* function(const std::string& name) const;

 private:
  std::shared_ptr<void> handle_;
};

/// Compiles C source, or takes the result of an earlier compilation from the cache. Collective: rank 0 goes first, the
/// others find what it made (or compile for themselves where they do not share its disk).
///
/// The cache (runtime/kernel_cache.hpp) is keyed by source, flags, HINDSIGHT_CC and, where that is native, the
/// processor: what is in it needs no compiler.
///
/// Environment: HINDSIGHT_CC names the compiler (default: the first of cc, gcc, clang); HINDSIGHT_MARCH the processor
/// to compile for, as -march takes it (default: native).
/// @throws InputError when the compiler does not know the processor; ResourceError when there is no compiler and the
/// cache has nothing, it fails (with its message), the processor here lacks instructions that the kernels may use, or
/// the cache cannot be used.
Module compile(const std::string& source, const Communicator& comm);

/// What generated C begins with: the names that generated text of all kinds has in common.
inline constexpr const char* c_names = R"(#include <math.h>
typedef long long integer;
#define not_a_number __builtin_nan("")
#define infinity __builtin_inf()
)";

/// One line naming the compiler and its flags, or why there is none: for `hindsight info`.
std::string compiler_report();

}  // namespace hindsight::host

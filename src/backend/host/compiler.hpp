// Turns C source into loaded functions: the host compiler, called once per source, and a cache of what it made.
#pragma once

#include <memory>
#include <string>

#include "src/communicator.hpp"

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
/// The cache is keyed by source, compiler version, flags and processor features. An entry is written under a temporary
/// name and renamed, so that concurrent processes see all of it or nothing; its checksum is compared before it is
/// loaded. The folder must belong to the user and be writable by nobody else.
///
/// Environment: HINDSIGHT_CC names the compiler (default: the first of cc, gcc, clang); HINDSIGHT_CACHE the folder
/// (default: $XDG_CACHE_HOME/hindsight, ~/.cache/hindsight, or /tmp/hindsight-UID without a home).
/// @throws ResourceError when there is no compiler, it fails (with its message), or the cache cannot be used.
Module compile(const std::string& source, const Communicator& comm);

/// One line naming the compiler and its flags, or why there is none: for `hindsight info`.
std::string compiler_report();
/// What kernels compiled here depend on of the processor: its name, and a checksum of its instructions.
std::string processor_report();
std::string cache_folder();

}  // namespace hindsight::host

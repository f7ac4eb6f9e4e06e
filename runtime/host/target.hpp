// The processor that kernels are compiled for.
#pragma once

#include <string>
#include <vector>

namespace hindsight::host {

/// What kernels depend on beside their text and the compiler's other flags. Where two targets are equal, kernels give
/// the same bits, and those compiled for one serve the other.
struct Target {
  std::string march;      ///< of the compiler's -march: HINDSIGHT_MARCH, or "native" where that is not set
  std::string processor;  ///< native: its name and a checksum of its instructions; else empty
  bool has_fma = false;   ///< the C library takes its functions for fused multiply-add: their last digits are others
  bool operator==(const Target&) const = default;
  /// "x86-64-v3", "native (AMD EPYC 8f3ab2c1)"
  std::string text() const;
};

/// Of this process.
Target target();
/// @param march empty: native. @param cpuinfo what /proc/cpuinfo says.
Target target_of(const std::string& march, const std::string& cpuinfo);

/// Of this machine: what /proc/cpuinfo says of its first processor.
std::string cpuinfo();
/// C text that defines `needs_symbol`: the instructions that the compiler may use for what comes with it, as
/// /proc/cpuinfo names them, with blanks between. Nothing runs when it is loaded.
std::string needs_text();
inline constexpr const char* needs_symbol = "hindsight_needs";
/// Those of `needs` that a processor lacks. Where /proc/cpuinfo says nothing of instructions, none.
std::vector<std::string> missing_instructions(const std::string& needs, const std::string& cpuinfo);

}  // namespace hindsight::host

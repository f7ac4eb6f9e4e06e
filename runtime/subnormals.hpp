// Singles below 1.2e-38: processors of the host may take a hundred times as long for them, and waves make many, ahead
// of their fronts. Kernels of singles take them for zeros, and make zeros of them, on hosts of x86-64 and ARM and on
// devices. (On hosts what they compute in doubles has no subnormals either, which are below 2.2e-308.)
#pragma once

namespace hindsight {

/// What the text of kernels that do so begins with, for the host and for devices.
inline const char* const flushes_subnormals = "#define FLUSHES_SUBNORMALS\n";

/// C of the host: SUBNORMALS_FLUSHED(call) makes a call of a function that is not inlined.
inline const char* const subnormals_text = R"(#if defined(FLUSHES_SUBNORMALS) && defined(__x86_64__)
#define SUBNORMALS_FLUSHED(call) do { \
  const unsigned mode = __builtin_ia32_stmxcsr(); \
  __builtin_ia32_ldmxcsr(mode | 0x8040); /* results and operands */ \
  call; \
  __builtin_ia32_ldmxcsr(mode); } while (0)
#elif defined(FLUSHES_SUBNORMALS) && defined(__aarch64__)
#define SUBNORMALS_FLUSHED(call) do { \
  unsigned long mode; \
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode)); \
  __asm__ volatile("msr fpcr, %0" : : "r"(mode | 1ul << 24) : "memory"); \
  call; \
  __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory"); } while (0)
#else
#define SUBNORMALS_FLUSHED(call) call
#endif
)";

}  // namespace hindsight

// Singles below 1.2e-38: processors of the host may take a hundred times as long for them, and waves make many, ahead
// of their fronts. Kernels of singles take them for zeros, and make zeros of them, wherever they run.
#pragma once

namespace hindsight {

/// What a program's text begins with where it does. Its kernels' names are defined by that then: host and device.
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
  const unsigned mode = __builtin_aarch64_get_fpcr(); \
  __builtin_aarch64_set_fpcr(mode | 1u << 24); \
  call; \
  __builtin_aarch64_set_fpcr(mode); } while (0)
#else
#define SUBNORMALS_FLUSHED(call) call
#endif
)";

}  // namespace hindsight

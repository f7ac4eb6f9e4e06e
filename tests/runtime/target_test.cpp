// What kernels are compiled for, told from what Linux says of processors.
#include "runtime/host/target.hpp"

#include <gtest/gtest.h>

namespace hindsight::host {
namespace {

const std::string intel =
    "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R)\nflags\t\t: fpu sse2 pni avx fma avx2 avx512f\n";
const std::string amd =
    "processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nflags\t\t: fpu sse2 pni sse4a avx fma avx2\n";
const std::string old = "processor\t: 0\nmodel\t\t: 42\nmodel name\t: Intel(R) Core(TM)\nflags\t\t: fpu sse2 pni avx\n";

TEST(Target, NativeIsThisProcessor) {
  EXPECT_EQ(target_of("", amd), target_of("native", amd));
  EXPECT_NE(target_of("", amd), target_of("", intel));
  EXPECT_EQ(target_of("", amd).text().find("native (AMD EPYC "), 0u) << target_of("", amd).text();
  EXPECT_NE(target_of("", amd), target_of("", amd + "flags\t\t: more\n"));
}

TEST(Target, ANamedOneIsTheSameOnAllProcessorsWithFusedMultiplyAdd) {
  EXPECT_EQ(target_of("x86-64-v3", amd), target_of("x86-64-v3", intel));
  EXPECT_EQ(target_of("x86-64-v3", amd).text(), "x86-64-v3");
  EXPECT_NE(target_of("x86-64-v3", amd), target_of("x86-64-v2", amd));
#ifdef __x86_64__
  EXPECT_NE(target_of("x86-64-v2", amd), target_of("x86-64-v2", old));
#endif
}

TEST(Target, MissingInstructionsAreNamed) {
  EXPECT_EQ(missing_instructions(" pni avx avx512f", intel), std::vector<std::string>{});
  EXPECT_EQ(missing_instructions(" pni avx avx512f", amd), std::vector<std::string>{"avx512f"});
  EXPECT_EQ(missing_instructions("", old), std::vector<std::string>{});
  EXPECT_EQ(missing_instructions(" abm", "flags : fpu bmi1\n"), std::vector<std::string>{});
  EXPECT_EQ(missing_instructions(" abm", old), std::vector<std::string>{"abm"});
  EXPECT_EQ(missing_instructions(" avx", "Features : fp asimd\n"), std::vector<std::string>{});  // not told
}

}  // namespace
}  // namespace hindsight::host

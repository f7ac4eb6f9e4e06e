// What stops a run from being gone on with, and what does not.
#include <gtest/gtest.h>

#include "src/run_manifest.hpp"

namespace hindsight {
namespace {

const std::string intel = "model name\t: Intel(R) Xeon(R)\nflags\t\t: sse2 avx fma avx2 avx512f\n";
const std::string amd = "model name\t: AMD EPYC\nflags\t\t: sse2 avx fma avx2\n";
const std::string old = "model name\t: Intel(R) Core(TM)\nflags\t\t: sse2 avx\n";

RunManifest begun(const std::string& march, const std::string& cpuinfo) {
  RunManifest manifest;
  manifest.id = "0123";
  manifest.resolved = "case: a\ntime: 1\n";
  manifest.program = "hindsight 1";
  manifest.kernels = {host::target_of(march, cpuinfo), "2.36", "", "/usr/bin/cc: 12.2.0"};
  return RunManifest::parse(manifest.to_text(), "run.json");
}

TEST(Manifest, TakesAnotherProcessorWhereTheTargetIsNamed) {
  EXPECT_EQ(begun("x86-64-v3", intel).difference(begun("x86-64-v3", amd)), "");
  EXPECT_EQ(begun("", amd).difference(begun("native", amd)), "");
}

TEST(Manifest, TakesAnotherCompiler) {
  RunManifest now = begun("", amd);
  now.kernels.compiler = "no C compiler found";
  EXPECT_EQ(begun("", amd).difference(now), "");
}

void expect_difference(const RunManifest& before, const RunManifest& now, const std::vector<std::string>& words) {
  const std::string text = before.difference(now);
  EXPECT_NE(text, "");
  for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

TEST(Manifest, RefusesAnotherTarget) {
  expect_difference(begun("x86-64-v3", amd), begun("", amd), {"HINDSIGHT_MARCH", "'native'", "'x86-64-v3'"});
  expect_difference(begun("", intel), begun("", amd), {"HINDSIGHT_MARCH", "Intel(R) Xeon(R)", "AMD EPYC"});
#ifdef __x86_64__
  expect_difference(begun("x86-64-v2", amd), begun("x86-64-v2", old), {"HINDSIGHT_MARCH", "no fused multiply-add"});
#endif
}

TEST(Manifest, RefusesOtherLibrariesProgramsAndCases) {
  RunManifest now = begun("", amd);
  now.kernels.c_library = "2.41";
  expect_difference(begun("", amd), now, {"C library", "2.41", "2.36"});
  now = begun("", amd);
  now.kernels.device = "sm_90";
  expect_difference(begun("", amd), now, {"device", "sm_90"});
  now = begun("", amd);
  now.program = "hindsight 2";
  expect_difference(begun("", amd), now, {"the program has changed", "hindsight 2"});
  now = begun("", amd);
  now.resolved = "case: a\ntime: 2\n";
  expect_difference(begun("", amd), now, {"the case has changed", "time: 2"});
}

}  // namespace
}  // namespace hindsight

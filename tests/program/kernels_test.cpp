// Where kernels come from: a cache that needs no compiler, and HINDSIGHT_MARCH, the processor they are compiled for.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "runtime/host/target.hpp"
#include "tests/places.hpp"
#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

using namespace hindsight::test;
namespace fs = std::filesystem;

class Kernels : public test::OwnFolder {
 protected:
  Kernels() {
    std::ofstream("case.yaml") << R"yaml(
case: waves
grid: {x: {cells: 96, to: 1}, y: {cells: 64, to: 1}}
parameters: {D: 1e-4, a: {field: "1 + 0.3*sin(2*pi*x)"}}
state: {u: {initial: "0.5 + 0.4*sin(2*pi*x)*cos(2*pi*y)"}}
equations: {dt(u): "D*lap(u) + a*u*(1 - u)*exp(-u)"}
time: {method: rk4, step: 0.1, to: 150}
objective: [{final: "u^2"}, {integral: "u^4"}]
unknowns: {D: {}, a: {}}
checkpoints: {host: 30 slots}
)yaml";
  }
  /// With the cache of this test, and variables. @returns the exit code.
  int run(const std::string& arguments, const std::string& variables = "") {
    const std::string own = "HINDSIGHT_CACHE=" + here_ + "/cache ";
    return run_command(clean_environment + own + variables + " " + test::program_file() + " " + arguments +
                       " > output.txt 2>&1");
  }
  int gradient(const std::string& folder, const std::string& variables = "") {
    return run("gradient case.yaml --out " + folder, variables);
  }
  std::string output() const { return contents(here_ + "/output.txt"); }
  bool says(const std::string& words) const { return output().find(words) != std::string::npos; }
  static std::string answer(const std::string& folder) {
    const nlohmann::json all = nlohmann::json::parse(std::ifstream(folder + "/result.json"));
    return all["objective"].dump() + all["gradient"].dump();
  }
};

TEST_F(Kernels, AreTakenFromTheCacheWithoutACompiler) {
  const std::string compiler = here_ + "/cc", chosen = "HINDSIGHT_CC=" + compiler;
  fs::create_symlink("/usr/bin/cc", compiler);
  EXPECT_EQ(gradient("cold", chosen), 0) << output();
  fs::remove(compiler);
  EXPECT_EQ(gradient("warm", chosen), 0) << output();
  EXPECT_EQ(answer("warm"), answer("cold"));
  fs::remove_all("cache");
  EXPECT_EQ(gradient("none", chosen), 6) << output();
  EXPECT_TRUE(says(compiler) && says("the cache " + here_ + "/cache has none")) << output();
}

TEST_F(Kernels, WithoutAnyCompilerOnThePath) {
  fs::create_directories("bin");
  for (const char* name : {"ssh", "orted"})  // that MPI looks for
    run_command("ln -s \"$(command -v " + std::string(name) + ")\" bin/");
  const std::string without = "OMPI_MCA_plm=isolated PATH=" + here_ + "/bin";
  EXPECT_EQ(gradient("none", without), 6) << output();
  EXPECT_TRUE(says("no C compiler found")) << output();
  EXPECT_EQ(gradient("cold"), 0) << output();
  EXPECT_EQ(gradient("warm", without), 0) << output();
  EXPECT_EQ(answer("warm"), answer("cold"));
}

#ifdef __x86_64__

/// Without fused multiply-add in the processor, the library's takes a hundred times as long.
TEST_F(Kernels, ForOtherProcessorsHaveTheSameBits) {
  const auto short_gradient = [&](const std::string& folder, const std::string& variables = "") {
    return run("gradient case.yaml --set time.to=10 --out " + folder, variables);
  };
  ASSERT_EQ(short_gradient("native"), 0) << output();
  for (const std::string march : {"x86-64-v2", "x86-64-v3"}) {
    ASSERT_EQ(short_gradient(march, "HINDSIGHT_MARCH=" + march), 0) << output();
    EXPECT_EQ(answer(march), answer("native")) << march;
  }
}

TEST_F(Kernels, ForAProcessorThatNobodyKnowsAreRefused) {
  EXPECT_EQ(gradient("bad", "HINDSIGHT_MARCH=pentagon"), 2) << output();
  EXPECT_TRUE(says("HINDSIGHT_MARCH is 'pentagon'")) << output();
  EXPECT_EQ(gradient("worse", "HINDSIGHT_MARCH='native -O0'"), 2) << output();
}

/// bdver4 has instructions that no processor made before or since has. Refused when compiled, and from the cache.
TEST_F(Kernels, WithInstructionsThatAreNotHereAreRefusedBeforeTheyRun) {
  if (host::missing_instructions(" xop tbm", host::cpuinfo()).empty()) GTEST_SKIP() << "this is such a processor";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(gradient("bad", "HINDSIGHT_MARCH=bdver4"), 6) << output();
    EXPECT_TRUE(says("HINDSIGHT_MARCH is 'bdver4'") && says("tbm, xop")) << output();
  }
}

/// A command on a machine whose processor is said to be another: /proc/cpuinfo is covered.
class OtherProcessor : public Kernels {
 protected:
  OtherProcessor() {
    const std::string other =
        std::regex_replace(host::cpuinfo(), std::regex("model name\t*: .*"), "model name\t: Other");
    std::ofstream("other") << other;
    std::ofstream("without-fma") << std::regex_replace(other, std::regex(" fma "), " ");
  }
  static std::string on(const std::string& cpuinfo, const std::string& command) {
    return "unshare --mount sh -c 'mount --bind " + cpuinfo + " /proc/cpuinfo && exec \"$@\"' sh " + command;
  }
  static bool is_possible() { return run_command(on("other", "true") + " > /dev/null 2>&1") == 0; }
  int resume_on(const std::string& cpuinfo, const std::string& folder, const std::string& march) {
    return run_command(on(cpuinfo, clean_environment + "HINDSIGHT_CACHE=" + here_ + "/cache " + march + " " +
                                       test::program_file() + " resume " + folder) +
                       " > output.txt 2>&1");
  }
};

TEST_F(OtherProcessor, GoesOnWithARunWhoseTargetIsNamed) {
  if (!is_possible()) GTEST_SKIP() << "/proc/cpuinfo cannot be covered here (it takes root)";
  for (const std::string march : {"", "HINDSIGHT_MARCH=x86-64-v3"}) {
    const std::string folder = march.empty() ? "native" : "named";
    ASSERT_EQ(gradient(folder + "-whole", march), 0) << output();
    ASSERT_EQ(run("gradient case.yaml --out " + folder + " --epoch 0.02s --die-at 30", march), 137) << output();
    EXPECT_EQ(resume_on("without-fma", folder, march), 2) << output();
    EXPECT_TRUE(says("HINDSIGHT_MARCH")) << output();
    EXPECT_EQ(resume_on("other", folder, march), march.empty() ? 2 : 0) << output();
    if (march.empty()) {
      EXPECT_TRUE(says("this is Other")) << output();
      continue;
    }
    EXPECT_EQ(answer(folder), answer(folder + "-whole"));
    ASSERT_EQ(run("gradient case.yaml --out changed --epoch 0.02s --die-at 30", march), 137) << output();
    EXPECT_EQ(run("resume changed", "HINDSIGHT_MARCH=x86-64-v2"), 2) << output();
    EXPECT_TRUE(says("HINDSIGHT_MARCH is 'x86-64-v2', it was 'x86-64-v3'")) << output();
  }
}

#endif

}  // namespace
}  // namespace hindsight

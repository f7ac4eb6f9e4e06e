// starts: ranks
// Runs in a cgroup that has less memory than the machine, where one can be made here.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/program/program.hpp"

namespace hindsight {
namespace {

using namespace hindsight::test;
namespace fs = std::filesystem;

/// A cgroup with a limit, of the first or the second version.
class Limited {
 public:
  explicit Limited(const std::string& bytes) {
    const std::string name = "/hindsight-test-" + std::to_string(getpid());
    for (const auto& [parent, file] :
         {std::pair("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), {"/sys/fs/cgroup", "memory.max"}}) {
      std::error_code error;
      if (!fs::create_directory(parent + name, error)) continue;
      folder_ = parent + name;
      std::ofstream limit(folder_ + "/" + file);
      if (fs::exists(folder_ + "/" + file) && limit << bytes && limit.flush()) return;
      remove();
    }
  }
  ~Limited() { remove(); }
  bool is_there() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }
  /// @returns the exit code of a command in it.
  int run(const std::string& command) const {
    return run_command("sh -c 'echo $$ > " + folder_ + "/cgroup.procs && exec \"$@\"' sh " + command);
  }

 private:
  /// Its last process may take a moment to end.
  void remove() {
    if (folder_.empty()) return;
    std::error_code error;
    for (int i = 0; i < 200 && !fs::remove(folder_, error); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    folder_.clear();
  }
  std::string folder_;
};

TEST(MemoryLimit, TheDefaultBudgetStaysBelowIt) {
  const Limited cgroup("200M");
  if (!cgroup.is_there()) GTEST_SKIP() << "no cgroup with a limit of memory can be made here (it takes root)";
  fs::current_path(testing::TempDir());
  std::ofstream("case.yaml") << R"yaml(
case: plate
grid: {x: {cells: 384, to: 1}, y: {cells: 384, to: 1}}
parameters: {D: 1e-6, a: 1.1}
state: {u: {initial: "0.5 + 0.4*sin(2*pi*x)*cos(2*pi*y)"}}
equations: {dt(u): "D*lap(u) + a*u*(1 - u)*(u - 0.3)"}
time: {method: rk4, step: 0.1, to: 40}
objective: [{final: "u^2"}]
unknowns: {D: {}, a: {}}
)yaml";
  const std::string run = command_line("gradient case.yaml --out limited", 1);
  EXPECT_EQ(cgroup.run(run + " > output.txt 2>&1"), 0) << contents("output.txt");
  const auto memory = nlohmann::json::parse(std::ifstream("limited/result.json"))["memory"];
  EXPECT_LT(memory["host"]["budget"], 100 << 20);
  const std::string source = memory["host"]["budget_source"];
  EXPECT_NE(source.find("left under the cgroup limit " + cgroup.folder()), std::string::npos) << source;
  EXPECT_EQ(cgroup.run(command_line("info", 1) + " > output.txt 2>&1"), 0);
  EXPECT_NE(contents("output.txt").find(cgroup.folder()), std::string::npos) << contents("output.txt");
  EXPECT_EQ(cgroup.run(command_line("plan case.yaml", 1) + " > output.txt 2>&1"), 0);
  EXPECT_NE(contents("output.txt").find(cgroup.folder()), std::string::npos) << contents("output.txt");
  fs::current_path("/");
}

/// Said with both numbers, and tried.
TEST(MemoryLimit, ABudgetAboveWhatThereIsIsWarnedOf) {
  fs::current_path(testing::TempDir());
  std::ofstream("small.yaml") << R"yaml(
case: small
state: {u: {initial: 1}}
parameters: {a: 1}
equations: {dt(u): "a*u"}
time: {step: 0.1, to: 1}
objective: [{final: u}]
unknowns: {a: {}}
)yaml";
  const auto told = [](const std::string& host, const std::string& slurm, int ranks) {
    const std::string command = command_line("gradient small.yaml --out small --set checkpoints.host=" + host, ranks);
    EXPECT_EQ(run_command(std::string(command).insert(clean_environment.size(), "SLURM_MEM_PER_NODE=" + slurm + " ") +
                          " > output.txt 2>&1"),
              0);
    return contents("output.txt");
  };
  EXPECT_NE(
      told("2GiB", "1024", 1).find("checkpoints.host: 2 GiB is more than there is: 1 GiB that SLURM_MEM_PER_NODE"),
      std::string::npos)
      << contents("output.txt");
  EXPECT_EQ(told("512MiB", "1024", 2).find("more than"), std::string::npos) << contents("output.txt");
  EXPECT_NE(told("513MiB", "1024", 2).find("513 MiB for each of 2 ranks is more than there is: 1 GiB that SLURM"),
            std::string::npos)
      << contents("output.txt");
  const auto result = nlohmann::json::parse(std::ifstream("small/result.json"));
  EXPECT_EQ(result["warnings"].size(), 1u) << result;
  EXPECT_FALSE(result["memory"]["host"].contains("budget_source"));
  fs::current_path("/");
}

}  // namespace
}  // namespace hindsight

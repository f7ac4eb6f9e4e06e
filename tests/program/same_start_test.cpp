// starts: ranks
// Ranks that are started with different things end with one message and one exit code, and never wait for each other.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "tests/places.hpp"
#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

using namespace hindsight::test;
namespace fs = std::filesystem;

class SameStart : public test::OwnFolder {
 protected:
  SameStart() {
    write("a.yaml", "1e-3", "20");
    write("b.yaml", "2e-3", "20");
  }
  static void write(const std::string& file, const std::string& diffusion, const std::string& hare) {
    fs::create_directories(fs::absolute(file).parent_path());
    std::ofstream(file) << "case: waves\n"
                           "grid: {x: {cells: 64, to: 1}}\n"
                           "parameters:\n  D: " +
                               diffusion +
                               "\nstate: {u: {initial: \"sin(2*pi*x)\"}}\n"
                               "equations: {dt(u): \"D*lap(u)\"}\n"
                               "time: {step: 0.01, to: 1}\n"
                               "objective: [{misfit: {of: u, data: table.csv}}]\n"
                               "unknowns: {D: {}}\n";
    std::ofstream(fs::absolute(file).parent_path().string() + "/table.csv")
        << "time,x,value\n0.5,0.25," + hare + "\n1,0.25,3\n";
  }
  struct Group {
    int ranks;
    std::string words;
    std::string before = {}, program = test::program_file();  ///< options of mpirun and env; the program
  };
  /// @returns the exit code of groups of ranks, one after the other, of one run; 124: they waited for ever.
  static int run(const std::vector<Group>& groups) {
    std::string command;
    for (const Group& group : groups)
      command += (command.empty() ? "" : " : ") + ("-n " + std::to_string(group.ranks)) + " " + group.before + " " +
                 group.program + " " + group.words;
    return run_command(clean_environment + "timeout 60 mpirun --oversubscribe --bind-to none " + command +
                       " > output.txt 2>&1");
  }
  /// Every rank ends with exit code 2, and one says why.
  static void expect_refusal(const std::vector<Group>& groups, const std::string& message) {
    EXPECT_EQ(run(groups), 2) << contents("output.txt");
    const std::string output = contents("output.txt");
    EXPECT_NE(output.find(message), std::string::npos) << output;
    EXPECT_EQ(output.find("hindsight: "), output.rfind("hindsight: ")) << output;
    EXPECT_FALSE(fs::exists("runs")) << output;
  }
};

TEST_F(SameStart, OtherCases) {
  expect_refusal({{1, "gradient a.yaml"}, {1, "gradient b.yaml"}},
                 "rank 1 was started with 'gradient b.yaml', rank 0 with 'gradient a.yaml'");
  expect_refusal({{2, "gradient a.yaml"}, {1, "gradient gone.yaml"}},
                 "rank 2 was started with 'gradient gone.yaml', rank 0 with 'gradient a.yaml'");
}

TEST_F(SameStart, OtherVerbsAndOptions) {
  expect_refusal({{1, "gradient a.yaml"}, {1, "check a.yaml"}}, "rank 1 was started with 'check a.yaml'");
  expect_refusal({{1, "a.yaml"}, {2, "a.yaml --set \"parameters.D = 3\""}},
                 "rank 1 was started with 'a.yaml --set \"parameters.D = 3\"', rank 0 with 'a.yaml'");
  expect_refusal({{1, "info"}, {1, "info --jsn -"}}, "rank 1 was started with 'info --jsn -'");
}

TEST_F(SameStart, OtherFilesOfTheSameName) {
  for (const char* const folder : {"here", "there"}) write(std::string(folder) + "/c.yaml", "1e-3", "20");
  const std::string here = "-wdir " + here_ + "/here", there = "-wdir " + here_ + "/there";
  write("there/c.yaml", "2e-3", "20");
  expect_refusal({{1, "plan c.yaml", here}, {1, "plan c.yaml", there}},
                 "rank 1 reads another case from 'c.yaml' than rank 0: '  D: 2e-3' in place of '  D: 1e-3'");
  fs::remove("there/c.yaml");
  expect_refusal({{2, "plan c.yaml", here}, {1, "plan c.yaml", there}},
                 "cannot read 'c.yaml': No such file or directory (on rank 2)");
  expect_refusal({{1, "plan c.yaml", there}, {1, "plan c.yaml", here}}, "cannot read 'c.yaml'");
  std::ofstream("there/c.yaml") << "case: [";
  expect_refusal({{1, "plan c.yaml", here}, {1, "plan c.yaml", there}}, "c.yaml");
}

/// The same case, whose data were changed on one node's disk: a link stands for that.
TEST_F(SameStart, OtherDataOfTheSameName) {
  const auto seen_by = [&](const char* name, const char* value) {
    write(std::string(name) + "/a.yaml", "1e-3", value);
    return "unshare --mount sh -c 'mount --bind " + here_ + "/" + name + " " + here_ +
           "/seen && cd seen && exec \"$@\"' sh";
  };
  fs::create_directories("seen");
  const std::string first = seen_by("first", "20"), second = seen_by("second", "21");
  if (run_command(first + " true > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "folders cannot be covered here (it takes root)";
  EXPECT_EQ(run({{1, "plan a.yaml", first}, {1, "plan a.yaml", first}}), 0) << contents("output.txt");
  expect_refusal({{1, "plan a.yaml", first}, {1, "plan a.yaml", second}}, "rank 1 reads other numbers from '");
}

TEST_F(SameStart, OtherVariablesAndPrograms) {
  expect_refusal({{1, "gradient a.yaml"}, {1, "gradient a.yaml", "env HINDSIGHT_MARCH=x86-64-v3"}},
                 "HINDSIGHT_MARCH is 'x86-64-v3' on rank 1 and '' on rank 0");
  expect_refusal({{2, "gradient a.yaml", "env PETSC_OPTIONS=-a"}, {1, "gradient a.yaml"}},
                 "PETSC_OPTIONS is '' on rank 2 and '-a' on rank 0");
  fs::copy_file(test::program_file(), "other");
  std::ofstream("other", std::ios::app) << "x";
  expect_refusal({{1, "gradient a.yaml"}, {1, "gradient a.yaml", "", here_ + "/other"}}, "rank 1 is another program");
}

}  // namespace
}  // namespace hindsight

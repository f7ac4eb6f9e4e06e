// Command lines: what is wrong with them is said before anything runs, and what is printed has arrived or is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/error.hpp"
#include "src/launched_tasks.hpp"
#include "src/words.hpp"
#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;
using namespace test;

const std::string decay = R"yaml(
case: decay
parameters: {a: 0.5, b: 2}
state: {u: {initial: 1}}
equations: {dt(u): "-a*u"}
time: {step: 0.1, to: 1}
objective: [{final: "u^2"}]
unknowns: {a: {}, b: {}}
)yaml";

class CommandLine : public test::OwnFolder {
 protected:
  CommandLine() { std::ofstream("decay.yaml") << decay; }
  /// @returns the exit code. @param before words in front of the program, which may set variables.
  int run(const std::string& arguments, int ranks = 1, const std::string& before = "") {
    std::string command = command_line(arguments, ranks);
    command.insert(clean_environment.size(), before);
    return run_command(command + " > " + here_ + "/output.txt 2>&1");
  }
  std::string output() const { return contents(here_ + "/output.txt"); }
  void expect_refused(const std::string& arguments, const std::string& message) {
    EXPECT_EQ(run(arguments), 2) << arguments;
    EXPECT_NE(output().find(message), std::string::npos) << arguments << "\n" << output();
    EXPECT_FALSE(fs::exists("runs")) << arguments;
  }
};

TEST_F(CommandLine, PicturesAreSvg) {
  for (const char* verb : {"plan decay.yaml", "schedule revolve --steps 10"}) {
    expect_refused(std::string(verb) + " --picture p.png", "name a file that ends in .svg");
    EXPECT_FALSE(fs::exists("p.png"));
    EXPECT_EQ(run(std::string(verb) + " --picture p.svg"), 0) << output();
  }
}

/// As all errors are, once, on any number of ranks.
TEST_F(CommandLine, WhatCannotBeParsedIsSaidWithTheNearestName) {
  const std::map<std::string, std::string> messages{
      {"", "a verb or a case is needed: hindsight VERB ... or hindsight CASE ... (verbs: run, gradient, "},
      {"--quiet", "a verb or a case is needed"},
      {"--versio", "unknown option '--versio'; did you mean '--version'?; a verb or a case is needed"},
      {"run", "run: CASE is required (hindsight run --help tells what there is)"},
      {"run --quite decay.yaml", "run: unknown option '--quite'; did you mean '--quiet'?"},
      {"run decay.yaml other.yaml", "run: 'other.yaml' is one word too many"},
      {"run decay.yaml -q", "run: unknown option '-q' (hindsight"},
      {"decay.yaml --jsn file", "unknown option '--jsn'; did you mean '--json'? (hindsight --help"},
      {"run decay.yaml --backend cud", "run: --backend: cud not in {auto,host,cuda,emulated}"},
      {"schedule revolve", "schedule: --steps is required"},
      {"resume R --ranks 0", "resume: --ranks: '0' is no whole number above 0"},
  };
  for (const auto& [arguments, message] : messages) {
    expect_refused(arguments, "hindsight: " + message);
    EXPECT_EQ(output().find("Run with --help"), std::string::npos) << output();
    const std::string text = output();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
  EXPECT_EQ(run("run --quite decay.yaml", 2), 2);
  EXPECT_NE(output().find("hindsight: run: unknown option '--quite'"), std::string::npos) << output();
}

/// The run makes its folder, and what --json has written there is not the run's.
TEST_F(CommandLine, ResultsMayGoIntoAFolderThatTheRunMakes) {
  for (const char* arguments : {"run decay.yaml --out R --json R/x.json", "run decay.yaml --out S/ --json ./S/x.json",
                                "run decay.yaml --out R --json R/x.json"})
    EXPECT_EQ(run(arguments), 0) << arguments << "\n" << output();
  EXPECT_TRUE(fs::exists("R/x.json"));
  EXPECT_TRUE(fs::exists("S/x.json"));
  EXPECT_EQ(run("run decay.yaml --out R"), 2);
  EXPECT_NE(output().find("/R' holds files that are not a run's own: 'x.json'"), std::string::npos) << output();
  EXPECT_EQ(run("run decay.yaml --out T --json T/of/x.json"), 6);
  EXPECT_NE(output().find("cannot write 'T/of/x.json': No such file or directory"), std::string::npos) << output();
  EXPECT_FALSE(fs::exists("T"));
}

TEST_F(CommandLine, DurationsHaveAUnit) {
  expect_refused("run decay.yaml --stop-after 5", "--stop-after: '5' has no unit: write 5s, 5min or 5h");
  expect_refused("run decay.yaml --epoch 5", "--epoch: '5' has no unit: write 5s, 5min or 5h");
  expect_refused("run decay.yaml --stop-after 1h30", "'1h30' is no duration");
  expect_refused("resume nowhere --stop-after 5", "has no unit");
  EXPECT_EQ(run("run decay.yaml --stop-after 1h30min --epoch 30s"), 0) << output();
}

/// Of all verbs that print.
TEST_F(CommandLine, AFullStandardOutputExitsWith6) {
  ASSERT_EQ(run("run decay.yaml"), 0) << output();
  for (const char* arguments : {"run decay.yaml",
                                "run decay.yaml --json -",
                                "gradient decay.yaml",
                                "invert decay.yaml",
                                "check decay.yaml",
                                "status runs/decay/run",
                                "status runs/decay/run --json -",
                                "clean runs/decay/run",
                                "resume runs/decay/run",
                                "plan decay.yaml",
                                "plan decay.yaml --json -",
                                "explain decay.yaml",
                                "schedule revolve --steps 10",
                                "info",
                                "info --json -",
                                "schema",
                                "init ode",
                                "--help",
                                "schedule --help",
                                "--version"}) {
    EXPECT_EQ(run_command(command_line(arguments, 1) + " > /dev/full 2> " + here_ + "/output.txt"), 6)
        << arguments << "\n"
        << output();
    EXPECT_NE(output().find("cannot write to standard output"), std::string::npos) << arguments << "\n" << output();
  }
  EXPECT_TRUE(fs::exists("runs/decay/run/result.json"));  // the results themselves have arrived
}

TEST_F(CommandLine, AFullFileOfResultsExitsWith6) {
  ASSERT_EQ(run("run decay.yaml"), 0) << output();
  for (const char* arguments :
       {"run decay.yaml", "status runs/decay/run", "plan decay.yaml", "info", "schema", "schedule revolve --steps 10"})
    for (const int ranks : {1, 2}) {
      EXPECT_EQ(run(std::string(arguments) + " --json /dev/full", ranks), 6) << arguments << "\n" << output();
      EXPECT_NE(output().find("cannot write '/dev/full': No space left on device"), std::string::npos)
          << arguments << "\n"
          << output();
    }
}

TEST_F(CommandLine, AFullStandardErrorIsNoError) {
  EXPECT_EQ(run_command(command_line("run decay.yaml", 1) + " > output.txt 2> /dev/full"), 0);
  EXPECT_EQ(run_command(command_line("run nowhere.yaml", 1) + " > output.txt 2> /dev/full"), 2);
}

TEST_F(CommandLine, SettingsTakeWordsWithAnEqualsSignOnly) {
  for (const char* arguments :
       {"run --set time.step=1/64 decay.yaml", "run --set time.step=1/64 parameters.a=8/3 decay.yaml",
        "run decay.yaml --set time.step=1/64 parameters.a=1",
        "run --set time.step=1/64 --set parameters.a=1 decay.yaml", "run --set time.step=1/64 --quiet decay.yaml",
        "decay.yaml --set time.step=1/64"})
    EXPECT_EQ(run(std::string(arguments) + " --json out.json"), 0) << arguments << "\n" << output();
  EXPECT_EQ(nlohmann::json::parse(std::ifstream("out.json"))["steps"]["forward"], 64);
  EXPECT_EQ(run("gradient --set a=b decay.yaml"), 2);
  EXPECT_NE(output().find("--set a=b: unknown key 'a'"), std::string::npos) << output();
  using Words = std::vector<std::string>;
  EXPECT_EQ(with_each_setting_named({"run", "--set", "a=1", "b=2", "c.yaml", "d=3"}),
            (Words{"run", "--set", "a=1", "--set", "b=2", "c.yaml", "d=3"}));
  EXPECT_EQ(with_each_setting_named({"run", "--set", "a=1", "--json=x"}), (Words{"run", "--set", "a=1", "--json=x"}));
  EXPECT_EQ(with_each_setting_named({"run", "--set"}), (Words{"run", "--set"}));
}

TEST_F(CommandLine, VersionAndKindsAreTold) {
  ASSERT_EQ(run("--version"), 0);
  EXPECT_EQ(output().find("hindsight 0."), 0U) << output();
  EXPECT_NE(output().find("commit "), std::string::npos) << output();
  ASSERT_EQ(run("schedule --help"), 0);
  for (const char* kind : {"\n  revolve ", "\n  hrevolve ", "\n  store-all ", "\n  online "})
    EXPECT_NE(output().find(kind), std::string::npos) << output();
}

TEST_F(CommandLine, SchedulesTooLongToBeExecutedAreCounted) {
  const auto counts = [&](const std::string& words) {
    EXPECT_EQ(run("schedule revolve " + words + " --json counts.json"), 0) << output();
    return nlohmann::json::parse(std::ifstream("counts.json"));
  };
  const nlohmann::json few = counts("--steps 10000 --slots host=10"),
                       many = counts("--steps 1000000000000 --slots host=100");
  EXPECT_TRUE(few["executed"]);
  EXPECT_GT(few["writes"]["host"], 0);
  EXPECT_FALSE(many["executed"]);
  EXPECT_EQ(many["plain"], 8620091152461);
  EXPECT_EQ(many["reversed"], 1000000000000);
  EXPECT_TRUE(many["writes"]["host"].is_null());
  EXPECT_NE(output().find("were computed, not executed"), std::string::npos) << output();
  expect_refused("schedule online --steps 1000000000000 --slots host=10", "only executing it tells its counts");
  expect_refused("schedule multistage --steps 1000000000000 --slots host=4,disk=4", "would take minutes");
}

TEST_F(CommandLine, WordsThatAreNotUtf8AreRefused) {
  expect_refused("run decay.yaml --set $(printf 'description=caf\\351')", "word 4 of the command line is not UTF-8");
  fs::create_directories("caf\xe9");
  fs::current_path("caf\xe9");
  EXPECT_EQ(run("run ../decay.yaml"), 2);
  EXPECT_NE(output().find("the name of this folder is not UTF-8"), std::string::npos) << output();
}

TEST_F(CommandLine, WhatIsNoCaseIsRefused) {
  expect_refused("run .", "'.' is a folder, not a case");
  expect_refused("run /dev/zero", "'/dev/zero' is not a regular file");
  ASSERT_EQ(run_command("mkfifo pipe.yaml && truncate -s 1T huge.yaml"), 0);
  expect_refused("run pipe.yaml", "'pipe.yaml' is not a regular file");
  expect_refused("run huge.yaml", "'huge.yaml' has 1099511627776 bytes: a case has at most 4194304");
}

TEST_F(CommandLine, GridsLargerThanTheMemoryAreRefusedAtOnce) {
  std::ofstream("plate.yaml") << R"yaml(
case: plate
grid: {x: {cells: 1000000, to: 1}, y: {cells: 1000000, to: 1}}
state: {u: {initial: 1}}
equations: {dt(u): "lap(u)"}
time: {step: 0.1, to: 1}
)yaml";
  for (const int ranks : {1, 2}) {
    EXPECT_EQ(run("run plate.yaml", ranks), 6) << output();
    EXPECT_NE(output().find("the grid of 1000000 x 1000000 cells is too large: "), std::string::npos) << output();
    EXPECT_NE(output().find(ranks == 1 ? "it needs at least 65.48 TiB of memory (8 states of 7.276 TiB and 7.276 TiB of"
                                       : "each of 2 ranks needs at least 32.74 TiB of memory"),
              std::string::npos)
        << output();
  }
  EXPECT_EQ(run("run plate.yaml --set grid.x.cells=1e9 grid.y.cells=1e9"), 6) << output();
}

/// Told in the result, in the log and on standard error, once.
TEST_F(CommandLine, UnusedUnknownsAndShorterStepsAreWarnedOf) {
  const std::string unused = "the objective does not depend on b", shorter = "steps are 0.0833333 long";
  for (const char* verb : {"run", "gradient", "invert"})
    for (const int ranks : {1, 2}) {
      ASSERT_EQ(run(std::string(verb) + " decay.yaml --set output.every=0.25 --json out.json", ranks), 0) << output();
      const std::string text = output(), log = contents("runs/decay/" + std::string(verb) + "/log.jsonl");
      const nlohmann::json result = nlohmann::json::parse(std::ifstream("out.json"));
      for (const std::string& wanted : {unused, shorter}) {
        EXPECT_NE(text.find("warning: " + wanted), std::string::npos) << verb << "\n" << text;
        EXPECT_EQ(text.find(wanted, text.find(wanted) + 1), std::string::npos) << verb << "\n" << text;
        EXPECT_NE(log.find(wanted), std::string::npos) << verb << "\n" << log;
        EXPECT_NE(result["warnings"].dump().find(wanted), std::string::npos) << verb << "\n" << result;
      }
    }
  ASSERT_EQ(run("run decay.yaml --quiet"), 0);
  EXPECT_EQ(output(), "");
}

/// Processes of their own share what MPI keeps for all of them.
TEST_F(CommandLine, ProcessesBesideEachOtherAreQuiet) {
  const std::string one = command_line("run decay.yaml --quiet --out R", 1);
  for (int i = 0; i < 10; ++i) {
    run_command("(for k in 1 2 3; do " + one + "$k --overwrite & done; wait) > " + here_ + "/output.txt 2>&1");
    EXPECT_EQ(output(), "");
  }
  EXPECT_TRUE(fs::exists("R3/result.json"));
}

TEST_F(CommandLine, OneOfSeveralTasksThatIsAloneIsRefused) {
  EXPECT_EQ(run("run decay.yaml", 1, "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=2 "), 6);
  EXPECT_NE(output().find("srun --mpi=pmix -n 2 or mpirun -n 2"), std::string::npos) << output();
  EXPECT_FALSE(fs::exists("runs"));
  EXPECT_EQ(run("run decay.yaml", 1, "PMI_SIZE=2 "), 6);
  EXPECT_EQ(run("run decay.yaml", 1, "SLURM_NTASKS=8 SLURM_JOB_ID=7 "), 0) << output();  // in a job's script
  EXPECT_EQ(run("run decay.yaml", 2, "SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 "), 0) << output();
  for (const char* arguments : {"decay.yaml", "resume runs/decay/run", "plan decay.yaml", "explain decay.yaml"})
    EXPECT_EQ(run(arguments, 1, "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 "), 6) << arguments << "\n" << output();
}

/// What each task can say by itself.
TEST_F(CommandLine, VerbsThatReadNoCaseMayBeAlone) {
  ASSERT_EQ(run("run decay.yaml"), 0) << output();
  for (const char* arguments : {"info", "status runs/decay/run", "schedule revolve --steps 10", "schema", "init ode",
                                "--version", "--help", "run --help"})
    EXPECT_EQ(run(arguments, 1, "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 "), 0) << arguments << "\n" << output();
}

TEST(LaunchedTasks, AreWhatTheLauncherSays) {
  const auto tasks = [](std::map<std::string, std::string> variables) {
    return launched_tasks([variables](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    });
  };
  EXPECT_EQ(tasks({}), 1);
  EXPECT_EQ(tasks({{"OMPI_COMM_WORLD_SIZE", "4"}}), 4);
  EXPECT_EQ(tasks({{"PMI_SIZE", "3"}}), 3);
  EXPECT_EQ(tasks({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}), 2);
  EXPECT_EQ(tasks({{"SLURM_STEPID", "12"}, {"SLURM_NTASKS", "2"}}), 2);
  EXPECT_EQ(tasks({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "8"}}), 1);
  EXPECT_EQ(tasks({{"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "5"}, {"SLURM_PROCID", "0"}}), 1);  // a job's script
  EXPECT_EQ(tasks({{"SLURM_STEP_ID", "4294967291"}, {"SLURM_NTASKS", "8"}}), 1);               // the same
  EXPECT_EQ(tasks({{"SLURM_STEP_ID", "4294967290"}, {"SLURM_NTASKS", "8"}}), 1);               // an interactive one
  EXPECT_EQ(tasks({{"SLURM_ARRAY_TASK_ID", "3"}, {"SLURM_ARRAY_TASK_COUNT", "8"}, {"SLURM_NTASKS", "1"}}), 1);
  // mpirun -n 1, whose daemons on the nodes are tasks of a step.
  EXPECT_EQ(tasks({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}}), 1);
}

}  // namespace
}  // namespace hindsight

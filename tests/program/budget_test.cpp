// The budget holds for the whole program, as the operating system sees it: small states, many steps, tiers on disk.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

using namespace test;

constexpr double mib = 1 << 20;

class Budget : public test::OwnFolder {
 protected:
  /// @returns the exit code.
  int run(const std::string& arguments, int ranks = 1) {
    return run_command(command_line(arguments, ranks) + " > " + here_ + "/output.txt 2>&1");
  }
  std::string output() const { return contents(here_ + "/output.txt"); }
  static nlohmann::json memory(const std::string& folder) {
    return nlohmann::json::parse(std::ifstream(folder + "/result.json"))["memory"];
  }
  /// A gradient in a folder stays within what the case gives, and says so.
  void expect_held(const std::string& folder) {
    ASSERT_TRUE(fs::exists(folder + "/result.json")) << output();
    const nlohmann::json memory = this->memory(folder);
    const auto budget = memory["host"]["budget"].get<double>();
    EXPECT_LE(memory["host"]["peak"].get<double>(), budget);
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory, so that resident sizes grow
    EXPECT_LE(memory["resident"]["growth"].get<double>(), 1.05 * budget + 4 * mib) << memory.dump(2);
#endif
    EXPECT_FALSE(fs::exists(folder + "/scratch"));
  }
};

constexpr const char* decay = R"yaml(
case: decay
parameters: {a: 0.7}
state: {u: {initial: 1}}
equations: {dt(u): "-a*u"}
time: {method: rk4, step: 2e-6, to: 4}
objective: [{final: u}]
unknowns: {a: {}}
checkpoints: {host: 16 MB}
)yaml";

constexpr const char* oscillator = R"yaml(
case: oscillator
parameters: {mu: 1.5}
state: {u: {initial: 2}, v: {initial: 0}}
equations: {dt(u): "v", dt(v): "mu*(1 - u^2)*v - u"}
time: {method: rk4, step: 1e-5, to: 10}
objective: [{integral: "u^2"}]
unknowns: {mu: {}, initial(u): {}}
checkpoints: {host: 1 GiB}
)yaml";

/// A long gradient, for which codecs are tried that need more memory than the budget leaves.
constexpr const char* tight = R"yaml(
case: tight
grid:
  x: {cells: 37, from: 0, to: 1, boundary: {lower: {value: "0.3*t"}, upper: {slope: 0}}}
  y: {cells: 53, from: -1, to: 1, boundary: periodic}
parameters:
  a: 0.7
  kappa: {field: "0.01 + 0.005*sin(pi*y)*x"}
state:
  u: {initial: "x*(1-x)*cos(pi*y)"}
  v: {initial: "0.1 + 0.2*x"}
equations:
  dt(u): "div(kappa*grad(u)) + a*u*(1 - u) - v*dx(u)"
  dt(v): "0.002*lap(v) + u*v - v^2"
time: {method: rk4, step: 0.0001, to: 2}
objective: [{final: "(u - 0.2)^2 + v"}, {integral: "u*v"}]
unknowns: {a: {}, kappa: {}, initial(u): {}, initial(v): {}}
checkpoints: {host: 3 MiB, disk: 4 MiB}
)yaml";

TEST_F(Budget, HoldsForStatesOfAFewNumbers) {
  std::ofstream("decay.yaml") << decay;
  for (const char* host : {"16 MB", "1 MiB", "2 MiB"}) {
    SCOPED_TRACE(host);
    ASSERT_EQ(run(std::string("gradient decay.yaml --out run --set checkpoints.host='") + host + "'"), 0) << output();
    expect_held("run");
  }
}

/// Of one number each, with all that is kept about them.
TEST_F(Budget, IsMostlyForStates) {
  std::ofstream("decay.yaml") << decay;
  ASSERT_EQ(run("gradient decay.yaml --out run"), 0) << output();
  const nlohmann::json host = memory("run")["host"];
  EXPECT_LE(host["peak"].get<double>() / host["slots"].get<double>(), 60);
}

TEST_F(Budget, IsNotTakenWhereLessWillDo) {
  std::ofstream("oscillator.yaml") << oscillator;
  ASSERT_EQ(run("gradient oscillator.yaml --out run"), 0) << output();
  const nlohmann::json memory = this->memory("run");
  constexpr double steps = 1e6, state_and_record = 5 * 2 * 8, tables = 64;
  EXPECT_LE(memory["resident"]["growth"].get<double>(), steps * (state_and_record + tables) + 4 * mib)
      << memory.dump(2);
}

TEST_F(Budget, HoldsWhileCodecsAreTried) {
  std::ofstream("tight.yaml") << tight;
  ASSERT_EQ(run("gradient tight.yaml --out run"), 0) << output();
  expect_held("run");
}

/// Epochs log what layers took from waves by and by, not all of it each time.
TEST_F(Budget, HoldsWhileEpochsKeepWhatLayersTook) {
  std::ofstream("wave.yaml") << R"yaml(
case: wave
grid: {x: {cells: 200, to: 1, boundary: {value: 0}}, y: {cells: 200, to: 1, boundary: {value: 0}}, order: 4}
parameters: {c: {field: "1 + 0.2*y"}}
state: {u: {initial: "exp(-((x - 0.5)^2 + (y - 0.5)^2)/0.002)"}}
equations: {dtt(u): "c^2*lap(u)"}
absorb: {pml: 10}
time: {method: leapfrog, step: 0.002, to: 3}
objective: [{final: "u^2"}, {integral: "u^2"}]
unknowns: {c: {}}
checkpoints: {schedule: walk-back, accept: 1, host: 120 MiB}
)yaml";
  for (const char* const epoch : {"1h", "0.1s"}) {
    ASSERT_EQ(run(std::string("gradient wave.yaml --out run --overwrite --epoch ") + epoch), 0) << output();
    expect_held("run");
  }
}

TEST_F(Budget, RefusesInBytesAndLeavesNothing) {
  std::ofstream("tight.yaml") << tight;
  for (const char* less : {"checkpoints.host='1 MiB'", "checkpoints.schedule=store-all"}) {
    EXPECT_EQ(run(std::string("gradient tight.yaml --out run --set ") + less), 2) << output();
    EXPECT_FALSE(fs::exists("run/scratch")) << less;
  }
}

/// Slots are given as a number; a coded state of two numbers takes a page.
TEST_F(Budget, InSlotsHoldsCodedStates) {
  std::ofstream("oscillator.yaml") << oscillator;
  EXPECT_EQ(run("gradient oscillator.yaml --out run --set time.to=4e-4 --set "
                "checkpoints.host='{size: 7 slots, codec: zstd}'"),
            0)
      << output();
}

/// Its error is known after the first gradient only.
TEST_F(Budget, LeavesNothingWhereACodecIsRefused) {
  std::ofstream("tight.yaml") << tight;
  EXPECT_EQ(run("gradient tight.yaml --out run --set time.to=0.02 --set checkpoints.schedule=stride --set "
                "checkpoints.disk='{size: 4 MiB, codec: float32, accept: 1e-13}'"),
            2)
      << output();
  EXPECT_NE(output().find("is accepted"), std::string::npos) << output();
  EXPECT_FALSE(fs::exists("run/scratch"));
}

/// Of a run on two ranks on one, where its schedule no longer fits: not a fault of the program.
TEST_F(Budget, OfFewerRanksMayBeTooSmallForTheSchedule) {
  std::ofstream("tight.yaml") << tight;
  const std::string set = " --set checkpoints='{schedule: cams, host: 1200 KiB}' time.to=0.3";
  run("gradient tight.yaml --out run --epoch 0.03s --die-at 34" + set, 2);
  const int code = run("resume run --ranks 1");
  EXPECT_TRUE(code == 0 || code == 6) << code << output();
}

/// What took time for every step would never end.
TEST_F(Budget, IsPlannedForAnyNumberOfSteps) {
  std::ofstream("oscillator.yaml") << oscillator;
  EXPECT_EQ(run("plan oscillator.yaml --set time.step=1e-12 --set checkpoints.host='64 MiB'"), 0) << output();
}

}  // namespace
}  // namespace hindsight

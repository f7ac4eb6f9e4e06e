// starts: ranks
// Runs in single precision that are stopped or killed go on with the same bits, and groups of ranks have those of one.
#include <gtest/gtest.h>

#include <csignal>

#include "tests/program/resumed_run.hpp"

namespace hindsight {
namespace {

using namespace test;

class Float32 : public Resume {
 protected:
  static void write_singles(const std::string& more, const std::string& to) {
    write_case(more, to);
    write_text("case.yaml", "precision: float32" + contents("case.yaml"));
  }
};

TEST_F(Float32, KilledRunsGoOnWithTheSameBits) {
  write_singles("checkpoints: {host: 30 slots, disk: {size: 20 slots, codec: lz4}}\noutput: {every: 500}\n", "1500");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  EXPECT_EQ(json("whole/result.json")["precision"], "float32");
  ASSERT_TRUE(run_and_kill("gradient case.yaml --quiet --epoch 0.1s --out killed", "killed", 3)) << output();
  ASSERT_EQ(run("resume killed"), 0) << output();
  EXPECT_EQ(answer("killed"), answer("whole"));
  EXPECT_EQ(std::system("h5diff whole/fields.h5 killed/fields.h5 && h5diff whole/gradient.h5 killed/gradient.h5"), 0);
}

TEST_F(Float32, StoppedRunsGoOnOnOtherNumbersOfRanks) {
  write_singles("checkpoints: {host: 30 slots}\n", "1500");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  ASSERT_EQ(run_and_signal("gradient case.yaml --quiet --epoch 0.2s --out moved", 2, SIGUSR1, "moved", "done", 4000), 5)
      << output();
  ASSERT_EQ(run("resume moved --ranks 3", 3), 0) << output();
  EXPECT_EQ(answer("moved"), answer("whole"));
}

TEST_F(Float32, GroupsHaveTheSameBits) {
  write_singles("checkpoints: {host: 30 slots}\nshots: [{shot: a}, {shot: b, time.to: 20}, {shot: c, time.to: 10}]\n",
                "15");
  ASSERT_EQ(run("gradient case.yaml --out one"), 0) << output();
  ASSERT_EQ(run("gradient case.yaml --groups 2 --out two", 2), 0) << output();
  EXPECT_EQ(answer("two"), answer("one"));
}

TEST_F(Float32, WarnsOfStepsThatLoseDigits) {
  const std::string wave =
      "case: wave\nprecision: float32\ngrid: {x: {cells: 100, to: 1, boundary: {value: 0}}}\n"
      "state: {u: {initial: \"sin(9*x)\"}}\nequations: {dtt(u): \"lap(u)\"}\nobjective: [{final: \"u^2\"}]\n";
  write_text("wave.yaml", wave + "time: {method: leapfrog, step: 0.001, to: 0.1}\n");
  const std::string warning = "times shorter than the longest stable one";
  EXPECT_EQ(run("run wave.yaml --out brief"), 0);
  EXPECT_NE(output().find(warning), std::string::npos) << output();
  EXPECT_EQ(run("run wave.yaml --set time.step=0.005 --out long"), 0);
  EXPECT_EQ(output().find(warning), std::string::npos) << output();
}

TEST_F(Float32, OverflowEndsWithItsOwnCodeAndNamesFieldAndStep) {
  write_singles("", "1500");
  EXPECT_EQ(run("run case.yaml --set time.step=40 --out over"), 3);
  for (const char* const part : {"field 'u' is not finite after step ", "(t = "})
    EXPECT_NE(output().find(part), std::string::npos) << output();
  EXPECT_EQ(run("explain case.yaml"), 0) << output();
  EXPECT_NE(output().find("waves, rk4, float32"), std::string::npos) << output();
  EXPECT_EQ(run("plan case.yaml"), 0) << output();
  EXPECT_NE(output().find(" in float32, all of them "), std::string::npos) << output();
}

}  // namespace
}  // namespace hindsight

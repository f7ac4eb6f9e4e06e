// Waves that cannot be: each is refused before anything runs, with the place where it is said and what is allowed.
#include <filesystem>

#include "tests/program/observed_wave.hpp"

namespace hindsight {
namespace {

using namespace test;

class RefusedWaves : public ObservedWave {
 protected:
  /// @param begin of the message, its place.
  void expect_refused(const std::string& arguments, const std::string& begin, const std::string& part) {
    EXPECT_EQ(run("run wave.yaml --out refused " + arguments), 2) << output();
    EXPECT_NE(output().find(begin), std::string::npos) << output();
    EXPECT_NE(output().find(part), std::string::npos) << output();
    EXPECT_FALSE(std::filesystem::exists("refused"));
  }
};

TEST_F(RefusedWaves, AreToldWhereTheyAreWrong) {
  write_wave();
  ASSERT_EQ(run("observe wave.yaml --overwrite"), 0) << output();
  ASSERT_EQ(run("run wave.yaml --out fine"), 0) << output();
  write_text("receivers.csv", "x,y\n0.21,0.5\n1.2,0.52\n0.8,0.03\n");
  expect_refused("", "receivers.csv:3", "the observation's x lies outside the grid: 1.2 is not between 0 and 1");
  write_text("receivers.csv", "x,y\n0.21,0.5\n0.5,0.52\n");
  expect_refused("", "wave.yaml:11:", "left.h5', dataset 'values': it holds 18 x 3 numbers, and 18 x 2 are needed");
  write_text("receivers.csv", "x,y\n0.21,0.5\n0.5,0.52\n0.8,0.03\n");
  expect_refused("--set objective.0.misfit.every=0.1",
                 "wave.yaml:11:", "it holds 18 x 3 numbers, and 9 x 3 are needed");
  expect_refused("--set objective.0.misfit.filter.lowpass=10", "filter",
                 "10 is not below the Nyquist frequency 10 of observations that are 0.05 apart");
  expect_refused("--set objective.0.misfit.window.to=1", "window.to",
                 "lies outside the run: 1 is not between 0 and 0.85");
  expect_refused("--set objective.1.misfit.shape.box=1.5", "shape.box",
                 "larger than the grid allows: 1.5, and along x at most 1");
  expect_refused("--set 'parameters.q.series={times: [0, 0.5], values: [0, 1]}'", "wave.yaml:7:",
                 "the signal 'q' is shorter than the run: it goes from 0 to 0.5, and the run from 0 to 0.85");
  expect_refused("--set sources.0.at.y=1.5",
                 "wave.yaml:7:", "the source's y lies outside the grid: 1.5 is not between 0 and 1");
  expect_refused("--set 'shots=[{shot: left}, {shot: right, sources.0.at.x: 1.7}]'",
                 "shot 'right': ", "wave.yaml:7:34: the source's x lies outside the grid: 1.7 is not between 0 and 1");
  expect_refused("--set 'shots=[{shot: left, sources.0.at.x: 1.7}, {shot: right, sources.0.at.x: 0.7}]'",
                 "shot 'left': ", "the source's x lies outside the grid: 1.7 is not between 0 and 1");
  expect_refused("--set 'shots=[{shot: left, sources.0.at.x: 1.7}]'", "shot 'left': ", "1.7 is not between 0 and 1");
  expect_refused("--set 'shots=[{shot: left, sources.0.at.x: 1.7}, {shot: right, sources.0.at.x: 1.8}]'",
                 "shot 'left': ", "1.7 is not between 0 and 1");
  write_text("right.csv", "time,x,y,value,sd\n0.33,0.5,0.5,1,0.1\n0.91,0.61,0.2,1,0.2\n");
  expect_refused("", "right.csv:3", "lies outside the run (time.from to time.to): 0.91 is not between 0 and 0.85");
}

/// Shots without data, data without shots.
TEST_F(RefusedWaves, HaveShotsThatMatch) {
  write_wave("", "inversion: {stages: [{shots: [left, wright]}]}\n");
  EXPECT_EQ(run("run wave.yaml --out refused"), 2);
  EXPECT_NE(output().find("wave.yaml:9:"), std::string::npos) << output();
  EXPECT_NE(output().find("shot 'left': cannot read"), std::string::npos) << output();
  ASSERT_EQ(run("observe wave.yaml --overwrite --set inversion=null"), 0) << output();
  expect_refused("", "wave.yaml:14:", "did you mean 'right'");
}

/// Shots whose first step is unstable are excluded where that is asked for, whichever they are.
TEST_F(RefusedWaves, MayBeExcluded) {
  write_wave();
  ASSERT_EQ(run("observe wave.yaml --overwrite"), 0) << output();
  for (const char* const shots : {"{shot: left}, {shot: right, parameters.k: 9, sources.0.at.x: 0.7}",
                                  "{shot: left, parameters.k: 9}, {shot: right, sources.0.at.x: 0.7}"}) {
    ASSERT_EQ(
        run(std::string(
                "gradient wave.yaml --overwrite --out some --set parameters.k=1 'equations={dtt(u): \"k*c^2*lap(u)\"}' "
                "'shots={failing: exclude, table: [") +
            shots + "]}'"),
        0)
        << output();
    EXPECT_EQ(json("some/result.json")["excluded_shots"].size(), 1U);
    EXPECT_NE(output().find("is excluded: a step of 0.017 is unstable"), std::string::npos) << output();
  }
}

}  // namespace
}  // namespace hindsight

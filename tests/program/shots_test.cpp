// A case of several shots through the program: sums, one shot alone, results of each, kills and resumed runs.
// starts: ranks
#include <cmath>

#include "tests/places.hpp"
#include "tests/program/resumed_run.hpp"

namespace hindsight {
namespace {

using namespace test;

class Shots : public Resume {
 protected:
  /// Four shots: three that differ in values alone, one with more steps.
  static void write_shots() {
    write_text("case.yaml", R"yaml(
case: waves
grid: {x: {cells: 48, to: 1}, y: {cells: 32, to: 1}}
parameters: {D: 1e-4, g: 1, a: {field: "1 + 0.3*sin(2*pi*x)"}}
state: {u: {initial: "0.5 + 0.4*sin(2*pi*x)*cos(2*pi*y)"}}
equations: {dt(u): "D*lap(u) + g*a*u*(1 - u)*(u - 0.3)"}
time: {method: rk4, step: 0.1, to: 100}
objective: [{final: "u^2"}, {integral: "u^4"}, {penalty: "1e-3*a^2"}]
shots: shots.csv
unknowns: {D: {bounds: [1e-5, 1e-3]}, a: {bounds: [0.5, 1.5]}}
inversion: {iterations: 3}
checkpoints: {host: 20 slots}
)yaml");
    write_text("shots.csv", "shot,parameters.g,weight,time.to\nfirst,1,,\nsecond,0.5,2,\nlong,1,,150\nlast,0.2,,\n");
  }
  std::string cases() const { return std::string(test::source_folder()) + "/cases/"; }
};

TEST_F(Shots, OfBatchesGiveTheirRatesAndEnergies) {
  ASSERT_EQ(run("invert " + cases() + "arrhenius.yaml --out estimate"), 0) << output();
  const nlohmann::json result = json("estimate/result.json"), &estimate = result["estimate"];
  EXPECT_NEAR(estimate["k1"].get<double>(), 0.8, 0.02);
  EXPECT_NEAR(estimate["E1"].get<double>(), 60, 1.5);
  EXPECT_NEAR(estimate["k2"].get<double>(), 0.3, 0.01);
  EXPECT_NEAR(estimate["E2"].get<double>(), 85, 2.5);
  ASSERT_EQ(result["shots"].size(), 5U);
  double sum = 0.0;
  for (const auto& shot : result["shots"]) {
    sum += shot["objective"].get<double>();
    for (const auto& misfit : shot["misfit"]) EXPECT_LT(misfit["rms"].get<double>(), 0.02) << shot;
  }
  EXPECT_NEAR(sum, result["objective"].get<double>(), 1e-12 * sum);
  EXPECT_EQ(result["misfit"][0]["values"].get<int>(), 40);
  EXPECT_NE(output().find("hot "), std::string::npos) << output();
  EXPECT_EQ(run("check " + cases() + "arrhenius.yaml --out check"), 0) << output();
}

TEST_F(Shots, OneAloneIsARunOfItsOwn) {
  write_shots();
  ASSERT_EQ(run("gradient case.yaml --out all"), 0) << output();
  const nlohmann::json all = json("all/result.json");
  double sum = 0.0;
  for (const std::string shot : {"first", "second", "long", "last"}) {
    ASSERT_EQ(run("gradient case.yaml --shot " + shot + " --out " + shot), 0) << output();
    const nlohmann::json alone = json(shot + "/result.json");
    EXPECT_FALSE(alone.contains("shots"));
    sum += (shot == "second" ? 2 : 1) * alone["gradient"]["D"].get<double>();
  }
  EXPECT_NEAR(sum, all["gradient"]["D"].get<double>(), 1e-12 * std::fabs(sum));
  EXPECT_EQ(all["steps"]["forward"].get<int>(), 3 * 1000 + 1500);
  ASSERT_EQ(run("plan case.yaml --shot long"), 0);
  EXPECT_NE(output().find("1500 steps"), std::string::npos) << output();
  EXPECT_EQ(run("plan case.yaml"), 0);
  EXPECT_NE(output().find("4 shots, one after the other, of 2 kinds"), std::string::npos) << output();
  EXPECT_EQ(run("gradient case.yaml --shot frist"), 2);
  EXPECT_NE(output().find("did you mean 'first'"), std::string::npos) << output();
}

TEST_F(Shots, GoOnAfterKills) {
  write_shots();
  for (const std::string verb : {"gradient", "invert"}) {
    // A gradient that takes a while: it is to be there still when it is killed.
    const std::string begun =
        verb + " case.yaml" + (verb == "gradient" ? " --set grid.x.cells=144 grid.y.cells=96" : "");
    ASSERT_EQ(run(begun + " --out whole-" + verb), 0) << output();
    const std::string killed = "killed-" + verb, whole = "whole-" + verb;
    int code = run_and_kill(begun + " --epoch 0.02s --out " + killed, killed, 3) ? -1 : 0;
    ASSERT_EQ(code, -1) << output();
    for (int kills = 0; kills < 4 && run_and_kill("resume " + killed, killed, 3); ++kills) {
    }
    if (!std::filesystem::exists(killed + "/result.json")) {
      EXPECT_EQ(run("resume " + killed), 0) << output();
    }
    EXPECT_EQ(answer(killed), answer(whole));
    EXPECT_EQ(contents(killed + "/" + (verb == "invert" ? "estimate.h5" : "gradient.h5")),
              contents(whole + "/" + (verb == "invert" ? "estimate.h5" : "gradient.h5")));
  }
}

TEST_F(Shots, DoNotShowRanks) {
  write_shots();
  ASSERT_EQ(run("gradient case.yaml --out one"), 0) << output();
  ASSERT_EQ(run("gradient case.yaml --out two", 2), 0) << output();
  EXPECT_EQ(answer("two"), answer("one"));
}

}  // namespace
}  // namespace hindsight

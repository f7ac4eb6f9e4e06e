// Simulated beside observed values in results: misfits.h5, of one experiment and of shots, through ranks, groups,
// kills.
// starts: ranks
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "tests/program/observed_wave.hpp"

namespace hindsight {
namespace {

using namespace test;

class Misfits : public ObservedWave {
 protected:
  /// What is observed is another velocity's.
  void observe() { ASSERT_EQ(run("observe wave.yaml --set parameters.c=0.9 --overwrite"), 0) << output(); }
};

TEST_F(Misfits, StandBesideObservationsShotByShot) {
  write_wave();
  observe();
  ASSERT_EQ(run("run wave.yaml --out run"), 0) << output();
  EXPECT_EQ(numbers("run/misfits.h5", "/left/0/times").size(), 18U);
  EXPECT_EQ(numbers("run/misfits.h5", "/left/0/places"), (std::vector<double>{0.21, 0.5, 0.5, 0.52, 0.8, 0.03}));
  EXPECT_EQ(numbers("run/misfits.h5", "/left/0/noise"), (std::vector<double>(3, 0.01)));
  EXPECT_EQ(numbers("run/misfits.h5", "/left/1/noise"), (std::vector<double>{0.1, 0.2}));
  EXPECT_EQ(numbers("run/misfits.h5", "/left/1/times"), (std::vector<double>{0.33, 0.51}));
  const nlohmann::json result = json("run/result.json");
  for (const std::string shot : {"left", "right"}) {
    const std::string path = result["shots"][shot == "left" ? 0 : 1]["misfit"][0]["dataset"];
    ASSERT_EQ(path, "misfits.h5:/" + shot + "/0");
    const std::vector<double> observed = numbers("run/misfits.h5", "/" + shot + "/0/observed");
    const std::vector<double> simulated = numbers("run/misfits.h5", "/" + shot + "/0/simulated");
    EXPECT_EQ(observed, numbers(shot + ".h5", "values"));
    ASSERT_EQ(simulated.size(), 54U);
    double sum = 0.0;
    for (std::size_t i = 0; i < simulated.size(); ++i) sum += std::pow(simulated[i] - observed[i], 2);
    const double told = result["shots"][shot == "left" ? 0 : 1]["misfit"][0]["sum_of_squares"];
    EXPECT_GT(sum, 1e-6);
    EXPECT_NEAR(sum, told, 1e-12 * told);
  }
  ASSERT_EQ(run("gradient wave.yaml --shot right --out alone"), 0) << output();
  EXPECT_EQ(json("alone/result.json")["misfit"][1]["dataset"], "misfits.h5:/1");
  EXPECT_EQ(numbers("alone/misfits.h5", "/0/simulated"), numbers("run/misfits.h5", "/right/0/simulated"));
  ASSERT_EQ(run("run wave.yaml --out none --set \"objective=[{final: u}]\""), 0) << output();
  EXPECT_FALSE(std::filesystem::exists("none/misfits.h5"));
}

TEST_F(Misfits, AreTheSameBytesOnRanksAndInGroups) {
  write_wave();
  observe();
  ASSERT_EQ(run("gradient wave.yaml --out one"), 0) << output();
  for (const std::string how : {"--groups 1", "--groups 2"}) {
    ASSERT_EQ(run("gradient wave.yaml --out two " + how, 2), 0) << output();
    EXPECT_EQ(contents("two/misfits.h5"), contents("one/misfits.h5")) << how;
  }
  ASSERT_EQ(run("run wave.yaml --out run", 3), 0) << output();
  EXPECT_EQ(contents("run/misfits.h5"), contents("one/misfits.h5"));
}

/// Those of the estimate, also of a run that was killed and goes on.
TEST_F(Misfits, OfInversionsAreThoseOfTheEstimate) {
  write_wave("", "inversion: {iterations: 4}\n");
  observe();
  ASSERT_EQ(run("invert wave.yaml --out whole"), 0) << output();
  const double c = json("whole/result.json")["estimate"]["c"];
  ASSERT_EQ(run(fmt::format("run wave.yaml --out there --set parameters.c={:.17g}", c)), 0) << output();
  EXPECT_EQ(contents("whole/misfits.h5"), contents("there/misfits.h5"));
  if (run_and_kill("invert wave.yaml --epoch 0.001s --out killed", "killed", 3)) {
    ASSERT_EQ(run("resume killed"), 0) << output();
  }
  EXPECT_EQ(contents("killed/misfits.h5"), contents("whole/misfits.h5"));
}

}  // namespace
}  // namespace hindsight

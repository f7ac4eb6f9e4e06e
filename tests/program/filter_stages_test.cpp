// Stages of inversions that filter misfits, and that illumination preconditions: what counts when, the same bits
// through groups and kills, and what is refused.
// starts: ranks
#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "tests/program/observed_wave.hpp"

namespace hindsight {
namespace {

using namespace test;

class FilterStages : public ObservedWave {
 protected:
  static constexpr const char* stages =
      "inversion: {iterations: 2, stages: [{filter: {lowpass: 3, misfits: [0]}}, {filter: {bandpass: [1, 5], phase: "
      "zero, misfits: [0]}, shots: [left]}, {}]}\n";

  void observe() { ASSERT_EQ(run("observe wave.yaml --set parameters.c=0.9 --overwrite"), 0) << output(); }
  double objective(const std::string& arguments) {
    EXPECT_EQ(run("run wave.yaml --out there " + arguments), 0) << output();
    return json("there/result.json")["objective"].get<double>();
  }
  std::string refusal(const std::string& filter) {
    write_page("", "inversion: {stages: [{filter: " + filter + "}]}\n");
    EXPECT_EQ(run("invert wave.yaml --out refused"), 2) << output();
    EXPECT_NE(output().find("wave.yaml:14:"), std::string::npos) << output();
    return output();
  }
};

TEST_F(FilterStages, FilterMisfitsInTheirPlace) {
  write_wave("", stages);
  observe();
  ASSERT_EQ(run("invert wave.yaml --out run"), 0) << output();
  EXPECT_NE(output().find("c is unknown; lowpass 3, order 4 (misfit 0)"), std::string::npos) << output();
  const nlohmann::json all = json("run/result.json")["inversion"]["stages"];
  EXPECT_NEAR(all[0]["objective"]["first"].get<double>(), objective("--set objective.0.misfit.filter.lowpass=3"), 1e-9);
  const double estimate = json("run/result.json")["estimate"]["c"];
  EXPECT_EQ(objective(fmt::format("--set parameters.c={:.17g}", estimate)),
            json("run/result.json")["objective"].get<double>());
  EXPECT_NEAR(estimate, 0.9, 0.01);
  EXPECT_TRUE(numbers("run/misfits.h5", "/left/0/simulated_filtered").empty());
  ASSERT_EQ(run("run wave.yaml --out filtered --set objective.0.misfit.filter.lowpass=3"), 0) << output();
  EXPECT_EQ(numbers("filtered/misfits.h5", "/left/0/simulated_filtered").size(), 54U);
  EXPECT_EQ(numbers("filtered/misfits.h5", "/left/0/observed_filtered").size(), 54U);
  EXPECT_TRUE(numbers("filtered/misfits.h5", "/left/1/observed_filtered").empty());
}

TEST_F(FilterStages, HaveOneResultThroughGroupsAndKills) {
  write_wave("", stages);
  observe();
  ASSERT_EQ(run("invert wave.yaml --out whole"), 0) << output();
  ASSERT_EQ(run("invert wave.yaml --out groups --groups 2", 2), 0) << output();
  EXPECT_EQ(answer("groups"), answer("whole"));
  ASSERT_EQ(run("invert wave.yaml --out ranks", 2), 0) << output();
  EXPECT_EQ(answer("ranks"), answer("whole"));
  for (const int epochs : {2, 5, 9}) {
    const std::string folder = fmt::format("killed{}", epochs);
    if (run_and_kill("invert wave.yaml --epoch 0.001s --out " + folder, folder, epochs)) {
      ASSERT_EQ(run("resume " + folder), 0) << output();
    }
    EXPECT_EQ(answer(folder), answer("whole")) << epochs;
    EXPECT_EQ(contents(folder + "/misfits.h5"), contents("whole/misfits.h5"));
  }
}

TEST_F(FilterStages, AreRefusedWhereTheyCannotBe) {
  write_wave();
  observe();
  EXPECT_NE(refusal("{lowpass: 3}").find("filters need the same places at times"), std::string::npos) << output();
  EXPECT_NE(refusal("{lowpass: 11, misfits: [0]}")
                .find("11 is not below the Nyquist frequency 10 of observations that are 0.05 apart"),
            std::string::npos)
      << output();
  EXPECT_NE(refusal("{lowpass: 3, misfits: []}").find("misfits is empty; misfits: 0, 1"), std::string::npos)
      << output();
  EXPECT_NE(refusal("{lowpass: 3, misfits: [0, 0]}").find("names a misfit again"), std::string::npos) << output();
  EXPECT_NE(refusal("{lowpass: 3, misfits: [2]}").find("no misfit; misfits: 0, 1"), std::string::npos) << output();
}

/// An unknown field, whose optimiser is told how strongly waves shake its cells.
TEST_F(FilterStages, MayBePreconditioned) {
  write_wave("", "inversion: {iterations: 3, preconditioner: illumination, stages: [{}, {shots: [left]}]}\n");
  observe();
  const std::string field = "wave.yaml --set 'parameters.c={field: \"0.8 + 0*x\"}' ";
  ASSERT_EQ(run("invert " + field + "--out whole"), 0) << output();
  const nlohmann::json all = json("whole/result.json")["inversion"]["stages"];
  EXPECT_LT(all[0]["objective"]["last"].get<double>(), 0.7 * all[0]["objective"]["first"].get<double>());
  ASSERT_EQ(run("invert " + field + "--out groups --groups 2", 2), 0) << output();
  EXPECT_EQ(answer("groups"), answer("whole"));
  if (run_and_kill("invert " + field + "--epoch 0.001s --out killed", "killed", 4)) {
    ASSERT_EQ(run("resume killed"), 0) << output();
  }
  EXPECT_EQ(answer("killed"), answer("whole"));
  ASSERT_EQ(run("invert " + field + "--out without --set inversion.preconditioner=none"), 0) << output();
  EXPECT_NE(answer("without"), answer("whole"));
}

}  // namespace
}  // namespace hindsight

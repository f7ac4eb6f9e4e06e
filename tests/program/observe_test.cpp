// observe writes what misfits read: twin experiments of values in rows and of traces, of shots, with noise.
// starts: ranks
#include <cmath>

#include "tests/program/observed_wave.hpp"

namespace hindsight {
namespace {

using namespace test;

class Observe : public ObservedWave {
 protected:
  double objective(const std::string& arguments) {
    EXPECT_EQ(run("run wave.yaml --overwrite --out run " + arguments), 0) << output();
    return json("run/result.json")["objective"].get<double>();
  }
};

TEST_F(Observe, WritesWhatMisfitsRead) {
  write_wave();
  ASSERT_EQ(run("observe wave.yaml --set parameters.c=0.9 --overwrite"), 0) << output();
  EXPECT_NE(output().find("shot right: 56 values"), std::string::npos) << output();
  EXPECT_LT(objective("--set parameters.c=0.9"), 1e-20);
  EXPECT_GT(objective(""), 1e-3);
  ASSERT_EQ(run("observe wave.yaml --overwrite --set parameters.c=0.9 --noise 0.01 --seed 4", 2), 0) << output();
  EXPECT_NEAR(objective("--set parameters.c=0.9"), 54, 35);  // half the number of traces' values, about
  const std::string once = contents("left.csv");
  ASSERT_EQ(run("observe wave.yaml --overwrite --set parameters.c=0.9 --noise 0.01 --seed 4"), 0) << output();
  EXPECT_EQ(contents("left.csv"), once);
  ASSERT_EQ(run("observe wave.yaml --overwrite --set parameters.c=0.9 --noise 0.01 --seed 5"), 0) << output();
  EXPECT_NE(contents("left.csv"), once);
}

TEST_F(Observe, SaysWhatItCannotDo) {
  write_wave();
  EXPECT_EQ(run("run wave.yaml --out run"), 2);
  EXPECT_NE(output().find("left.h5"), std::string::npos) << output();
  EXPECT_EQ(run("observe wave.yaml"), 2);
  EXPECT_NE(output().find("left.csv' is there already; --overwrite gives it up"), std::string::npos) << output();
  EXPECT_EQ(run("observe wave.yaml --overwrite --set objective.0.misfit.data=same.h5"), 2);
  EXPECT_NE(output().find("two misfits have the same table"), std::string::npos) << output();
  ASSERT_EQ(run("observe wave.yaml --overwrite"), 0) << output();
  EXPECT_EQ(run("run wave.yaml --out run --set objective.0.misfit.every=0.1"), 2);
  EXPECT_NE(output().find("it holds 18 x 3 numbers, and 9 x 3 are needed"), std::string::npos) << output();
  EXPECT_EQ(run("observe wave.yaml --overwrite --set \"objective=[{final: u}]\""), 2);
  EXPECT_NE(output().find("nothing to observe"), std::string::npos) << output();
}

}  // namespace
}  // namespace hindsight

// The largest of the shipped inversions: the conductivity of a plate, a field, from noisy sensors.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

class Conductivity : public test::OwnFolder {};

TEST_F(Conductivity, ReachesTheNoise) {
  const std::string source = HINDSIGHT_SOURCE_DIR;
  ASSERT_EQ(test::run_command(test::command_line(source + "/cases/heat-conductivity.yaml --out heat", 1) +
                              " > output.txt 2>&1"),
            0)
      << test::contents("output.txt");
  const nlohmann::json misfit = nlohmann::json::parse(std::ifstream("heat/result.json"))["misfit"][0];
  EXPECT_NEAR(misfit["rms"].get<double>() / misfit["noise"].get<double>(), 1.0, 0.05);
  if (test::run_command("/usr/bin/python3 -c 'import h5py, matplotlib, yaml' 2> /dev/null") != 0)
    GTEST_SKIP() << "no h5py";
  ASSERT_EQ(test::run_command(source + "/scripts/plot-conductivity heat heat/k.png > factor.txt"), 0);
  const std::string line = test::contents("factor.txt");
  EXPECT_GE(std::stod(line.substr(line.find(':') + 1)), 3.0) << line;
}

}  // namespace
}  // namespace hindsight

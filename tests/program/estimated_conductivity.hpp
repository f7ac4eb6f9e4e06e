// The largest of the shipped inversions: the conductivity of a plate, a field, from noisy sensors.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/places.hpp"
#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight::test {

/// Asserts that the readings are met to their noise, and that the estimate is at least three times nearer to the truth
/// than the start. @param set overrides of the case, on the command line.
inline void expect_conductivity_found(const std::string& set) {
  const std::string source = test::source_folder();
  ASSERT_EQ(
      run_command(command_line(source + "/cases/heat-conductivity.yaml --out heat " + set, 1) + " > output.txt 2>&1"),
      0)
      << contents("output.txt");
  const nlohmann::json misfit = nlohmann::json::parse(std::ifstream("heat/result.json"))["misfit"][0];
  EXPECT_NEAR(misfit["rms"].get<double>() / misfit["noise"].get<double>(), 1.0, 0.05);
  if (run_command("/usr/bin/python3 -c 'import h5py, matplotlib, yaml' 2> /dev/null") != 0) GTEST_SKIP() << "no h5py";
  ASSERT_EQ(run_command(source + "/scripts/plot-conductivity heat heat/k.png > factor.txt"), 0);
  const std::string line = contents("factor.txt");
  EXPECT_GE(std::stod(line.substr(line.find(':') + 1)), 3.0) << line;
}

}  // namespace hindsight::test

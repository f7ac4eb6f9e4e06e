// The shipped inversions of PDEs that are taken implicitly or have constraints: readings are met to their noise, and
// what was unknown is found.
// label: long
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/places.hpp"
#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

using namespace test;

class ImplicitCases : public OwnFolder {
 protected:
  /// Its result, once all misfits are near their noise.
  static nlohmann::json inverted(const std::string& name, double within = 0.07) {
    const std::string source = test::source_folder();
    EXPECT_EQ(run_command(command_line(source + "/cases/" + name + ".yaml --out run", 1) + " > output.txt 2>&1"), 0)
        << contents("output.txt");
    const nlohmann::json found = nlohmann::json::parse(std::ifstream("run/result.json"));
    for (const nlohmann::json& misfit : found["misfit"])
      EXPECT_NEAR(misfit["rms"].get<double>() / misfit["noise"].get<double>(), 1.0, within) << name;
    return found;
  }

  /// Whether a field of the estimate is nearer to the truth (an expression of numpy in x and y) than this part of it.
  static void expect_field(const std::string& field, const std::string& truth, double part) {
    if (run_command("/usr/bin/python3 -c 'import h5py' 2> /dev/null") != 0) GTEST_SKIP() << "no h5py";
    std::ofstream("compare.py") << "import h5py, numpy as np\n"
                                   "run = h5py.File('run/estimate.h5')\n"
                                   "x, y = np.meshgrid(run['x'][...], run['y'][...])\n"
                                   "exp, cos, log = np.exp, np.cos, np.log\n"
                                   "found = run['"
                                << field << "'][...]\ntruth = " << truth
                                << "\napart = np.sqrt(np.mean((found - truth)**2)/np.mean((truth - truth.mean())**2))\n"
                                   "print(apart)\n";
    ASSERT_EQ(run_command("/usr/bin/python3 compare.py > apart.txt"), 0);
    EXPECT_LE(std::stod(contents("apart.txt")), part);
  }
};

TEST_F(ImplicitCases, PhasesSeparateAtTheRatesOfTheTwin) {
  const nlohmann::json found = inverted("allen-cahn")["estimate"];
  EXPECT_NEAR(found["rate"].get<double>(), 1.0, 0.03);
  EXPECT_NEAR(found["kappa"].get<double>(), 6e-4, 0.03 * 6e-4);
}

TEST_F(ImplicitCases, AChaoticFrontIsFollowed) {
  inverted("kuramoto-sivashinsky");
}

TEST_F(ImplicitCases, VorticesAreFoundFromVelocities) {
  inverted("navier-stokes-2d", 0.15);  // a thousand numbers follow from as many readings
  expect_field("w0",
               "4*sum(s*exp((cos(x - a) + cos(y - b) - 2)/0.2) for a, b, s in ((2, 2.6, 1), (4, 3.4, 1), (3.4, 5.2, "
               "-1), (5.4, 1.2, -1)))",
               0.1);
}

TEST_F(ImplicitCases, PermeabilityIsFoundFromWells) {
  inverted("porous-flow");
  expect_field("k",
               "exp(sum(c*exp(-((x - a)**2 + (y - b)**2)/0.045) for a, b, c in ((0.3, 0.7, 1.2), (0.55, 0.3, -1.4), "
               "(0.8, 0.75, 0.9))))",
               0.15);
}

TEST_F(ImplicitCases, ImplicitStepsFindTheConductivity) {
  inverted("heat-conductivity-implicit", 0.05);
}

}  // namespace
}  // namespace hindsight

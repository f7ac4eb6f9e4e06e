// starts: ranks
// The cases of waves as they ship: what is observed of the truth leads an inversion to it, and gradients are right.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/places.hpp"
#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

using namespace hindsight::test;

class Waves : public test::OwnFolder {
 protected:
  int run(const std::string& arguments, int ranks = 1) const {
    const int code = run_command(command_line(arguments, ranks) + " > output.txt 2>&1");
    if (code != 0) ADD_FAILURE() << arguments << ": " << contents("output.txt");
    return code;
  }
  static std::string shipped(const std::string& name) {
    return std::string(test::source_folder()) + "/cases/" + name + ".yaml";
  }
};

/// Of the objective of four updates; the tutorial of Devito with the same survey comes to a tenth.
TEST_F(Waves, TheDiscIsFound) {
  const std::string own = " --set 'objective.0.misfit.data=" + here_ + "/{shot}.h5'";
  ASSERT_EQ(run("observe " + shipped("wave-2d") + own + " 'parameters.c.field=2.5 + 0.5*disc(x, y)'"), 0);
  ASSERT_EQ(run("invert " + shipped("wave-2d") + own + " inversion.iterations=4 --out found"), 0);
  std::ifstream file("found/convergence.csv");
  std::vector<double> objectives;
  for (std::string line; std::getline(file, line);)
    if (std::isdigit(line[0]) != 0) objectives.push_back(std::stod(line.substr(line.find(',') + 1)));
  ASSERT_EQ(objectives.size(), 5U);
  std::printf("objective: %g, after four updates %g\n", objectives.front(), objectives.back());
  EXPECT_LT(objectives.back(), 0.05 * objectives.front());
}

/// One shot, for a part of its time.
TEST_F(Waves, MarmousiHasTheSameGradientOnTwoRanks) {
  const std::string own =
      " --shot s03 --set 'objective.0.misfit.data=" + here_ + "/{shot}.h5' time.to=0.6 'unknowns.s.bounds=[0.2, 0.7]'";
  ASSERT_EQ(run("observe " + shipped("marmousi") + own + " parameters.s.dataset=true"), 0);
  ASSERT_EQ(run("gradient " + shipped("marmousi") + own + " --out one"), 0);
  ASSERT_EQ(run("gradient " + shipped("marmousi") + own + " checkpoints.host='8 slots' --out two", 2), 0);
  const auto one = nlohmann::json::parse(std::ifstream("one/result.json")),
             two = nlohmann::json::parse(std::ifstream("two/result.json"));
  EXPECT_GT(one["objective"].get<double>(), 0.0);
  EXPECT_EQ(one["objective"], two["objective"]);
  EXPECT_EQ(one["gradient"]["s"]["norm"], two["gradient"]["s"]["norm"]);
  EXPECT_EQ(run("check " + shipped("marmousi") + own), 0);
}

}  // namespace
}  // namespace hindsight

// The search for a tolerance, with errors that are made up: proportional to the tolerance, and a floor.
#include "adjoint/gradients/tolerance_search.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hindsight {
namespace {

/// @returns the best tolerance; 0 when none was good.
double found(ToleranceSearch search, double floor, double slope, int& attempts) {
  double best = 0.0;
  attempts = 0;
  while (const auto tolerance = search.attempt()) {
    ++attempts;
    if (search.saw(floor + slope * *tolerance, true)) best = *tolerance;
  }
  return best;
}

TEST(ToleranceSearch, AimsAtTwoFifthsOfWhatIsLeft) {
  int attempts = 0;
  // 1e-7 gives 1e-9, too little of 1e-5; 1e-7 * min(64, 4e-6/1e-9) = 6.4e-6 gives 6.4e-8; then 4e-4 gives 4e-6.
  EXPECT_NEAR(found({1e-5, 0.0, 1e-7}, 0.0, 1e-2, attempts), 4e-4, 1e-16);
  EXPECT_EQ(attempts, 3);
  // 2e-6 of 1e-5 are others': 0.4 * 8e-6 is left to this one.
  EXPECT_NEAR(found({1e-5, 2e-6, 1e-3}, 2e-6, 1.0, attempts), 3.2e-6, 1e-18);
}

TEST(ToleranceSearch, AnErrorFromThePartThatIsEnoughOnIsKept) {
  int attempts = 0;
  EXPECT_EQ(found({1.0, 0.0, 0.16}, 0.0, 1.0, attempts), 0.16);
  EXPECT_EQ(attempts, 1);
  EXPECT_NEAR(found({1.0, 0.0, 0.14}, 0.0, 1.0, attempts), 0.25, 0.0) << "0.4, but for the coarsest tolerance";
  EXPECT_EQ(attempts, 2);
}

TEST(ToleranceSearch, EndsWhereNothingIsGained) {
  ToleranceSearch unused(1e-5, 0.0, 1e-7);
  EXPECT_TRUE(unused.saw(0.0, false)) << "no state was coded";
  EXPECT_FALSE(unused.attempt());
  ToleranceSearch coarsest(1.0, 0.0, 0.25);
  EXPECT_TRUE(coarsest.saw(1e-9, true));
  EXPECT_FALSE(coarsest.attempt()) << "there is none above";
}

TEST(ToleranceSearch, GivesUpAfterEightAttempts) {
  ToleranceSearch search(1e-5, 0.0, 0.1);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(search.attempt());
    EXPECT_FALSE(search.saw(std::numeric_limits<double>::infinity(), true));
  }
  EXPECT_FALSE(search.attempt());
}

TEST(ToleranceSearch, TheFirstAttemptIsNotForeseen) {
  ToleranceSearch search(1e-5, 2e-6, 1e-3);
  EXPECT_FALSE(search.predicted());
  search.saw(1e-3, true);
  EXPECT_DOUBLE_EQ(*search.predicted(), 2e-6 + 0.4 * 8e-6);
}

}  // namespace
}  // namespace hindsight

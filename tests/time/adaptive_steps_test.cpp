// Steps that errors decide, by a trial whose error is a formula; and steps of a table.
#include "solvers/time/adaptive_steps.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "runtime/error.hpp"
#include "solvers/time/table_steps.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// A step of the right length at its time has an error of just what is allowed, one of another length accordingly.
class Formula final : public StepTrial {
 public:
  explicit Formula(std::function<double(double)> right_length) : right_length_(std::move(right_length)) {}
  double error(StepTime step) override {
    ++trials;
    return std::pow(step.h / std::min(right_length_(step.t), right_length_(step.t + step.h)), order());
  }
  int order() const override { return 4; }
  int trials = 0;

 private:
  std::function<double(double)> right_length_;
};

/// @returns the number of steps.
std::int64_t walk(TimeLine& line, StepTrial& trial, std::int64_t from = 0) {
  static const Grid grid({}, test::self(), {0, 0, 0});
  double value = 0.0;
  std::int64_t k = from;
  for (line.reach(k, {grid, &value, &trial}); k != line.steps(); line.reach(k, {grid, &value, &trial})) ++k;
  return k;
}

TEST(AdaptiveSteps, AreAsLongAsTheirErrorsAllowAndLandExactly) {
  Formula trial([](double t) { return 0.01 + 0.1 * t; });
  TimeLine line({0.0, 10.0, 1e-6, {2.5, 7.125}}, adaptive_steps({}));
  const std::int64_t n = walk(line, trial);
  EXPECT_EQ(line.time(n), 10.0);
  EXPECT_TRUE(line.moment(n).is_last);
  int landed = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const Moment moment = line.moment(k);
    landed += moment.landing > 0 ? 1 : 0;
    EXPECT_LE(moment.after, (0.01 + 0.1 * moment.t) * (1 + 1e-12)) << k;
    // Once they have grown, and where they need not land.
    if (moment.t > 0.1 && std::fabs(moment.t - 2.5) > 0.6 && std::fabs(moment.t - 7.125) > 1.6 && moment.t < 8) {
      EXPECT_GE(moment.after, 0.6 * (0.01 + 0.1 * moment.t)) << k;
    }
  }
  EXPECT_EQ(landed, 2);
  EXPECT_EQ(line.moment(0).landing, 0);
  // Integral of dt/(0.01 + 0.1 t) is 46 steps at best; the first ones grow from 1e-6.
  EXPECT_LT(n, 75);
  EXPECT_EQ(trial.trials, n + line.rejected());
  EXPECT_LT(line.rejected(), 3);
}

TEST(AdaptiveSteps, GoOnAfterALandingAsBefore) {
  Formula trial([](double) { return 0.25; });
  TimeLine line({0.0, 4.0, 0.2, {1.001}}, adaptive_steps({}));
  const std::int64_t n = walk(line, trial);
  for (std::int64_t k = 0; k < n; ++k)
    if (line.moment(k).landing == 1) {
      EXPECT_GT(line.moment(k).after, 0.19);
    }
}

TEST(AdaptiveSteps, ShrinkWhereTheProblemBecomesHard) {
  Formula trial([](double t) { return t < 1 ? 0.5 : 1e-3; });
  TimeLine line({0.0, 1.1, 0.1, {}}, adaptive_steps({}));
  const std::int64_t n = walk(line, trial);
  EXPECT_GT(line.rejected(), 0);
  EXPECT_GT(n, 100);
  EXPECT_LT(n, 140);
}

TEST(AdaptiveSteps, KeepTheirBounds) {
  Formula trial([](double) { return 10.0; });
  TimeLine line({0.0, 4.0, 0.1, {}}, adaptive_steps({.most = 0.125}));
  walk(line, trial);
  EXPECT_NEAR(line.longest().step, 0.125, 1e-15);
  Formula hard([](double) { return 1e-4; });
  TimeLine bounded({0.0, 4.0, 0.1, {}}, adaptive_steps({.least = 1e-3}));
  try {
    walk(bounded, hard);
    FAIL();
  } catch (const NumericsError& error) {
    EXPECT_NE(std::string(error.what()).find("step 0 at t = 0 cannot be made short enough"), std::string::npos)
        << error.what();
  }
}

TEST(AdaptiveSteps, FailWhereNoLengthWillDo) {
  for (const double ratio : {std::nan(""), HUGE_VAL, 2.0}) {
    class Never final : public StepTrial {
     public:
      explicit Never(double value) : value_(value) {}
      double error(StepTime step) override { return step.t + step.h < 0.5 ? 0.01 : value_; }
      int order() const override { return 3; }

     private:
      double value_;
    } trial(ratio);
    TimeLine line({0.0, 1.0, 0.1, {}}, adaptive_steps({}));
    EXPECT_THROW(walk(line, trial), NumericsError);
  }
  Formula trial([](double) { return 1e-3; });
  TimeLine line({0.0, 1.0, 1e-3, {}}, adaptive_steps({.at_most = 100}));
  try {
    walk(line, trial);
    FAIL();
  } catch (const NumericsError& error) {
    EXPECT_NE(std::string(error.what()).find("100 steps (time.at most)"), std::string::npos) << error.what();
  }
}

TEST(TableSteps, AreThoseOfTheTableAndOfLandings) {
  const TimeLine line({1.0, 4.0, 3.0, {2.5, 3.0}}, table_steps({.times = {0.5, 1.0, 2.0, 3.0, 3.25, 9.0}}));
  EXPECT_TRUE(line.is_known());
  std::vector<double> times;
  for (std::int64_t k = 0; k <= line.steps(); ++k) times.push_back(line.time(k));
  EXPECT_EQ(times, (std::vector<double>{1.0, 2.0, 2.5, 3.0, 3.25, 4.0}));
}

}  // namespace
}  // namespace hindsight

// How far an evaluation is, and how that is said: by steps that are known, by the time that is reached where they are
// not, and without a guess where a condition ends the run.
#include "io/results/sweep_position.hpp"

#include <gtest/gtest.h>

#include "io/results/progress.hpp"
#include "solvers/time/fixed_steps.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// Steps of 1, decided one by one, of which a hundred thousand are allowed.
class OneByOne final : public StepSource {
 public:
  std::int64_t most_steps(const TimeLine&) const override { return 100000; }
  bool knows_all() const override { return false; }
  void begin(TimeLine&) override {}
  void decide(TimeLine& line, std::int64_t k, const ReachedState&) override {
    line.time(k) == line.landings().back() ? line.end_at(k) : line.record(1, line.time(k) + 1.0);
  }
};

void reach(TimeLine& line, std::int64_t from, std::int64_t to) {
  const Grid grid({}, test::self(), {0, 0, 0});
  double value = 0.0;
  for (std::int64_t k = from; k <= to; ++k) line.reach(k, {grid, &value});
}

TEST(SweepPositions, CountStepsThatAreKnown) {
  const TimeLine line({0.0, 10.0, 1.0, {}}, fixed_steps());
  const SweepPosition position = position_of(line, {.reverses = true, .planned = 40}, 8, 2);
  EXPECT_EQ(position.done, 10);
  EXPECT_EQ(position.total, 40);
  EXPECT_EQ(position.part, 0.25);
  EXPECT_EQ(progress_line("gradient", position, 2.0), "gradient  10/40 steps  25 %  5 steps/s  ETA 6 s");
  EXPECT_EQ(progress_line("gradient", position_of(line, {.planned = 40}, 0, 0), 2.0),
            "gradient  0/40 steps  0 %  0 steps/s");
}

/// Not of the most steps that are allowed.
TEST(SweepPositions, AreThePartOfTheTimeWhereErrorsDecideTheSteps) {
  TimeLine line({2.0, 12.0, 1.0, {}}, std::make_unique<OneByOne>());
  reach(line, 0, 4);
  const SweepPosition forward = position_of(line, {.planned = 100000}, 4, 0);
  EXPECT_EQ(forward.total, 0);
  EXPECT_EQ(forward.part, 0.4);
  EXPECT_EQ(progress_line("forward", forward, 2.0), "forward  t = 6 of 12  4 steps  40 %  2 steps/s  ETA 3 s");
  const SweepExtent gradient{.reverses = true, .planned = 300000};
  EXPECT_EQ(position_of(line, gradient, 4, 0).part, 0.2);
}

TEST(SweepPositions, CountTheStepsThatThereWereOnTheWayBack) {
  TimeLine line({2.0, 12.0, 1.0, {}}, std::make_unique<OneByOne>());
  reach(line, 0, 10);
  const SweepExtent gradient{.reverses = true, .planned = 300000};
  EXPECT_EQ(position_of(line, gradient, 10, 0).part, 0.5);
  const SweepPosition back = position_of(line, gradient, 14, 6);  // four steps came again
  EXPECT_EQ(back.part, 0.8);
  EXPECT_EQ(progress_line("gradient", back, 8.0), "gradient  20/24 steps  80 %  2.5 steps/s  ETA 2 s");
  EXPECT_EQ(position_of(line, gradient, 25, 10).part, 1.0);
  EXPECT_EQ(position_of(line, {}, 5, 0).part, 0.5) << "the steps of the run before, walked again";
}

/// Its latest end is far off: no part and no ETA until the end is there.
TEST(SweepPositions, GuessNothingWhereAConditionEndsTheRun) {
  TimeLine line({0.0, 1000.0, 1.0, {}}, fixed_steps());
  const SweepExtent gradient{.has_condition = true, .reverses = true, .planned = 3000};
  const SweepPosition forward = position_of(line, gradient, 5, 0);
  EXPECT_FALSE(forward.part.has_value());
  EXPECT_EQ(seconds_to_go(forward, 1.0), std::nullopt);
  EXPECT_EQ(progress_line("gradient", forward, 1.0), "gradient  t = 5 of 1000 at the latest  5 steps  5 steps/s");
  line.end_at(8);
  EXPECT_EQ(position_of(line, gradient, 8, 2).part, 0.625);
  EXPECT_EQ(position_of(line, gradient, 8, 2).total, 16);
}

}  // namespace
}  // namespace hindsight

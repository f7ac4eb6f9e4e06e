// Steps that are recorded: known in advance, or decided by states and replayed.
#include "solvers/time/time_line.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/error.hpp"
#include "solvers/time/adaptive_steps.hpp"
#include "solvers/time/fixed_steps.hpp"
#include "solvers/time/step_sources.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

TimeLine fixed(const TimeSpan& span) {
  return {span, fixed_steps()};
}

/// Steps of 1, 1/2, 1/4, ... of what is left, or to the next landing time, as the state's number says.
class Halving final : public StepSource {
 public:
  std::int64_t most_steps(const TimeLine&) const override { return 100; }
  bool knows_all() const override { return false; }
  void begin(TimeLine&) override {}
  void decide(TimeLine& line, std::int64_t k, const ReachedState& state) override {
    const double t = line.time(k), end = line.landings().back();
    if (t == end) return line.end_at(k);
    double to = t + line.asked_step() * std::pow(0.5, state.state[0]);
    for (const double landing : line.landings())
      if (landing > t && landing <= to) {
        to = landing;
        break;
      }
    line.record(1, to);
    ++decided;
  }
  int decided = 0;
};

TEST(TimeLine, DividesStretchesEvenlyAndLandsExactly) {
  const TimeLine line = fixed({0.0, 1.0, 0.3, {0.5, 0.5 + 1e-12, 2.0, -1.0}});
  EXPECT_TRUE(line.is_known());
  EXPECT_EQ(line.steps(), 4);
  ASSERT_EQ(line.landings().size(), 3U);
  EXPECT_EQ(line.time(2), 0.5);
  EXPECT_EQ(line.time(4), 1.0);
  EXPECT_EQ(line.step(1).h, 0.25);
  EXPECT_EQ(line.landing_at(0), 0);
  EXPECT_EQ(line.landing_at(1), -1);
  EXPECT_EQ(line.landing_at(2), 1);
  EXPECT_EQ(line.landing_at(4), 2);
  EXPECT_EQ(line.landing_of(0.5 + 1e-12), 1);
  EXPECT_THROW(static_cast<void>(line.landing_of(0.25)), Error);
}

TEST(TimeLine, TimesFarFromTheEndOfALongRunAreTold) {
  for (const char* const source : {"adaptive", "table"}) {
    const TimeLine line({0.0, 1e11, 1e-3, {0.15, 0.04, 0.45, 5.0, 0.45 * (1 + 2e-16)}},
                        step_sources().find(source).make({}));
    ASSERT_EQ(line.landings().size(), 6U) << source;
    EXPECT_EQ(line.landing_of(0.04), 1);
    EXPECT_EQ(line.landing_of(0.15), 2);
    EXPECT_EQ(line.landing_of(0.45), 3);
    EXPECT_EQ(line.landing_of(0.45 * (1 + 2e-16)), 3);
    EXPECT_THROW(static_cast<void>(line.landing_of(0.1500000001)), Error);
  }
  // A sum with a large begin rounds by the begin's size.
  const TimeLine late({-1e6, 1.0, 1e-3, {0.5, 0.5 + 1e-10}}, adaptive_steps({}));
  EXPECT_EQ(late.landings().size(), 3U);
}

TEST(TimeLine, StepsSeeOneSideOfASwitch) {
  const TimeLine line = fixed({0.0, 2.0, 0.5, {1.0 - 1e-12, 1.5}, {2.0, 1.0, 0.0, 3.0}});
  ASSERT_EQ(line.landings().size(), 4U);
  EXPECT_EQ(line.time(2), 1.0);  // it stands for the landing beside it
  EXPECT_LT(line.step(1).at(1.0), 1.0);
  EXPECT_GT(line.step(1).at(1.0), 1.0 - 1e-8);
  EXPECT_TRUE(line.step(1).ends_on_switch());
  EXPECT_GT(line.step(2).at(0.0), 1.0);
  EXPECT_EQ(line.step(2).at(0.5), 1.25);
  EXPECT_EQ(line.step(2).at(1.0), 1.5);  // an ordinary landing
  EXPECT_FALSE(line.step(2).ends_on_switch());
  EXPECT_GT(line.step(0).at(0.0), 0.0);
  EXPECT_LT(line.step(3).at(1.0), 2.0);
  EXPECT_FALSE(line.moment(3).is_switch);
  ASSERT_TRUE(line.moment(2).is_switch);
  EXPECT_LT(line.moment(2).before_break().reads_at, 1.0);
  EXPECT_GT(line.moment(2).after_break().reads_at, 1.0);
  EXPECT_EQ(fixed({0.0, 2.0, 0.5, {}, {1.0, 1.0 + 1e-12, 1.0 + 1e-16}}).landings().size(), 4U);  // each stays one
}

TEST(TimeLine, TellsOfEachStateWhatTermsNeed) {
  TimeLine line = fixed({0.0, 3.0, 1.0, {2.5}});
  const Moment first = line.moment(0), third = line.moment(3), last = line.moment(4);
  EXPECT_EQ(first.before, 0.0);
  EXPECT_EQ(first.after, 2.5 / 3);
  EXPECT_EQ(first.landing, 0);
  EXPECT_EQ(third.t, 2.5);
  EXPECT_EQ(third.before, 2.5 / 3);
  EXPECT_EQ(third.after, 0.5);
  EXPECT_EQ(third.landing, 1);
  EXPECT_FALSE(third.is_last);
  EXPECT_EQ(last.after, 0.0);
  EXPECT_EQ(last.step_length, 0.5);
  EXPECT_TRUE(last.is_last);
  line.end_at(2);
  EXPECT_TRUE(line.moment(2).is_last);
  EXPECT_EQ(line.moment(2).after, 0.0);
  line.reopen();
  EXPECT_EQ(line.steps(), 4);
}

TEST(TimeLine, RefusesSpansThatAreNone) {
  EXPECT_THROW(fixed({1.0, 1.0, 0.1, {}}), InputError);
  EXPECT_THROW(fixed({0.0, 1.0, 0.0, {}}), InputError);
  EXPECT_THROW(fixed({0.0, 1.0, 2.0, {}}), InputError);
  EXPECT_THROW(fixed({0.0, 1.0, 1e-16, {}}), InputError);
}

TEST(TimeLine, RecordsWhatStatesDecideAndReplaysIt) {
  auto owned = std::make_unique<Halving>();
  const Halving& source = *owned;
  TimeLine line({0.0, 2.0, 1.0, {1.25}}, std::move(owned));
  const Grid grid({}, test::self(), {0, 0, 0});
  const auto run = [&](const std::vector<double>& values) {
    line.reopen();
    std::int64_t k = 0;
    for (double value : values) line.reach(k++, {grid, &value});
  };
  EXPECT_FALSE(line.is_known());
  EXPECT_EQ(line.steps(), 100);
  run({0, 1, 0, 0});
  EXPECT_EQ(line.steps(), 3);
  EXPECT_EQ(line.time(1), 1.0);
  EXPECT_EQ(line.time(2), 1.25);
  EXPECT_EQ(line.moment(2).landing, 1);
  EXPECT_EQ(line.moment(2).before, 0.25);
  EXPECT_EQ(line.moment(2).after, 0.75);
  EXPECT_EQ(source.decided, 3);
  double other = 7;
  for (std::int64_t k = 0; k < 3; ++k) line.reach(k, {grid, &other});  // a replay asks nobody
  EXPECT_EQ(source.decided, 3);
  run({1, 1, 1, 1, 1});
  EXPECT_EQ(line.time(1), 0.5);
  EXPECT_EQ(line.steps(), 100);
}

TEST(TimeLine, SourcesAreKnownByName) {
  EXPECT_TRUE(step_sources().find("fixed").make({})->knows_all());
  EXPECT_THROW(step_sources().find("fxied"), InputError);
  EXPECT_THROW(step_sources().add({.name = "fixed", .make = adaptive_steps}), Error);
}

}  // namespace
}  // namespace hindsight

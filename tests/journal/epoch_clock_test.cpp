// When epochs come, with times that are made up.
#include "io/journal/epoch_clock.hpp"

#include <gtest/gtest.h>

namespace hindsight {
namespace {

constexpr double part = 0.007;  // of the time that epochs may take

TEST(EpochClock, TheFirstEpochFollowsFromItsBytes) {
  EpochClock small({});
  small.begin(10.0, 0);  // guessed: 0.02 s
  EXPECT_FALSE(small.is_due(10.0 + 0.02 / part - 1e-6));
  EXPECT_TRUE(small.is_due(10.0 + 0.02 / part + 1e-6));
  EpochClock large({});
  large.begin(10.0, 600'000'000);  // 2 s more
  EXPECT_FALSE(large.is_due(10.0 + 2.02 / part - 1e-6));
  EXPECT_TRUE(large.is_due(10.0 + 2.02 / part + 1e-6));
}

TEST(EpochClock, TheNextEpochFollowsFromTheCostOfThoseBefore) {
  EpochClock clock({});
  clock.begin(0.0, 0);
  clock.kept(20.0, 0.5);  // one more makes 1 s
  EXPECT_FALSE(clock.is_due(1.0 / part - 1e-6));
  EXPECT_TRUE(clock.is_due(1.0 / part + 1e-6));
  clock.kept(150.0, 0.1);  // 0.6 s so far, 0.3 s each
  EXPECT_FALSE(clock.is_due(150.0 + 2.0 - 1e-6));
  EXPECT_TRUE(clock.is_due(150.0 + 2.0 + 1e-6)) << "0.9 s allow one at 129 s; two seconds lie between epochs";
  EXPECT_EQ(clock.seconds_of_epochs(), 0.6);
}

struct Year {
  int epochs = 0;
  double seconds = 0.0;
};

/// A run of so many seconds with a look every 50 ms, whose epochs take a while each.
Year live(EpochClock::Limits limits, double seconds, double cost) {
  EpochClock clock(limits);
  clock.begin(0.0, 0);
  Year year;
  for (double now = 0.0; now < seconds; now += 0.05) {
    if (!clock.is_due(now)) continue;
    now += cost;
    clock.kept(now, cost);
    ++year.epochs;
  }
  year.seconds = clock.seconds_of_epochs();
  return year;
}

TEST(EpochClock, EpochsTakeTheirPartOfTheTimeWhateverTheyCost) {
  for (const double cost : {0.02, 0.1, 1.0}) {
    const Year year = live({}, 10000.0, cost);
    EXPECT_LE(year.seconds, part * 10000.0) << cost;
    EXPECT_GE(year.seconds, part * 10000.0 - 2 * cost) << cost;
  }
}

TEST(EpochClock, CheapEpochsComeEveryTwoSeconds) {
  const Year year = live({}, 10000.0, 1e-4);
  EXPECT_LE(year.epochs, 5000);
  EXPECT_GE(year.epochs, 4800) << "looks are 50 ms apart";
}

TEST(EpochClock, AnIntervalThatIsAskedForIsKept) {
  EpochClock clock({0.3, std::nullopt});
  clock.begin(5.0, 1'000'000'000);
  EXPECT_FALSE(clock.is_due(5.29));
  EXPECT_TRUE(clock.is_due(5.31));
  clock.kept(7.0, 1.0);
  EXPECT_FALSE(clock.is_due(7.29));
  EXPECT_TRUE(clock.is_due(7.31));
}

TEST(EpochClock, LooksComeAsStepsTake) {
  EpochClock clock({});
  clock.begin(0.0, 0);
  EXPECT_EQ(clock.looked(0.1, 0.1, 100), 100 + 50) << "100 steps took twice as long as they should";
  EXPECT_EQ(clock.looked(0.14, 0.04, 150), 150 + 62);
  EXPECT_EQ(clock.looked(0.15, 0.01, 212), 212 + 124) << "at most twice as many as before";
  EXPECT_EQ(clock.looked(9.15, 9.0, 336), 336 + 31) << "at least a quarter";
  EXPECT_EQ(clock.looked(9.16, 0.0, 336), 337) << "at least one";
}

TEST(EpochClock, LooksSettleAtFiftyMilliseconds) {
  EpochClock clock({});
  double now = 0.0, last = 0.0;
  clock.begin(now, 0);
  for (std::int64_t asked = 1, next = 1; asked < 100'000; ++asked) {
    now += 1e-4;
    if (asked < next) continue;
    const double waited = clock.waited(now);
    EXPECT_NEAR(waited, now - last, 1e-9);
    if (asked > 50'000) {
      EXPECT_NEAR(waited, 0.05, 1e-3);
    }
    last = now;
    next = clock.looked(now, waited, asked);
  }
}

TEST(EpochClock, StoppingTakesTwoLooksAndTwoEpochs) {
  EpochClock clock({});
  clock.begin(0.0, 0);
  EXPECT_DOUBLE_EQ(clock.seconds_to_stop(0.0), 0.3 + 2 * 0.05 + 2 * 0.02);
  clock.looked(3.0, 3.0, 10);  // the first wait is that of what comes before the first step
  EXPECT_TRUE(clock.is_first_look());
  EXPECT_DOUBLE_EQ(clock.seconds_to_stop(0.0), 0.3 + 2 * 0.05 + 2 * 0.02);
  clock.looked(4.0, 1.0, 20);
  EXPECT_FALSE(clock.is_first_look());
  EXPECT_DOUBLE_EQ(clock.seconds_to_stop(0.0), 0.3 + 2 * 1.0 + 2 * 0.02);
  clock.looked(4.1, 0.1, 30);  // long waits are forgotten by halves
  EXPECT_DOUBLE_EQ(clock.seconds_to_stop(0.0), 0.3 + 2 * 0.5 + 2 * 0.02);
  clock.kept(5.0, 0.25);
  EXPECT_DOUBLE_EQ(clock.seconds_to_stop(0.0), 0.3 + 2 * 0.5 + 2 * 0.25);
}

TEST(EpochClock, PartsCountWhereTheyAreWorthIt) {
  EpochClock clock({});
  clock.begin(0.0, 0);
  EXPECT_TRUE(clock.worth_keeping(10.0));
  EXPECT_FALSE(clock.worth_keeping(10.1));
  EXPECT_DOUBLE_EQ(clock.seconds_to_stop(10.0), 10.44);
  EXPECT_DOUBLE_EQ(clock.seconds_to_stop(10.1), 0.44);
  const EpochClock limited({std::nullopt, 100.0});
  EXPECT_TRUE(limited.worth_keeping(20.0)) << "a fifth of the time that the process has";
  EXPECT_FALSE(limited.worth_keeping(20.1));
}

TEST(EpochClock, AProcessIsLateWhenItCouldNotStopInTime) {
  EpochClock limited({std::nullopt, 100.0});
  limited.begin(50.0, 0);
  EXPECT_FALSE(limited.is_late(99.55, 0.0));
  EXPECT_TRUE(limited.is_late(99.57, 0.0));
  EXPECT_FALSE(limited.is_late(94.55, 5.0));
  EXPECT_TRUE(limited.is_late(94.57, 5.0));
  EpochClock unlimited({});
  unlimited.begin(50.0, 0);
  EXPECT_FALSE(unlimited.is_late(1e9, 0.0));
}

}  // namespace
}  // namespace hindsight

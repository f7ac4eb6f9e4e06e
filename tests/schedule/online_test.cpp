// The online schedule against the optimum with the number of steps known.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "adjoint/schedule/simulated_machine.hpp"

namespace hindsight {
namespace {

struct Curve {
  double within = 1, beyond = 1;  ///< worst ratios, within the proven range and beyond
  std::int64_t worst_steps = 0;
};

/// Ratio of forward steps (recording ones included) to Revolve's with n known.
double ratio(std::int64_t n, std::int64_t slots) {
  ScheduleRequest request{unknown_steps, {{0, slots, 0}}};
  request.at_most = n;
  const ScheduleCounts counts = simulate(schedules().find("online"), request);
  return static_cast<double>(counts.total()) / static_cast<double>(binomial_plain_steps(n, slots) + n);
}

Curve curve(std::int64_t slots, std::int64_t most, std::int64_t stride) {
  Curve c;
  const std::int64_t range = beta(slots, 2);
  for (std::int64_t n = 1; n <= most; n += n <= range + 50 ? 1 : stride) {
    const double r = ratio(n, slots);
    if (n <= range) {
      c.within = std::max(c.within, r);
    } else if (r > c.beyond) {
      c.beyond = r;
      c.worst_steps = n;
    }
  }
  return c;
}

TEST(Online, IsOptimalInItsRangeAndWithinTenPercentOrSoBeyond) {
  std::printf("slots   range   worst within   worst beyond   at n\n");
  for (const std::int64_t slots : {1, 2, 3, 5, 10, 20}) {
    const Curve c = curve(slots, 2000, 7);
    std::printf("%5lld %7lld %14.4f %14.4f %6lld\n", static_cast<long long>(slots),
                static_cast<long long>(beta(slots, 2)), c.within, c.beyond, static_cast<long long>(c.worst_steps));
    EXPECT_EQ(c.within, 1.0) << slots;
    EXPECT_LT(c.beyond, 1.15) << slots;
  }
}

TEST(Online, StaysNearTheOptimumOnLongRuns) {
  for (const std::int64_t slots : {2, 5, 30})
    for (const std::int64_t n : {5000, 20000, 50000}) EXPECT_LT(ratio(n, slots), 1.15) << n << " steps, " << slots;
}

/// With more slots than steps everything is kept.
TEST(Online, KeepsEverythingWhenItFits) {
  ScheduleRequest request{unknown_steps, {{0, 100, 0}}};
  request.at_most = 80;
  const ScheduleCounts counts = simulate(schedules().find("online"), request);
  EXPECT_EQ(counts.plain, 0);
  EXPECT_EQ(counts.recorded, 2 * 80 - 1);
}

ScheduleCounts with_records(std::int64_t n, std::int64_t records, std::int64_t units, std::int64_t slots) {
  ScheduleRequest request{unknown_steps, {{0, slots, 0}}};
  request.at_most = n;
  request.content = Content::record;
  request.records = records;
  request.record_units = units;
  return simulate(schedules().find("online"), request);
}

/// The last records spare their steps; the steps before them are taken again as without.
TEST(Online, KeepsRecordsOfTheLastSteps) {
  for (const std::int64_t units : {1, 3, 8})
    for (std::int64_t n = 1; n <= 60; ++n) {
      const std::int64_t records = 20, slots = records * units + 12;
      const ScheduleCounts counts = with_records(n, records, units, slots);
      EXPECT_EQ(counts.kept, n - 1);
      EXPECT_LE(counts.peak[index_of(Tier::host)], slots);
      EXPECT_EQ(counts.recorded, n + std::max<std::int64_t>(0, n - 1 - records)) << n;
      EXPECT_TRUE(n > records + 1 || counts.plain == 0) << n;
      EXPECT_LE(counts.plain, n) << n;  // with those that are recorded again, no step more than twice again
    }
}

/// Where nothing is said, a half is the records' unless all fit.
TEST(Online, DividesTheMemoryThatThereIs) {
  EXPECT_EQ(with_records(1000, 0, 5, 5 * 999).recorded, 1000);
  const ScheduleCounts some = with_records(1000, 0, 5, 3000);
  EXPECT_EQ(some.plain, 0);
  EXPECT_EQ(some.recorded, 1000 + 999 - 300);
  for (const std::int64_t slots : {1, 2, 6, 12, 100}) {
    const ScheduleCounts few = with_records(1000, 0, 5, slots);
    EXPECT_LE(few.peak[index_of(Tier::host)], slots);
  }
}

/// Time grows with the steps taken, not with the slots that were there to be used.
TEST(Online, SlotsThatStayFreeCostNothing) {
  ScheduleRequest request{unknown_steps, {{0, 1'000'000, 0}}};
  request.at_most = 100'000'000;
  ActionStream stream = schedules().find("online").make(request).actions();
  const std::clock_t begin = std::clock();  // of this process: a busy machine changes nothing
  constexpr std::int64_t steps = 20'000;
  std::int64_t reversed = 0;
  while (const Action* action = stream.next()) {
    const auto* record = std::get_if<Record>(action);
    if (record != nullptr && record->step + 1 == steps) stream.finish_at(steps);
    if (std::holds_alternative<Reverse>(*action)) ++reversed;
  }
  EXPECT_EQ(reversed, steps);
  EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace hindsight

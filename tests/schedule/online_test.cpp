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

// The online schedule for every number of steps to 2000: prints the curve of ratios to the optimum.
// label: long
#include <gtest/gtest.h>

#include <cstdio>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "adjoint/schedule/simulated_machine.hpp"

namespace hindsight {
namespace {

TEST(OnlineCurve, EveryNumberOfStepsToTwoThousand) {
  std::printf("%6s", "n");
  const std::vector<std::int64_t> all_slots{1, 2, 3, 5, 10, 20};
  for (const std::int64_t slots : all_slots) std::printf("  s=%-6lld", static_cast<long long>(slots));
  std::printf("\n");
  std::vector<double> worst(all_slots.size(), 1.0);
  for (std::int64_t n = 1; n <= 2000; ++n) {
    if (n % 50 == 0) std::printf("%6lld", static_cast<long long>(n));
    for (std::size_t i = 0; i < all_slots.size(); ++i) {
      const std::int64_t slots = all_slots[i];
      ScheduleRequest request{unknown_steps, {{0, slots, 0}}};
      request.at_most = n;
      const auto total = static_cast<double>(simulate(schedules().find("online"), request).total());
      const double ratio = total / static_cast<double>(binomial_plain_steps(n, slots) + n);
      if (n <= beta(slots, 2)) {
        EXPECT_EQ(ratio, 1.0) << n << " steps, " << slots << " slots";
      } else {
        EXPECT_LT(ratio, 1.15) << n << " steps, " << slots << " slots";
      }
      worst[i] = std::max(worst[i], ratio);
      if (n % 50 == 0) std::printf("  %-8.4f", ratio);
    }
    if (n % 50 == 0) std::printf("\n");
  }
  std::printf("%6s", "worst");
  for (const double w : worst) std::printf("  %-8.4f", w);
  std::printf("\n");
}

}  // namespace
}  // namespace hindsight

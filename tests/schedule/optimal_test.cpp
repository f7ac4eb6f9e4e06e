// Schedules against what was found without their recurrences: exhaustive search, and H-Revolve by counting levels
// against its dynamic program at sizes that no table covers.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "adjoint/schedule/levels.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "adjoint/schedule/simulated_machine.hpp"
#include "adjoint/schedule/tier_program.hpp"
#include "tests/schedule/exhaustive.hpp"
#include "tests/whole.hpp"

namespace hindsight {
namespace {

#ifdef __SANITIZE_ADDRESS__
const int share = 10;  // of the searches, because they take that much longer
#else
const int share = test::is_whole() ? 1 : 3;
#endif

std::mt19937 random_numbers(20);

std::int64_t whole(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random_numbers);
}
/// From a hundredth to a hundred, now and then nothing.
double price() {
  if (whole(0, 9) == 0) return 0.0;
  return std::pow(10.0, std::uniform_real_distribution<>(-2, 2)(random_numbers));
}

double executed_cost(const char* kind, const ScheduleRequest& request) {
  return total_cost(simulate(schedules().find(kind), request), request.costs);
}

TEST(Exhaustive, NoScheduleOfTwoTiersIsCheaperThanHRevolve) {
  for (int i = 0; i < 300 / share; ++i) {
    const auto n = static_cast<int>(whole(1, 9));
    ScheduleRequest request{n, {{0, whole(0, 3), whole(1, 3)}}};
    request.costs = {whole(0, 1) == 0 ? 1.0 : 0.4, 1.5, {0, 0, price()}, {0, 0, price()}};
    test::SearchProblem problem{n,
                                {{request.capacities[Tier::host]},
                                 {request.capacities[Tier::disk], request.costs.write[2], request.costs.read[2]}},
                                request.costs.forward,
                                request.costs.reverse};
    EXPECT_NEAR(executed_cost("hrevolve", request), test::ExhaustiveSearch(problem).cost(), 1e-9)
        << n << " steps, " << request.capacities[Tier::host] << " and " << request.capacities[Tier::disk]
        << " slots, write " << request.costs.write[2] << ", read " << request.costs.read[2];
  }
}

TEST(Exhaustive, NoScheduleOfThreeTiersIsCheaperThanHRevolve) {
  for (int i = 0; i < 120 / share; ++i) {
    const auto n = static_cast<int>(whole(1, 7));
    ScheduleRequest request{n, {{whole(1, 2), whole(1, 2), whole(1, 2)}}};
    double w1 = price(), w2 = price(), r1 = price(), r2 = price();
    if (w1 > w2) std::swap(w1, w2);
    if (r1 > r2) std::swap(r1, r2);
    request.costs = {1, 1, {0, w1, w2}, {0, r1, r2}};
    const test::SearchProblem problem{n,
                                      {{request.capacities[Tier::device]},
                                       {request.capacities[Tier::host], w1, r1},
                                       {request.capacities[Tier::disk], w2, r2}}};
    EXPECT_NEAR(executed_cost("hrevolve", request), test::ExhaustiveSearch(problem).cost(), 1e-9) << n << " steps";
  }
}

TEST(Exhaustive, NoScheduleOfOneTierTakesFewerStepsThanRevolve) {
  for (int n = 1; n <= 10; ++n)
    for (const std::int64_t slots : {1, 2, 3, 4}) {
      const ScheduleRequest request{n, {{0, slots, 0}}};
      EXPECT_EQ(executed_cost("revolve", request), test::ExhaustiveSearch({n, {{slots}}}).cost());
    }
}

/// Unlimited disk.
TEST(Exhaustive, NoScheduleIsCheaperThanDiskRevolve) {
  for (int i = 0; i < 80 / share; ++i) {
    const auto n = static_cast<int>(whole(1, 8));
    ScheduleRequest request{n, {{0, whole(1, 3), -1}}};
    request.costs = {1, 1, {0, 0, price()}, {0, 0, price()}};
    const test::SearchProblem problem{
        n, {{request.capacities[Tier::host]}, {n, request.costs.write[2], request.costs.read[2]}}};
    EXPECT_NEAR(executed_cost("diskrevolve", request), test::ExhaustiveSearch(problem).cost(), 1e-9) << n << " steps";
  }
}

TEST(Exhaustive, NoScheduleWithRecordsTakesFewerSteps) {
  for (int n = 1; n <= (test::is_whole() ? 8 : 7); ++n)
    for (const std::int64_t units : {1, 2, 3, 4, 5, 7})
      for (const int record_units : {1, 2, 3})
        for (const bool gives_state : {false, true})
          test::expect_fewest_with_records(n, units, record_units, gives_state);
}

TEST(Levels, EqualsTheDynamicProgramInTwoTiers) {
  for (int i = 0; i < 400; ++i) {
    const std::int64_t n = whole(1, 400), fast = whole(0, 8), slow = whole(1, 12);
    const ScheduleCosts costs{whole(0, 1) == 0 ? 1.0 : 0.37, 1.7, {}, {}};
    const double write = price(), read = price();
    const TierProgram program(n, {{Tier::host, fast, 0, 0}, {Tier::disk, slow, write, read}}, costs);
    const Levels plan = Levels::best({n, Tier::host, fast, {{Tier::disk, slow, write, read}}, costs.forward});
    const double reversal = costs.reverse * static_cast<double>(n);
    EXPECT_NEAR(plan.cost() + reversal, program.cost(), 1e-9 * program.cost())
        << "n=" << n << " fast=" << fast << " slow=" << slow << " write=" << write << " read=" << read
        << " forward=" << costs.forward;
    EXPECT_LE(plan.lower_bound(plan.cost() * 0.999) + reversal, program.cost() * (1 + 1e-12));
    EXPECT_GE(plan.lower_bound(plan.cost() * 0.999), plan.cost() * 0.998);
  }
}

TEST(Levels, EqualsTheDynamicProgramInThreeTiers) {
  for (int i = 0; i < 300; ++i) {
    const std::int64_t n = whole(2, 300), fast = whole(0, 6), middle = whole(1, 6), slow = whole(1, 8);
    double w1 = price(), w2 = price(), r1 = price(), r2 = price();
    if (w1 > w2) std::swap(w1, w2);
    if (r1 > r2) std::swap(r1, r2);
    const TierProgram program(n, {{Tier::device, fast, 0, 0}, {Tier::host, middle, w1, r1}, {Tier::disk, slow, w2, r2}},
                              {});
    const Levels plan =
        Levels::best({n, Tier::device, fast, {{Tier::host, middle, w1, r1}, {Tier::disk, slow, w2, r2}}, 1});
    const auto reversal = static_cast<double>(n);
    EXPECT_NEAR(plan.cost() + reversal, program.cost(), 1e-9 * program.cost())
        << "n=" << n << " " << fast << "/" << middle << "/" << slow << " write " << w1 << " " << w2 << " read " << r1
        << " " << r2;
    EXPECT_LE(plan.lower_bound(plan.cost() * 0.99) + reversal, program.cost() * (1 + 1e-12));
  }
}

/// Execution counts what was planned, also where no table reaches.
TEST(Levels, ExecutesWhatItPlans) {
  for (int i = 0; i < 60; ++i) {
    ScheduleRequest request{whole(1, 30000), {{whole(0, 10), whole(1, 10), whole(1, 50)}}};
    if (request.capacities[Tier::device] == 0) request.capacities[Tier::host] = whole(2, 10);
    const double w = price(), r = price();
    request.costs = {1,
                     1,
                     {0, request.capacities[Tier::device] == 0 ? 0 : 0.3 * w, w},
                     {0, request.capacities[Tier::device] == 0 ? 0 : 0.5 * r, r}};
    EXPECT_NO_THROW(simulate(schedules().find("hrevolve"), request)) << request.steps;
  }
}

TEST(Levels, AMillionStepsWithThreeTiersWithinAPercentOfTheBound) {
  for (const std::int64_t fast : {2, 50})
    for (const std::int64_t middle : {3, 200})
      for (const std::int64_t slow : {5, 1000})
        for (const double w : {2.0, 30.0}) {
          constexpr std::int64_t n = 1'000'000;
          const Levels plan =
              Levels::best({n, Tier::device, fast, {{Tier::host, middle, 1, 1}, {Tier::disk, slow, w, w}}, 1});
          EXPECT_GE(plan.lower_bound(0.995 * plan.cost()), 0.99 * plan.cost());
        }
}

}  // namespace
}  // namespace hindsight

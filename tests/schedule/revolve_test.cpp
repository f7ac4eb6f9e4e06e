// Revolve against the table of optimal counts, a brute-force dynamic program, and at sizes beyond 32 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/schedule/simulated_machine.hpp"
#include "runtime/error.hpp"
#include "tests/places.hpp"

namespace hindsight {
namespace {

ScheduleRequest request(std::int64_t steps, std::int64_t slots) {
  return {steps, {{0, slots, 0}}, Content::state};
}
std::int64_t predicted(std::int64_t steps, std::int64_t slots) {
  return schedules().find("revolve").make(request(steps, slots)).predicted.plain;
}
ScheduleCounts executed(std::int64_t steps, std::int64_t slots) {
  return simulate(schedules().find("revolve"), request(steps, slots));
}

/// The fewest plain steps and, among the schedules with these, the fewest saves of checkpoints, by trying every place
/// of the next checkpoint. Entry [s][l]; the save of the initial state is not counted.
using Optimum = std::pair<std::int64_t, std::int64_t>;
std::vector<std::vector<Optimum>> brute_force(std::int64_t most_steps, std::int64_t most_slots) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const Optimum none{std::numeric_limits<std::int64_t>::max(), 0};
  std::vector<std::vector<Optimum>> best(size(most_slots + 1), std::vector<Optimum>(size(most_steps + 1), none));
  for (std::int64_t s = 0; s <= most_slots; ++s) best[size(s)][1] = {0, 0};
  for (std::int64_t s = 1; s <= most_slots; ++s) {
    for (std::int64_t l = 2; l <= most_steps; ++l) {
      for (std::int64_t m = s == 1 ? l - 1 : 1; m < l; ++m) {
        const Optimum& left = best[size(s)][size(m)];
        const Optimum& right = best[size(s - 1)][size(l - m)];
        const std::int64_t save = l - m > 1 ? 1 : 0;
        const Optimum here{m + left.first + right.first, left.second + right.second + save};
        best[size(s)][size(l)] = std::min(best[size(s)][size(l)], here);
      }
    }
  }
  return best;
}

TEST(Revolve, EqualsTheTable) {
  std::ifstream file(std::string(test::source_folder()) + "/tests/data/revolve.csv");
  ASSERT_TRUE(file);
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#' || line[0] == 'n') continue;
    std::istringstream cells(line);
    std::int64_t steps = 0, slots = 0, plain = 0;
    char comma = 0;
    ASSERT_TRUE(cells >> steps >> comma >> slots >> comma >> plain) << line;
    EXPECT_EQ(predicted(steps, slots), plain) << line;
    const ScheduleCounts counts = executed(steps, slots);
    EXPECT_EQ(counts.plain, plain) << line;
    EXPECT_LE(counts.peak[1], slots) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 44);
}

TEST(Revolve, EqualsBruteForceInPlainStepsAndSaves) {
  const auto best = brute_force(60, 10);
  for (std::int64_t slots = 1; slots <= 10; ++slots) {
    for (std::int64_t steps = 1; steps <= 60; ++steps) {
      const auto [plain, saves] = best[static_cast<std::size_t>(slots)][static_cast<std::size_t>(steps)];
      const ScheduleCounts counts = executed(steps, slots);
      EXPECT_EQ(counts.plain, plain) << steps << " steps, " << slots << " slots";
      EXPECT_EQ(counts.writes[1], steps > 1 ? saves + 1 : 0) << steps << " steps, " << slots << " slots";
    }
  }
}

TEST(Revolve, MeetsTheWorkedExamples) {
  EXPECT_EQ(predicted(10, 3), 15);
  EXPECT_EQ(predicted(100, 5), 316);
  EXPECT_EQ(predicted(1000, 10), 3636);
  EXPECT_EQ(predicted(10000, 10), 57624);
  EXPECT_EQ(executed(10000, 10).plain, 57624);
}

TEST(Revolve, MeetsItsLimits) {
  EXPECT_EQ(executed(1, 1).plain, 0);
  EXPECT_EQ(executed(1, 1).writes[1], 0);
  EXPECT_EQ(executed(200, 1).plain, schedules().find("none").make(request(200, 1)).predicted.plain);
  for (const std::int64_t slots : {199, 200, 201, 100000, -1}) {
    EXPECT_EQ(executed(200, slots).plain, 199) << slots;
    EXPECT_EQ(executed(200, slots).peak[1], 199) << slots;
  }
  EXPECT_THROW(executed(10, 0), InputError);
  EXPECT_THROW(executed(1, 0), InputError);
}

TEST(Revolve, CountsIn64Bits) {
  EXPECT_EQ(predicted(5'000'000'000, 100), 33'192'754'378);
  EXPECT_EQ(predicted(5'000'000'000, 5'000'000'000), 4'999'999'999);
  EXPECT_EQ(predicted(5'000'000'000, -1), 4'999'999'999);
  EXPECT_EQ(predicted(4'000'000'000, 1), 7'999'999'998'000'000'000);
  EXPECT_THROW(predicted(5'000'000'000, 1), InputError);
  EXPECT_EQ(predicted(5'000'000'000, 2), 333'328'333'350'000);
}

TEST(Revolve, StartsLongRunsWithValidActions) {
  constexpr std::int64_t steps = 5'000'000'000;
  for (const std::int64_t slots : {2, 3, 10, 100, 1000, 20000}) {
    ActionStream stream = schedules().find("revolve").make(request(steps, slots)).actions();
    SimulatedMachine machine(request(steps, slots), false);
    for (int i = 0; i < 100'000; ++i) {
      const Action* action = stream.next();
      ASSERT_TRUE(action);
      ASSERT_NO_THROW(machine.execute(*action)) << slots << " slots";
    }
  }
}

TEST(Revolve, ExecutesAMillionSteps) {
  EXPECT_EQ(executed(1'000'000, 20).plain, predicted(1'000'000, 20));
  EXPECT_EQ(executed(1'000'000, 500'000).plain, predicted(1'000'000, 500'000));
}

}  // namespace
}  // namespace hindsight

// H-Revolve by counting levels against its dynamic program, at sizes that no table covers.
#include <gtest/gtest.h>

#include <random>

#include "adjoint/schedule/levels.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "adjoint/schedule/simulated_machine.hpp"
#include "adjoint/schedule/tier_program.hpp"

namespace hindsight {
namespace {

std::mt19937 random_numbers(20);

std::int64_t whole(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random_numbers);
}
/// From a hundredth to a hundred, now and then nothing.
double price() {
  if (whole(0, 9) == 0) return 0.0;
  return std::pow(10.0, std::uniform_real_distribution<>(-2, 2)(random_numbers));
}

TEST(LevelPlan, EqualsTheDynamicProgramInTwoTiers) {
  for (int i = 0; i < 400; ++i) {
    const std::int64_t n = whole(1, 400), fast = whole(0, 8), slow = whole(1, 12);
    const ScheduleCosts costs{whole(0, 1) == 0 ? 1.0 : 0.37, 1.7, {}, {}};
    const double write = price(), read = price();
    const TierProgram program(n, {{Tier::host, fast, 0, 0}, {Tier::disk, slow, write, read}}, costs);
    const LevelPlan plan = LevelPlan::best({n, Tier::host, fast, {{Tier::disk, slow, write, read}}, costs.forward});
    EXPECT_NEAR(plan.cost() + costs.reverse * static_cast<double>(n), program.cost(), 1e-9 * program.cost())
        << "n=" << n << " fast=" << fast << " slow=" << slow << " write=" << write << " read=" << read
        << " forward=" << costs.forward;
  }
}

double worst_gap = 0;

TEST(LevelPlan, IsNearTheDynamicProgramInThreeTiers) {
  int different = 0;
  for (int i = 0; i < 300; ++i) {
    const std::int64_t n = whole(2, 300), fast = whole(0, 6), middle = whole(1, 6), slow = whole(1, 8);
    const ScheduleCosts costs{1, 1, {}, {}};
    double w1 = price(), w2 = price(), r1 = price(), r2 = price();
    if (w1 > w2) std::swap(w1, w2);
    if (r1 > r2) std::swap(r1, r2);
    const std::vector<ProgramTier> tiers{{Tier::device, fast, 0, 0}, {Tier::host, middle, w1, r1}, {Tier::disk, slow, w2, r2}};
    const TierProgram program(n, tiers, costs);
    const LevelPlan plan = LevelPlan::best({n, Tier::device, fast, {{Tier::host, middle, w1, r1}, {Tier::disk, slow, w2, r2}}, 1});
    const double gap = (plan.cost() + static_cast<double>(n)) / program.cost() - 1;
    EXPECT_GE(gap, -1e-12);
    worst_gap = std::max(worst_gap, gap);
    if (gap > 1e-12) {
      ++different;
      std::cout << "n=" << n << " " << fast << "/" << middle << "/" << slow << " w " << w1 << " " << w2 << " r " << r1 << " " << r2 << " gap " << gap << "\n";
    }
  }
  std::cout << different << " differ, worst " << worst_gap << "\n";
}

}  // namespace
}  // namespace hindsight

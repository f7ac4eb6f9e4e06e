// Plans of sessions: that execution follows them, that ranks agree, that nothing grows.
// ranks: 1 2 3
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "adjoint/plan/plan.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

Session gray_scott(const std::vector<std::string>& set, const Communicator& comm, const SessionOptions& options = {}) {
  std::vector<std::string> all{"grid.x.cells=48", "grid.y.cells=40", "time.step=0.5", "time.to=200"};
  all.insert(all.end(), set.begin(), set.end());
  return Session(test::shipped_case("gray-scott", all), comm, Sensitivities::adjoint, options);
}

/// A history 200 times the budget: executed as planned, the bits of a run that keeps everything.
TEST(Plan, ASmallBudgetGivesTheBitsOfALargeOne) {
  Session everything = gray_scott({"checkpoints.host=1 GiB", "time.to=500"}, test::self());
  const Evaluation reference = everything.gradient({});
  Session session = gray_scott({"time.to=500", "checkpoints.host=5 slots"}, test::world());
  EXPECT_EQ(session.simulation().time().steps(), 1000);
  const Evaluation mine = session.gradient({});
  EXPECT_EQ(mine.counts.plain, session.plan().schedule.predicted.plain);
  EXPECT_EQ(mine.counts.recorded, session.plan().schedule.predicted.recorded);
  EXPECT_LE(mine.counts.peak[1], 5);
  test::expect_same_bits(session, mine, reference);
}

TEST(Plan, RanksAgreeWhenTheirBlocksDiffer) {
  // 40 rows over three ranks: blocks of different size fit different numbers of states into the same bytes.
  Session session = gray_scott({"checkpoints.host=900 KiB", "time.to=40"}, test::world());
  const auto units = static_cast<double>(session.plan_inputs().units[Tier::host]);
  EXPECT_EQ(test::world().max(units), -test::world().max(-units));
  EXPECT_EQ(session.gradient({}).counts.reversed, 80);
}

TEST(Plan, AnEmulatedDiskIsUsedAndCounted) {
  SessionOptions options;
  options.disk.emulated = {1e-6, 1e-6};
  options.costs = "forward=1,reverse=3,disk.write=2,disk.read=2";
  Session reference = gray_scott({"checkpoints.host=1 GiB"}, test::self());
  const Evaluation all = reference.gradient({});
  for (const char* slots : {"0 slots", "1 slots", "4 slots"}) {
    Session session = gray_scott(
        {std::string("checkpoints.host=") + slots, "checkpoints.disk={size: 40 slots, queue: 0, prefetch: 0}"},
        test::world(), options);
    EXPECT_EQ(session.plan().kind->name, "hrevolve");
    const Evaluation mine = session.gradient({});
    EXPECT_EQ(mine.counts.writes[2], session.plan().schedule.predicted.writes[2]);
    EXPECT_EQ(mine.counts.reads[2], session.plan().schedule.predicted.reads[2]);
    EXPECT_LE(mine.counts.peak[2], 40);
    test::expect_same_bits(session, mine, all);
  }
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Plan, SwitchingSchedulesTwoHundredTimesDoesNotGrow) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps freed memory, so resident sizes grow";
#endif
  Session reference = gray_scott({"checkpoints.host=1 GiB", "time.to=4"}, test::world());
  Simulation& simulation = reference.simulation();
  const Evaluation first = reference.gradient({});
  std::int64_t before = 0;
  for (int i = 0; i < 200; ++i) {
    if (i == 20) before = resident_bytes();
    const char* const names[] = {"revolve", "cams", "none", "uniform", "online", "store-all"};
    ScheduleRequest request{8, {{0, 9, 0}}};
    const ScheduleKind& kind = schedules().find(names[i % 6]);
    if (kind.name == std::string("cams")) request.record_units = simulation.record_units();
    const Schedule schedule = kind.make(request);
    simulation.reserve_checkpoints(schedule.predicted.peak[1], {});
    const GradientResult again = simulation.gradient(schedule, kind.is_online, {});
    ASSERT_EQ(again.objective, first.objective) << kind.name;
    ASSERT_EQ(again.gradient, first.gradient) << kind.name;
  }
  EXPECT_LT(resident_bytes() - before, 2 << 20);
}

}  // namespace
}  // namespace hindsight

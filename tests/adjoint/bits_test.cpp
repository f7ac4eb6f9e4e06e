// ranks: 1 2 3 4
// One case gives one gradient, bit for bit, whatever the schedule and the number of ranks.
#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

const std::vector<std::string> gray_scott_200 = {"grid.x.cells=128", "grid.y.cells=96", "time.step=0.5", "time.to=100"};

std::vector<std::string> with(std::vector<std::string> set, const std::string& schedule, const std::string& host) {
  set.push_back("checkpoints.schedule=" + schedule);
  set.push_back("checkpoints.host=" + host);
  return set;
}

Evaluation serial_gradient(const std::string& name, const std::vector<std::string>& set) {
  Session session(test::shipped_case(name, set), test::self(), Sensitivities::adjoint);
  return session.gradient({});
}

void expect_bits(const std::string& name, const std::vector<std::string>& set, const std::string& schedule,
                 const std::string& host, const Evaluation& reference) {
  SessionOptions options;
  options.disk.emulated = {0.0, 0.0};
  Session session(test::shipped_case(name, with(set, schedule, host)), test::world(), Sensitivities::adjoint, options);
  SCOPED_TRACE(name + " " + schedule + " " + host);
  const Evaluation mine = session.gradient({});
  EXPECT_EQ(session.plan().kind->name, schedule);
  const ScheduleCounts& predicted = session.plan().schedule.predicted;
  if (!session.plan().kind->is_online) {
    EXPECT_EQ(mine.counts.plain, predicted.plain);
    EXPECT_EQ(mine.counts.recorded, predicted.recorded);
    EXPECT_EQ(mine.counts.kept, predicted.kept);
  }
  EXPECT_LE(mine.counts.peak[1], predicted.peak[1]);
  EXPECT_EQ(mine.counts.reversed, session.simulation().time().steps());
  test::expect_same_bits(session, mine, reference);
}

TEST(Bits, GrayScottIsTheSameForEverySchedule) {
  const Evaluation reference = serial_gradient("gray-scott", gray_scott_200);
  EXPECT_NE(reference.gradient[0][0], 0.0);
  expect_bits("gray-scott", gray_scott_200, "store-all", "1 GiB", reference);
  expect_bits("gray-scott", gray_scott_200, "store-all", "200 slots", reference);
  expect_bits("gray-scott", gray_scott_200, "uniform", "60 slots", reference);
  for (const char* slots : {"1 slots", "3 slots", "10 slots", "50 slots"})
    expect_bits("gray-scott", gray_scott_200, "revolve", slots, reference);
}

TEST(Bits, GrayScottIsTheSameWithRecordsAndTiers) {
  std::vector<std::string> set = gray_scott_200;
  set.back() = "time.to=60";
  set.push_back("checkpoints.disk=200 slots");
  set.push_back("checkpoints.period=7");
  const std::vector<std::string> plain(set.begin(), set.end() - 2);
  for (const char* method : {"rk4", "dopri5"}) {
    set.push_back(std::string("time.method=") + method);
    std::vector<std::string> reference_set = plain;
    reference_set.push_back(set.back());
    const Evaluation reference = serial_gradient("gray-scott", reference_set);
    for (const char* slots : {"6 slots", "13 slots", "100 slots"})
      for (const char* schedule : {"cams", "multistage", "hrevolve", "diskrevolve", "diskrevolve-once", "periodic",
                                   "twolevel", "stride", "online"})
        expect_bits("gray-scott", set, schedule, slots, reference);
    set.pop_back();
  }
}

TEST(Bits, NoneIsTheSameOnAShortRun) {
  std::vector<std::string> set = gray_scott_200;
  set.back() = "time.to=10";
  const Evaluation reference = serial_gradient("gray-scott", set);
  expect_bits("gray-scott", set, "none", "1 slots", reference);
  expect_bits("gray-scott", set, "store-all", "1 GiB", reference);
}

TEST(Bits, OtherCasesAndMethods) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> runs = {
      {"burgers", {"time.to=0.05"}},
      {"burgers", {"time.to=0.05", "time.method=dopri5"}},
      {"advection-3d", {"time.to=0.1"}},
      {"advection-3d", {"time.to=0.1", "time.method=heun"}},
      {"heat-conductivity", {"time.to=0.1", "objective=[{integral: \"T^2\"}]"}},
      {"lorenz96", {}},
  };
  for (const auto& [name, set] : runs) {
    const Evaluation reference = serial_gradient(name, set);
    expect_bits(name, set, "revolve", "4 slots", reference);
    expect_bits(name, set, "store-all", "1 GiB", reference);
  }
}

TEST(Bits, TwoGradientsAtDifferentValuesAndBack) {
  Session session(test::shipped_case("gray-scott", {"time.to=10"}), test::world(), Sensitivities::adjoint);
  const UnknownValues start = session.simulation().values();
  const Evaluation first = session.gradient({});
  UnknownValues moved = start;
  moved[0][0] *= 1.1;
  session.simulation().set_values(moved);
  const Evaluation other = session.gradient({});
  EXPECT_NE(first.objective, other.objective);
  session.simulation().set_values(start);
  const Evaluation again = session.gradient({});
  EXPECT_EQ(first.objective, again.objective);
  EXPECT_EQ(first.gradient, again.gradient);
}

}  // namespace
}  // namespace hindsight

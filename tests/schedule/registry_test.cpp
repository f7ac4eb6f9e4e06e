// Every registered schedule, the moment it is registered, on the simulated machine over a wide grid of requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "adjoint/schedule/roles.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "adjoint/schedule/simulated_machine.hpp"
#include "runtime/error.hpp"

namespace hindsight {

void PrintTo(const ScheduleKind& kind, std::ostream* out) {
  *out << kind.name;
}

namespace {

/// Simulates, or answers nothing when the schedule refuses the request at the start with a message.
std::optional<ScheduleCounts> counts_of(const ScheduleKind& kind, const ScheduleRequest& request) {
  try {
    return simulate(kind, request);
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(kind.name), std::string::npos) << error.what();
    EXPECT_THROW(make_schedule(kind, request), InputError);
    return std::nullopt;
  }
}

void expect_complete(const ScheduleKind& kind, const ScheduleRequest& request) {
  const auto counts = counts_of(kind, request);
  if (!counts) return;
  const std::int64_t n = request.steps == unknown_steps ? request.at_most : request.steps;
  const std::string at = kind.name + " n=" + std::to_string(n) +
                         " s=" + std::to_string(request.capacities[Tier::host]) +
                         " disk=" + std::to_string(request.capacities[Tier::disk]);
  EXPECT_EQ(counts->reversed, n) << at;
  if (!kind.is_online) {
    EXPECT_EQ(counts->recorded, n) << at;
  }
  const bool keeps_records = request.content == Content::record || kind.name == "mixed" || kind.name == "cams";
  if (!keeps_records) {
    EXPECT_GE(counts->total(), 2 * n - 1) << at;
  }
  for (std::size_t tier = 0; tier < tier_count; ++tier) {
    const std::int64_t capacity = request.capacities.slots[tier];
    if (capacity >= 0) {
      EXPECT_LE(counts->peak[tier], capacity) << at;
    }
    // Online, states are written in vain, and records that later ones take the places of.
    const std::int64_t in_vain = kind.is_online ? (keeps_records ? 2 * n : n) : 0;
    EXPECT_GE(counts->reads[tier], counts->writes[tier] - in_vain) << at << ": something is written and never read";
  }
}

class EverySchedule : public testing::TestWithParam<ScheduleKind> {};

/// Costs from free to dear, each tier at least as dear as the faster one.
const std::vector<ScheduleCosts> all_costs{
    {1, 1, {0, 0, 0.1}, {0, 0, 0.1}}, {1, 2, {0, 0, 5}, {0, 0, 3}}, {0.5, 1, {0, 0.25, 40}, {0, 0.5, 60}}};

TEST_P(EverySchedule, KeepsTheInvariantsAndItsPrediction) {
  std::vector<std::int64_t> all_steps(40);
  std::iota(all_steps.begin(), all_steps.end(), 1);
  for (const std::int64_t more : {69, 70, 100, 127, 250}) all_steps.push_back(more);
  const std::vector<std::int64_t> all_slots{0, 1, 2, 3, 4, 5, 7, 10, 16, 25, 50, 69, 98, 99, 249, 500, 1000, -1};
  for (const std::int64_t steps : all_steps)
    for (const std::int64_t slots : all_slots)
      for (const std::int64_t disk : {0, 1, 2, 5, -1})
        for (const ScheduleCosts& costs : all_costs) {
          ScheduleRequest request{steps, {}, Content::state, costs};
          request.capacities.slots = {0, slots, disk};
          request.period = disk == 5 ? 4 : 0;
          expect_complete(GetParam(), request);
        }
}

TEST_P(EverySchedule, KeepsThemWithRecordsOfSeveralUnits) {
  for (std::int64_t steps = 1; steps <= 40; ++steps)
    for (const std::int64_t slots : {1, 2, 3, 4, 5, 8, 13, 30, 39, 78, 160, -1})
      for (const std::int64_t units : {1, 2, 4}) {
        ScheduleRequest request{steps, {{0, slots, 3}}, Content::record};
        request.record_units = units;
        for (const bool gives_state : {false, true}) {
          request.record_gives_state = gives_state;
          expect_complete(GetParam(), request);
        }
      }
}

TEST_P(EverySchedule, KeepsThemWithThreeTiers) {
  for (const std::int64_t steps : {1, 2, 3, 5, 8, 13, 40, 100})
    for (const std::int64_t device : {1, 2, 4})
      for (const std::int64_t host : {1, 3, 8})
        for (const std::int64_t disk : {1, 4, 20})
          for (const ScheduleCosts& costs : all_costs)
            expect_complete(GetParam(), {steps, {{device, host, disk}}, Content::state, costs});
}

/// A device's memory and the host's play what host memory and disk are else.
TEST_P(EverySchedule, DoesTheSameInOtherTiers) {
  if (GetParam().takes_any_tiers) return;
  for (const std::int64_t steps : {1, 2, 5, 13, 40, 100})
    for (const std::int64_t slots : {1, 2, 5, 160})
      for (const std::int64_t slow : {1, 4, 20, -1}) {
        ScheduleRequest plain{steps, {{0, slots, slow}}, Content::state, all_costs[1]};
        plain.costs.write_delay[2] = 0.8 * plain.costs.write[2];
        plain.costs.read_delay[2] = 0.5 * plain.costs.read[2];
        ScheduleRequest other = plain;
        other.roles = {Tier::device, Tier::host};
        other.capacities.slots = {slots, slow, 0};
        other.costs.write = {0, plain.costs.write[2], 0};
        other.costs.read = {0, plain.costs.read[2], 0};
        other.costs.write_delay = {0, plain.costs.write_delay[2], 0};
        other.costs.read_delay = {0, plain.costs.read_delay[2], 0};
        const auto counts = counts_of(GetParam(), plain), moved = counts_of(GetParam(), other);
        ASSERT_EQ(counts.has_value(), moved.has_value());
        if (!counts) continue;
        EXPECT_EQ(counts->total(), moved->total());
        EXPECT_EQ((PerTier{counts->writes[1], counts->writes[2], 0}), moved->writes);
        EXPECT_EQ((PerTier{counts->reads[1], counts->reads[2], 0}), moved->reads);
        EXPECT_EQ((PerTier{counts->peak[1], counts->peak[2], 0}), moved->peak);
      }
}

TEST_P(EverySchedule, WorksWithUnlimitedSlots) {
  for (const std::int64_t steps : {1, 2, 3, 10, 1000}) {
    ScheduleRequest request{steps, {{-1, -1, -1}}, Content::state, all_costs[1]};
    request.period = 7;
    EXPECT_EQ(simulate(GetParam(), request).reversed, steps);
  }
}

TEST_P(EverySchedule, RefusesNoSlotsAndNoSteps) {
  EXPECT_THROW(GetParam().make({10, {{0, 0, 0}}, Content::state}), InputError);
  EXPECT_THROW(GetParam().make({0, {{10, 10, 10}}, Content::state}), InputError);
  EXPECT_THROW(GetParam().make({-5, {{10, 10, 10}}, Content::state}), InputError);
}

TEST_P(EverySchedule, AnUnknownNumberOfStepsIsRefusedOrMetWithTheSameFirstActions) {
  ScheduleRequest request{unknown_steps, {{0, 4, -1}}, Content::state};
  request.period = 3;
  request.at_most = 60;
  if (!GetParam().is_online) {
    EXPECT_THROW(GetParam().make(request), InputError);
    return;
  }
  std::vector<std::string> longest;
  for (std::int64_t n = 60; n >= 1; --n) {
    const Schedule schedule = GetParam().make(request);
    SimulatedMachine machine(request, true);
    ActionStream stream = schedule.actions();
    std::vector<std::string> first;
    for (const Action* action = stream.next(); !std::holds_alternative<Turn>(*action); action = stream.next()) {
      first.push_back(to_text(*action));
      machine.execute(*action);
      if (machine.live_state() == n) stream.finish_at(n);
    }
    if (n == 60) longest = first;
    ASSERT_LE(first.size(), longest.size());
    EXPECT_TRUE(std::equal(first.begin(), first.end(), longest.begin())) << "before Turn, n = " << n;
    request.at_most = n;
    expect_complete(GetParam(), request);
    request.at_most = 60;
  }
}

TEST_P(EverySchedule, GivesTheSameActionsTwiceAndStopsAfterDone) {
  ScheduleRequest request{40, {{0, 39, -1}}, Content::state};
  request.period = 6;
  const Schedule schedule = GetParam().make(request);
  ActionStream first = schedule.actions();
  ActionStream second = schedule.actions();
  if (GetParam().is_online) {
    first.finish_at(7);
    second.finish_at(7);
  }
  std::string last;
  while (const Action* action = first.next()) {
    const Action* other = second.next();
    ASSERT_TRUE(other);
    last = to_text(*action);
    ASSERT_EQ(last, to_text(*other));
  }
  EXPECT_EQ(last, "Done");
  EXPECT_FALSE(first.next());
}

std::string parameter_name(const testing::TestParamInfo<ScheduleKind>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, EverySchedule, testing::ValuesIn(schedules().all()), parameter_name);

ScheduleCounts run(const std::string& name, std::int64_t steps, std::int64_t slots, Content content = Content::state) {
  return simulate(schedules().find(name), {steps, {{0, slots, 0}}, content});
}

TEST(Schedules, AreFoundByName) {
  EXPECT_EQ(schedules().find("revolve").name, "revolve");
  try {
    schedules().find("revolv");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'revolve'?"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("store-all, none, uniform, revolve, "), std::string::npos) << error.what();
  }
}

TEST(StoreAll, AdvancesOnceWithStatesAndNeverWithRecords) {
  const ScheduleCounts states = run("store-all", 100, 99);
  EXPECT_EQ(states.plain, 99);
  EXPECT_EQ(states.writes[1], 99);
  EXPECT_EQ(states.peak[1], 99);
  const ScheduleCounts records = run("store-all", 100, 99, Content::record);
  EXPECT_EQ(records.plain, 0);
  EXPECT_EQ(records.writes[1], 99);
  EXPECT_EQ(records.reads[1], 99);
  EXPECT_THROW(run("store-all", 100, 98), InputError);
}

TEST(None, TakesQuadraticallyManySteps) {
  EXPECT_EQ(run("none", 100, 1).plain, 4950);
  EXPECT_EQ(run("none", 100, 1).peak[1], 1);
  EXPECT_EQ(schedules().find("none").make({4'000'000'000, {{0, 1, 0}}}).predicted.plain, 7'999'999'998'000'000'000);
  EXPECT_THROW(schedules().find("none").make({5'000'000'000, {{0, 1, 0}}}), InputError);
}

TEST(Uniform, TakesOneMoreSweepWithTwoRootSlots) {
  const ScheduleCounts counts = run("uniform", 10000, 200);
  EXPECT_EQ(counts.plain, 9999 + 99 * 99);
  EXPECT_LE(counts.peak[1], 200);
  EXPECT_THROW(run("uniform", 10000, 100), InputError);
}

TEST(Uniform, CountsIn64Bits) {
  const ScheduleKind& uniform = schedules().find("uniform");
  EXPECT_EQ(uniform.make({1'000'000'000'000, {{0, 2'000'000, 0}}}).predicted.plain,
            999'999'999'999 + 999'999LL * 999'999);
  EXPECT_GT(uniform.make({9'223'372'036'854'775'807 / 2, {{0, -1, 0}}}).predicted.plain, 4'611'686'018'427'387'902);
}

TEST(Uniform, NamesTheFewestSlotsThatWork) {
  for (const std::int64_t steps : {2, 3, 5, 17, 100, 1000, 1023}) {
    std::int64_t fewest = 1;
    std::string message;
    for (;; ++fewest) {
      try {
        run("uniform", steps, fewest);
        break;
      } catch (const InputError& error) {
        message = error.what();
      }
    }
    EXPECT_LE(static_cast<double>(fewest), 2 * std::sqrt(static_cast<double>(steps)));
    if (message.empty()) continue;
    EXPECT_NE(message.find("need at least " + std::to_string(fewest) + " slots"), std::string::npos) << message;
  }
}

/// Their dynamic programs would take minutes or days.
TEST(Mixed, RefusesProgramsThatTakeTooLong) {
  for (const char* name : {"mixed", "cams"}) {
    try {
      run(name, 1'000'000, 1000);
      FAIL();
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("use revolve or auto"), std::string::npos) << error.what();
    }
  }
}

/// A state of every eighth of the run, as far as there are slots; as many as a period needs.
TEST(WalkBack, TakesEveryStepOnceForwardAndOnceBackwards) {
  for (const auto& [slots, kept] : {std::pair(1, 1), {3, 3}, {8, 8}, {500, 8}, {-1, 8}}) {
    const ScheduleCounts counts = run("walk-back", 1000, slots);
    EXPECT_EQ(counts.plain, 999);
    EXPECT_EQ(counts.retreated, 999);
    EXPECT_EQ(counts.peak[1], kept);
    EXPECT_EQ(counts.reads[1], kept);
  }
  ScheduleRequest request{1000, {{0, 40, 0}}};
  request.period = 25;
  EXPECT_EQ(simulate(schedules().find("walk-back"), request).peak[1], 40);
  request.capacities[Tier::host] = 39;
  EXPECT_THROW(make_schedule(schedules().find("walk-back"), request), InputError);
  request.period = 1'000'000'000'000'000'000;
  EXPECT_EQ(simulate(schedules().find("walk-back"), request).peak[1], 1);
}

TEST(TwoLevel, APeriodBeyondTheEndIsTheWholeRun) {
  ScheduleRequest request{50, {{0, 3, 2}}};
  request.period = 1'000'000'000'000;
  const ScheduleCounts counts = simulate(schedules().find("twolevel"), request);
  request.period = 50;
  EXPECT_EQ(counts.plain, simulate(schedules().find("twolevel"), request).plain);
  EXPECT_EQ(counts.writes[2], 1);
}

TEST(TwoLevel, IsPredictedWithoutTakingItsSteps) {
  ScheduleRequest request{3'000'000'000, {{0, 0, -1}}};
  request.period = 1'000'000'000;
  const ScheduleCounts counts = schedules().find("twolevel").make(request).predicted;
  EXPECT_EQ(counts.writes[2], 3);
  EXPECT_EQ(counts.reads[2], 3'000'000'000);
  request.capacities[Tier::host] = 4;
  EXPECT_LT(schedules().find("twolevel").make(request).predicted.reads[2], 3 * 1000);
}

}  // namespace
}  // namespace hindsight

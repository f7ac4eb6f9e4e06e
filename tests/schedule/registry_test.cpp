// Every registered schedule, the moment it is registered, on the simulated machine over a wide grid of requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/schedule/simulated_machine.hpp"
#include "src/error.hpp"

namespace hindsight {
namespace {

/// Simulates, or answers nothing when the schedule refuses the request at the start with a message.
std::optional<ScheduleCounts> counts_of(const ScheduleKind& kind, const ScheduleRequest& request) {
  try {
    return simulate(kind, request);
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(kind.name), std::string::npos) << error.what();
    EXPECT_THROW(kind.start(request), InputError);
    return std::nullopt;
  }
}

void expect_complete(const ScheduleKind& kind, const ScheduleRequest& request) {
  const auto counts = counts_of(kind, request);
  if (!counts) return;
  const std::string at =
      kind.name + " n=" + std::to_string(request.steps) + " s=" + std::to_string(request.capacities[Tier::host]);
  EXPECT_EQ(counts->reversed, request.steps) << at;
  EXPECT_EQ(counts->recorded, request.steps) << at;
  EXPECT_EQ(counts->plain, kind.plain_steps(request)) << at;
  if (request.content == Content::state) {
    EXPECT_GE(counts->plain, request.steps - 1) << at;
  }
  EXPECT_LE(counts->peak[1], kind.slots_used(request)) << at;
  for (std::size_t tier = 0; tier < tier_count; ++tier) {
    const std::int64_t capacity = request.capacities.slots[tier];
    if (capacity >= 0) {
      EXPECT_LE(counts->peak[tier], capacity) << at;
    }
    EXPECT_GE(counts->reads[tier], counts->writes[tier]) << at << ": something is written and never read";
  }
}

class EverySchedule : public testing::TestWithParam<ScheduleKind> {};

TEST_P(EverySchedule, KeepsTheInvariantsAndItsPrediction) {
  std::vector<std::int64_t> all_steps(70);
  std::iota(all_steps.begin(), all_steps.end(), 1);
  for (const std::int64_t more : {99, 100, 101, 127, 250, 500}) all_steps.push_back(more);
  std::vector<std::int64_t> all_slots(25);
  std::iota(all_slots.begin(), all_slots.end(), 0);
  for (const std::int64_t more : {31, 50, 69, 70, 98, 99, 100, 499, 1000, -1}) all_slots.push_back(more);
  for (const std::int64_t steps : all_steps) {
    for (const std::int64_t slots : all_slots) {
      for (const Content content : {Content::state, Content::record}) {
        ScheduleRequest request{steps, {}, content};
        request.capacities.slots = {0, slots, 0};
        expect_complete(GetParam(), request);
      }
    }
  }
}

TEST_P(EverySchedule, WorksWithUnlimitedSlots) {
  for (const std::int64_t steps : {1, 2, 3, 10, 1000}) {
    EXPECT_EQ(simulate(GetParam(), {steps, {{-1, -1, -1}}, Content::state}).reversed, steps);
  }
}

TEST_P(EverySchedule, RefusesNoSlotsAndNoSteps) {
  EXPECT_THROW(GetParam().start({10, {{0, 0, 0}}, Content::state}), InputError);
  EXPECT_THROW(GetParam().start({0, {{10, 10, 10}}, Content::state}), InputError);
  EXPECT_THROW(GetParam().start({-5, {{10, 10, 10}}, Content::state}), InputError);
}

TEST_P(EverySchedule, GivesTheSameActionsTwiceAndStopsAfterDone) {
  const ScheduleRequest request{40, {{-1, 39, -1}}, Content::state};
  ActionStream first = GetParam().start(request);
  ActionStream second = GetParam().start(request);
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

INSTANTIATE_TEST_SUITE_P(All, EverySchedule, testing::ValuesIn(schedules()), parameter_name);

ScheduleCounts run(const std::string& name, std::int64_t steps, std::int64_t slots, Content content = Content::state) {
  return simulate(schedule_kind(name), {steps, {{0, slots, 0}}, content});
}

TEST(Schedules, AreFoundByName) {
  EXPECT_EQ(schedule_kind("revolve").name, "revolve");
  try {
    schedule_kind("revolv");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'revolve'?"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("store-all, none, uniform, revolve"), std::string::npos) << error.what();
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
  EXPECT_EQ(schedule_kind("none").plain_steps({4'000'000'000, {{0, 1, 0}}}), 7'999'999'998'000'000'000);
  EXPECT_THROW(schedule_kind("none").plain_steps({5'000'000'000, {{0, 1, 0}}}), InputError);
}

TEST(Uniform, TakesOneMoreSweepWithTwoRootSlots) {
  const ScheduleCounts counts = run("uniform", 10000, 200);
  EXPECT_EQ(counts.plain, 9999 + 99 * 99);
  EXPECT_LE(counts.peak[1], 200);
  EXPECT_THROW(run("uniform", 10000, 100), InputError);
}

TEST(Uniform, CountsIn64Bits) {
  const ScheduleKind& uniform = schedule_kind("uniform");
  EXPECT_EQ(uniform.plain_steps({1'000'000'000'000, {{0, 2'000'000, 0}}}), 999'999'999'999 + 999'999LL * 999'999);
  EXPECT_GT(uniform.plain_steps({9'223'372'036'854'775'807 / 2, {{0, -1, 0}}}), 4'611'686'018'427'387'902);
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

}  // namespace
}  // namespace hindsight

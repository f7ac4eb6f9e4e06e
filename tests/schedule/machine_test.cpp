// The machine refuses every kind of bad schedule, with the reason.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "adjoint/schedule/simulated_machine.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr Slot host0{Tier::host, 0};
constexpr Slot host1{Tier::host, 1};
constexpr Slot host2{Tier::host, 2};
constexpr Slot disk0{Tier::disk, 0};
constexpr Slot disk1{Tier::disk, 1};
constexpr Content state = Content::state;
constexpr Content record = Content::record;

/// What the machine says about these actions with 3 steps, 2 host slots and 1 disk slot; "" when it accepts them.
std::string verdict(const std::vector<Action>& actions) {
  SimulatedMachine machine({3, {{0, 2, 1}}}, false);
  try {
    for (const Action& action : actions) machine.execute(action);
    machine.finish();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bug);
    return error.what();
  }
  return "";
}

void expect_refused(const std::vector<Action>& actions, const std::string& reason) {
  const std::string said = verdict(actions);
  EXPECT_NE(said.find(reason), std::string::npos) << "said: '" << said << "', expected: '" << reason << "'";
}

/// A good schedule for 3 steps: states 0 and 1 in two slots.
const std::vector<Action>& good() {
  static const std::vector<Action> actions{Save{host0, 0, state},
                                           Advance{0, 1},
                                           Save{host1, 1, state},
                                           Advance{1, 2},
                                           Record{2},
                                           Turn{3},
                                           Reverse{2},
                                           Load{host1, 1, state},
                                           Record{1},
                                           Reverse{1},
                                           Release{host1},
                                           Load{host0, 0, state},
                                           Record{0},
                                           Reverse{0},
                                           Release{host0},
                                           Done{}};
  return actions;
}

/// The first `count` good actions and then others.
std::vector<Action> after(std::size_t count, const std::vector<Action>& others) {
  std::vector<Action> actions(good().begin(), good().begin() + static_cast<std::ptrdiff_t>(count));
  actions.insert(actions.end(), others.begin(), others.end());
  return actions;
}

TEST(Machine, AcceptsAndCountsAGoodSchedule) {
  SimulatedMachine machine({3, {{0, 2, 1}}}, false);
  for (const Action& action : good()) machine.execute(action);
  machine.finish();
  EXPECT_EQ(machine.counts().plain, 2);
  EXPECT_EQ(machine.counts().recorded, 3);
  EXPECT_EQ(machine.counts().reversed, 3);
  EXPECT_EQ(machine.counts().total(), 5);
  EXPECT_EQ(machine.counts().writes[1], 2);
  EXPECT_EQ(machine.counts().reads[1], 2);
  EXPECT_EQ(machine.counts().peak[1], 2);
}

TEST(Machine, CountsAMoveAtBothEnds) {
  SimulatedMachine machine({3, {{0, 2, 1}}}, false);
  for (const Action& action : std::vector<Action>{Save{host0, 0, state}, Move{host0, disk0}}) machine.execute(action);
  EXPECT_EQ(machine.counts().writes[2], 1);
  EXPECT_EQ(machine.counts().reads[1], 1);
  machine.execute(Save{host0, 0, state});
}

TEST(Machine, MovesWhileALiveRecordIsKeptOrNotNeeded) {
  SimulatedMachine machine({3, {{0, 2, 1}}}, false);
  for (const Action& action :
       std::vector<Action>{Save{host0, 0, state}, Record{0}, Save{host1, 0, record}, Move{host0, disk0}})
    EXPECT_NO_THROW(machine.execute(action));
  SimulatedMachine online({3, {{0, 2, 1}}}, true);  // its first steps are recorded in vain
  for (const Action& action : std::vector<Action>{Save{host0, 0, state}, Record{0}, Move{host0, disk0}})
    EXPECT_NO_THROW(online.execute(action));
}

TEST(Machine, NamesActionAndReason) {
  EXPECT_EQ(verdict(after(2, {Save{host0, 1, state}})),
            "checkpoint schedule broken at action 3, Save host:0 state 1: host:0 is not free: it holds state 0");
}

TEST(Machine, RefusesBadUseOfSlots) {
  expect_refused(after(7, {Load{disk0, 1, state}}), "disk:0 is empty");
  expect_refused(after(4, {Save{host2, 2, state}}), "host:2 is beyond the capacity of 2 slots");
  expect_refused({Save{Slot{Tier::device, 0}, 0, state}}, "device:0 is beyond the capacity of 0 slots");
  expect_refused({Save{Slot{Tier::host, -1}, 0, state}}, "host:-1 is beyond");
  expect_refused(after(7, {Load{host2, 1, state}}), "host:2 is beyond the capacity of 2 slots");
  expect_refused(after(4, {Save{host1, 2, state}}), "host:1 is not free: it holds state 1");
  expect_refused(after(7, {Load{host1, 0, state}}), "the slot holds state 1");
  expect_refused(after(7, {Load{host1, 1, record}}), "the slot holds state 1");
  expect_refused(after(2, {Save{host1, 0, state}}), "it saves state 0, but the live state is 1");
  expect_refused({Save{host0, 0, record}}, "it saves record 0, but there is no live record");
  expect_refused({Release{host0}}, "host:0 is empty");
  expect_refused(after(11, {Release{host1}}), "host:1 is empty");
  expect_refused({Move{host0, disk0}}, "host:0 is empty");
  expect_refused({Save{host0, 0, state}, Move{host0, host1}}, "it stays in its tier");
  expect_refused({Save{host0, 0, state}, Move{host0, disk1}}, "disk:1 is beyond the capacity of 1 slots");
  expect_refused({Save{host0, 0, state}, Save{disk0, 0, state}, Move{host0, disk0}}, "disk:0 is not free");
}

TEST(Machine, RefusesBadForwardSteps) {
  expect_refused(after(2, {Advance{2, 3}}), "it starts from state 2, but the live state is 1");
  expect_refused(after(2, {Record{2}}), "it starts from state 2, but the live state is 1");
  expect_refused(after(2, {Advance{1, 1}}), "it does not move forward");
  expect_refused(after(2, {Advance{1, 0}}), "it does not move forward");
  expect_refused({Advance{0, 4}}, "it passes the end at state 3");
  expect_refused({Advance{0, 3}, Record{3}}, "it passes the end at state 3");
  expect_refused(after(8, {Advance{1, 3}}), "it passes the adjoint's front at state 2");
  expect_refused(after(8, {Advance{1, 2}}), "it passes step 1, the next to be reversed");
  expect_refused(after(8, {Record{1}, Reverse{1}, Record{2}}), "it passes the adjoint's front at state 1");
}

TEST(Machine, RefusesToLoseARecord) {
  expect_refused({Record{0}, Advance{1, 2}}, "it overwrites the live record 0, which is still needed");
  expect_refused({Record{0}, Record{1}}, "it overwrites the live record 0, which is still needed");
  expect_refused({Record{0}, Save{host0, 0, record}, Release{host0}, Record{1}}, "it overwrites the live record 0");
  expect_refused({Record{0}, Save{host0, 0, record}, Record{1}, Load{host0, 0, record}},
                 "it overwrites the live record 1, which is still needed");
  expect_refused({Record{0}, Save{host0, 0, record}, Load{host0, 0, record}, Record{1}}, "there is no live state");
  expect_refused({Save{host0, 0, state}, Record{0}, Move{host0, disk0}}, "a record is live that is in no slot");
  expect_refused({Save{host0, 0, state}, Record{0}, Load{host0, 0, state}}, "it overwrites the live record 0");
}

TEST(Machine, RefusesBadReversal) {
  expect_refused(after(5, {Reverse{2}}), "nothing is reversed before Turn");
  expect_refused(after(6, {Reverse{1}}), "the next step to be reversed is 2");
  expect_refused(after(7, {Reverse{2}}), "the next step to be reversed is 1");
  expect_refused(after(7, {Reverse{1}}), "its record is not live: there is no live record");
  expect_refused(after(7, {Load{host0, 0, state}, Record{0}, Reverse{1}}),
                 "its record is not live: the live record is 0");
}

/// State 1 is walked back to, and 0 too, but that is gone on with only once it is loaded.
TEST(Machine, WalksBack) {
  const std::vector<Action> turned{Save{host0, 0, state}, Advance{0, 2}, Record{2}, Turn{3}};
  const auto after_turn = [&](const std::vector<Action>& more) {
    std::vector<Action> all = turned;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::vector<Action> whole = after_turn({Retreat{2, 1}, Reverse{2}, Record{1}, Retreat{1, 0}, Reverse{1},
                                                Load{host0, 0, state}, Record{0}, Reverse{0}, Release{host0}, Done{}});
  EXPECT_EQ(verdict(whole), "");
  SimulatedMachine machine({3, {{0, 2, 1}}}, false);
  for (const Action& action : whole) machine.execute(action);
  EXPECT_EQ(machine.counts().retreated, 2);
  EXPECT_EQ(machine.counts().total(), 5);
  expect_refused({Advance{0, 2}, Retreat{2, 1}}, "nothing walks back before Turn");
  expect_refused(after_turn({Retreat{2, 0}}), "it does not move one step back");
  expect_refused(after_turn({Retreat{0, -1}}), "there is no state before the first one");
  expect_refused(after_turn({Retreat{1, 0}}), "it starts from state 1, but the live state is 3");
  expect_refused(after_turn({Retreat{2, 1}, Record{1}}), "which is still needed");
  expect_refused(after_turn({Retreat{2, 1}, Reverse{2}, Record{1}, Retreat{1, 0}, Reverse{1}, Record{0}}),
                 "state 0 was walked back to: it is complete only where it is loaded");
}

TEST(Machine, RefusesBadTurns) {
  expect_refused(after(4, {Turn{3}}), "the end is not reached: the live state is 2");
  expect_refused(after(5, {Turn{2}}), "the number of steps is 3");
  expect_refused(after(6, {Turn{3}}), "the schedule has turned already");
}

TEST(Machine, RefusesBadEnds) {
  expect_refused(after(14, {Done{}}), "host:0 leaks: it still holds state 0");
  expect_refused(after(11, {Done{}}), "step 0 is not reversed");
  expect_refused({Done{}}, "the schedule never turned");
  expect_refused(after(15, {}), "it ended after action 15 without Done, 3 of 3 steps reversed");
  expect_refused(after(16, {Done{}}), "the schedule is done already");
  expect_refused(after(16, {Release{host0}}), "the schedule is done already");
}

TEST(Actions, AreReadable) {
  EXPECT_EQ(to_text(Action{Save{Slot{Tier::host, 3}, 17, state}}), "Save host:3 state 17");
  EXPECT_EQ(to_text(Action{Load{disk1, 4, record}}), "Load disk:1 record 4");
  EXPECT_EQ(to_text(Action{Advance{3, 9}}), "Advance 3 -> 9");
  EXPECT_EQ(to_text(Action{Move{host0, disk1}}), "Move host:0 -> disk:1");
  EXPECT_EQ(to_text(Action{Release{host2}}), "Release host:2");
  EXPECT_EQ(to_text(Action{Turn{3}}), "Turn at 3");
}

}  // namespace
}  // namespace hindsight

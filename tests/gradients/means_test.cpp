// Budgets and units: what is left of bytes and slots for checkpoints, counted without ranks and tiers.
#include "adjoint/gradients/means.hpp"

#include <gtest/gtest.h>

#include "adjoint/problem/simulation.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t state = 8192, working = 100 * state, table = Simulation::state_table_bytes;
constexpr std::size_t device = index_of(Tier::device), host = index_of(Tier::host), disk = index_of(Tier::disk);

std::int64_t alone(std::int64_t units) {
  return units;
}

/// 1000 steps on the host, with a memory of so many bytes.
Means on_host(std::int64_t bytes) {
  Means means;
  means.inputs.steps = means.inputs.at_most = 1000;
  means.inputs.state_bytes = state;
  means.own_working[host] = working;
  means.memory_bytes[host] = bytes;
  return means;
}

SlowTierNeeds needs(Tier tier) {
  return {{tier, state, state, 0}, 4 * state, 1000};
}

TEST(Means, HostMemoryHoldsStatesWithTheirTablesBesideTheWorkingMemory) {
  Means means = on_host(working + 10 * (state + table));
  count_units(means, alone);
  EXPECT_EQ(means.inputs.units[Tier::host], 10);
  EXPECT_EQ(means.inputs.working(Tier::host), working);
  EXPECT_EQ(means.inputs.host_bytes, 10 * (state + table));
  EXPECT_EQ(means.inputs.host_unit_bytes, state + table);
  EXPECT_TRUE(means.has_room_for(10, Tier::host));
  EXPECT_FALSE(means.has_room_for(11, Tier::host));
  EXPECT_EQ(means.inputs.units[Tier::disk], 0);
  means.memory_bytes[host] -= 1;
  count_units(means, alone);
  EXPECT_EQ(means.inputs.units[Tier::host], 9);
}

TEST(Means, RoomForFewStatesIsRoomForACheckpointAndItsSchedule) {
  Means means = on_host(working + 10 * (state + table));
  count_units(means, alone);
  const std::int64_t least = least_checkpoint_bytes(Tier::host, means.inputs);
  means.memory_bytes[host] = working + least;
  count_units(means, alone);
  EXPECT_TRUE(means.has_room_for(0, Tier::host));
  means.memory_bytes[host] -= 1;
  count_units(means, alone);
  EXPECT_FALSE(means.has_room_for(0, Tier::host));
}

TEST(Means, WhatAScheduleKeepsIsNotForSlots) {
  Means means = on_host(working + 10 * (state + table));
  means.schedule_bytes = 3 * (state + table);
  count_units(means, alone);
  EXPECT_EQ(means.inputs.units[Tier::host], 7);
}

TEST(Means, EveryRankGetsTheUnitsOfTheOneThatHasTheLeast) {
  Means means = on_host(working + 10 * (state + table));
  count_units(means, [](std::int64_t units) { return std::min<std::int64_t>(units, 4); });
  EXPECT_EQ(means.inputs.units[Tier::host], 4);
}

TEST(Means, SlotsAreCountedWithoutTheWorkingMemory) {
  Means means = on_host(0);
  means.checkpoints.host = TierBudget{TierBudget::Unit::slots, 5};
  count_units(means, alone);
  EXPECT_EQ(means.inputs.units[Tier::host], 5);
  EXPECT_EQ(means.budget(Tier::host), working + 5 * (state + table));
  EXPECT_EQ(means.inputs.host_bytes, unlimited_bytes);
  means.schedule_bytes = 777;
  count_working_memory(means);
  EXPECT_EQ(means.budget(Tier::host), working + 5 * (state + table) + 777) << "the schedule is not in slots";
  means.checkpoints.host->amount = std::int64_t{1} << 60U;
  EXPECT_THROW(count_units(means, alone), InputError);
}

TEST(Means, ADisksTransfersAndTablesTakeHostMemory) {
  Means means = on_host(working + 1000 * (state + table));
  means.checkpoints.disk = TierBudget{TierBudget::Unit::slots, 40};
  means.slow[disk] = needs(Tier::disk);
  count_units(means, alone);
  EXPECT_EQ(means.inputs.units[Tier::disk], 40);
  const std::int64_t taken = 4 * state + 1000 + means.slow[disk]->layout.table_bytes(40, 40 * state);
  EXPECT_EQ(means.inputs.working(Tier::host), working + taken);
  EXPECT_EQ(means.inputs.units[Tier::host], (1000 * (state + table) - taken) / (state + table));
  EXPECT_EQ(means.budget(Tier::disk), 40 * state);
  EXPECT_TRUE(means.has_room_for(means.inputs.units[Tier::host], Tier::host));
  EXPECT_FALSE(means.has_room_for(means.inputs.units[Tier::host] + 1, Tier::host)) << "beside transfers and tables";
  means.uses_disk = false;
  count_units(means, alone);
  EXPECT_EQ(means.inputs.units[Tier::disk], 0);
  EXPECT_EQ(means.inputs.working(Tier::host), working) << "nothing is left of earlier counts";
  EXPECT_EQ(means.inputs.units[Tier::host], 1000);
}

TEST(Means, ADiskInBytesHasTwoSlotsToSpareAndNoMoreThanTheRunCanUse) {
  Means means = on_host(working + 100000 * state);
  means.checkpoints.disk = TierBudget{TierBudget::Unit::bytes, 42 * state};
  means.slow[disk] = needs(Tier::disk);
  count_units(means, alone);
  EXPECT_EQ(means.inputs.units[Tier::disk], 40);
  means.checkpoints.disk->amount = 100000 * state;
  count_units(means, alone);
  EXPECT_EQ(means.inputs.units[Tier::disk], 999);
  means.most_units[disk] = 12;
  count_units(means, alone);
  EXPECT_EQ(means.inputs.units[Tier::disk], 12) << "it was found full";
}

TEST(Means, TablesOfADisksSlotsTakeAnEighthOfHostMemoryAtMost) {
  Means means = on_host(working + 40 * state);
  means.inputs.steps = means.inputs.at_most = 1000000;
  means.checkpoints.disk = TierBudget{TierBudget::Unit::bytes, 1000000 * state};
  means.slow[disk] = needs(Tier::disk);
  count_units(means, alone);
  const std::int64_t units = means.inputs.units[Tier::disk];
  EXPECT_GT(units, 10);
  EXPECT_LE(units * means.slow[disk]->layout.slot_table_bytes(), 40 * state / 8);
}

TEST(Means, ADevicesMemoryHoldsStatesWhoseTablesAreOnTheHost) {
  Means means = on_host(working + 1000 * state);
  means.inputs.seconds.memory = Tier::device;
  means.own_working[device] = 20 * state;
  means.memory_bytes[device] = 50 * state;
  count_units(means, alone);
  EXPECT_EQ(means.inputs.units[Tier::device], 30);
  EXPECT_EQ(means.inputs.working(Tier::host), working + 30 * table);
  EXPECT_EQ(means.inputs.units[Tier::host], 0) << "states are not kept there by reference";
}

}  // namespace
}  // namespace hindsight

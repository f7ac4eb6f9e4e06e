// The planner alone: what it chooses from sizes and costs, what it refuses, and when costs are measured again.
#include <gtest/gtest.h>

#include "adjoint/gradients/drift.hpp"
#include "adjoint/plan/plan.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

PlanInputs inputs(std::int64_t steps, std::int64_t units, std::int64_t record_units) {
  PlanInputs in;
  in.steps = in.at_most = steps;
  in.units[Tier::host] = units;
  in.record_units = record_units;
  in.state_bytes = in.host_unit_bytes = 1000;
  in.seconds = {1.0, 1.1, 2.0, 0.75, 2.0, {}, {}};
  return in;
}

TEST(Plan, ChoosesTheFastestFamily) {
  EXPECT_EQ(make_plan(inputs(100, 396, 4)).kind->name, "store-all");
  EXPECT_EQ(make_plan(inputs(100, 396, 4)).request.content, Content::record);
  EXPECT_EQ(make_plan(inputs(100, 300, 4)).kind->name, "cams");
  EXPECT_EQ(make_plan(inputs(100, 3, 4)).kind->name, "revolve");
  EXPECT_EQ(make_plan(inputs(100, 99, 1)).kind->name, "store-all");
  EXPECT_EQ(make_plan(inputs(100, 98, 1)).kind->name, "revolve");
  PlanInputs with_disk = inputs(1000, 5, 4);
  with_disk.units[Tier::disk] = 50;
  with_disk.seconds.write[2] = with_disk.seconds.read[2] = 3;
  const CheckpointPlan plan = make_plan(with_disk);
  EXPECT_EQ(plan.kind->name, "hrevolve");
  ASSERT_TRUE(plan.proven_least_seconds);
  EXPECT_LE(*plan.proven_least_seconds, plan.seconds);
  EXPECT_GT(*plan.proven_least_seconds, 0.99 * plan.seconds);
  with_disk.seconds.write[2] = with_disk.seconds.read[2] = 1e6;
  EXPECT_NE(make_plan(with_disk).kind->name, "hrevolve");
  PlanInputs open = inputs(unknown_steps, 5, 4);
  open.at_most = 1000;
  EXPECT_EQ(make_plan(open).kind->name, "online");
  open.seconds.touch = 1.0;  // as long as nobody knows what it gains, memory is worth its time
  EXPECT_EQ(make_plan(open).request.capacities[Tier::host], 5);
}

/// Where memory would hold records of all steps, too.
TEST(Plan, KeepsStatesWhereReversingFromThemIsFaster) {
  for (const char* const schedule : {"auto", "store-all"}) {
    PlanInputs in = inputs(100, 396, 4);
    in.schedule = schedule;
    in.seconds.reverses_from_state = true;
    in.seconds.record_last = 0.0;
    in.seconds.reverse = 1.9;  // 1 + 1.9 for a step, where records take 1.1 + 2
    const CheckpointPlan of_states = make_plan(in);
    EXPECT_EQ(of_states.kind->name, "store-all");
    EXPECT_EQ(of_states.request.content, Content::state);
    EXPECT_EQ(of_states.schedule.predicted.peak[1], 99);
    in.seconds.reverse = 2.2;
    EXPECT_EQ(make_plan(in).request.content, Content::record);
  }
}

/// Every step once more backwards, instead of again and again forward; where the error of that is accepted.
TEST(Plan, WalksBackWhereThatMayBeAndIsFaster) {
  PlanInputs in = inputs(1000, 10, 1);
  EXPECT_EQ(make_plan(in).kind->name, "revolve");
  in.no_walking_back = "";
  const CheckpointPlan plan = make_plan(in);
  EXPECT_EQ(plan.kind->name, "walk-back");
  EXPECT_EQ(plan.request.capacities[Tier::host], 8);
  EXPECT_NEAR(plan.seconds, 2 * 999 + 1000 * 2.75, 1e-9);
  in.units[Tier::host] = 999;
  EXPECT_EQ(make_plan(in).kind->name, "store-all");
  in.units[Tier::host] = 10;
  in.schedule = "walk-back";
  EXPECT_EQ(make_plan(in).schedule.predicted.retreated, 999);
  in.no_walking_back = "made up";
  try {
    make_plan(in);
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "schedule walk-back: made up");
  }
}

/// Making memory takes time: of one gradient, more memory is only taken where it gains more than that. The smaller of
/// two budgets is never the faster one.
TEST(Plan, TakesNoMemoryThatMakesGradientsNoFaster) {
  constexpr std::size_t host = 1;
  const auto cost = [](const CheckpointPlan& plan) { return plan.seconds + plan.memory_seconds; };
  for (const double touch : {1e-3, 1e-2, 0.1, 1.0, 10.0}) {
    PlanInputs in = inputs(1000, 4000, 4);
    in.seconds.touch = touch;
    const CheckpointPlan all = make_plan(in);
    EXPECT_LE(all.memory_seconds, 0.5 * all.seconds) << touch;
    if (touch >= 1) {
      EXPECT_LT(all.schedule.predicted.peak[host], 400) << touch;
    }
    for (const std::int64_t units : {2000, 1000, 250, 60}) {
      in.units[Tier::host] = units;
      EXPECT_LE(cost(all), 1.05 * cost(make_plan(in))) << touch << ", " << units;
    }
  }
  PlanInputs many = inputs(1000, 4000, 4);
  many.seconds.touch = 1;
  many.gradients = 100000;  // which share the memory
  EXPECT_EQ(make_plan(many).kind->name, "store-all");
}

/// No family that fits is predicted to be faster.
TEST(Plan, BeatsEveryFamilyThatFits) {
  for (const std::int64_t units : {1, 4, 20, 99, 200, 390})
    for (const double transfer : {0.5, 8.0, 64.0}) {
      PlanInputs in = inputs(100, units, 4);
      in.units[Tier::disk] = 30;
      in.seconds.write[2] = in.seconds.read[2] = transfer;
      const CheckpointPlan best = make_plan(in);
      for (const CheckpointPlan& other : all_plans(in))
        EXPECT_LE(best.seconds, other.seconds * (1 + 1e-12))
            << best.kind->name << " against " << other.kind->name << ", " << units << " units, transfer " << transfer;
    }
}

/// Of states of one number, with what is kept about each of them.
TEST(Plan, MakesRoomForWhatSchedulesKeep) {
  for (const char* schedule : {"auto", "revolve", "cams", "multistage", "online"})
    for (const std::int64_t bytes : {std::int64_t{1} << 20U, std::int64_t{1} << 24U}) {
      PlanInputs in = inputs(3000, bytes / 33, 5);
      in.schedule = schedule;
      in.state_bytes = 8;
      in.host_table_bytes = 25;
      in.host_unit_bytes = 33;
      in.host_bytes = bytes;
      const CheckpointPlan plan = make_plan(in);
      EXPECT_LE(plan.checkpoint_bytes(Tier::host, in), bytes) << schedule << ", " << bytes << " bytes";
    }
  PlanInputs in = inputs(1'000'000, (1 << 20) / 33, 5);
  in.state_bytes = 8;
  in.host_table_bytes = 25;
  in.host_unit_bytes = 33;
  in.host_bytes = 1 << 20;
  EXPECT_GE(make_plan(in).checkpoint_bytes(Tier::host, in), 0.999 * (1 << 20));
}

TEST(Plan, NamesEnoughMemory) {
  EXPECT_EQ(enough_text(1000), "1000 B");
  EXPECT_EQ(enough_text(1025), "1.002 KiB");
  EXPECT_EQ(enough_text((1 << 20) + 1), "1.001 MiB");
  EXPECT_EQ(enough_text(1 << 20), "1 MiB");
  EXPECT_EQ(enough_text((std::int64_t{123} << 20) + 1), "123.1 MiB");
}

TEST(Plan, RefusesTooLittleMemoryWithFigures) {
  PlanInputs in = inputs(100, 0, 4);
  in.working_bytes[1] = 5000;
  try {
    make_plan(in);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("together 5.907 KiB"), std::string::npos) << error.what();
  }
}

/// One rank needs more working memory than this one, and one has larger states.
TEST(Plan, RefusesWithTheFiguresOfTheRankThatNeedsTheMost) {
  PlanInputs in = inputs(100, 0, 4);
  in.working_bytes[1] = 5000;
  in.most_working[1] = 7000;
  in.host_unit_bytes = 1500;
  try {
    make_plan(in);
    FAIL();
  } catch (const InputError& error) {  // 5.907 KiB, 2000 B and 500 B
    EXPECT_NE(std::string(error.what()).find("together 8.349 KiB"), std::string::npos) << error.what();
  }
}

TEST(Plan, RecordsOfSeveralStatesAreNoMatterForMixed) {
  PlanInputs in = inputs(100, 20, 4);
  in.schedule = "mixed";
  EXPECT_THROW(make_plan(in), InputError);
  in.record_units = 1;
  EXPECT_EQ(make_plan(in).kind->name, "mixed");
}

/// Each gradient is followed by what a session does next: it measures when that is wanted.
TEST(Plan, CostsAreMeasuredAgainOncePerChange) {
  Drift drift;
  const auto measures_after = [&](double seconds) {
    drift.see(seconds, 1.0);
    const bool wants = drift.wants_measuring();
    drift.settle();
    return wants;
  };
  EXPECT_FALSE(measures_after(1.1));
  EXPECT_TRUE(measures_after(2.0)) << "another process may have begun";
  EXPECT_FALSE(measures_after(2.0)) << "measuring did not explain it";
  EXPECT_FALSE(measures_after(2.1));
  EXPECT_TRUE(measures_after(1.0)) << "it ended";
  EXPECT_FALSE(measures_after(1.9)) << "costs are right again";
  drift.see(0.05, 1.0);
  EXPECT_FALSE(drift.wants_measuring()) << "short gradients tell nothing";
}

}  // namespace
}  // namespace hindsight

// A schedule that is added from outside is one like the others: for cases, the schema, messages and gradients.
#include <algorithm>

#include "adjoint/schedule/simulated_machine.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// Every other state is kept; the first slot is that of the initial state.
ActionStream actions(std::int64_t steps) {
  const auto slot = [](std::int64_t state) { return Slot{Tier::host, state / 2}; };
  std::int64_t live = 0;
  for (std::int64_t state = 0; state < steps - 1; state += 2) {
    if (live < state) co_yield Advance{live, state};
    live = state;
    co_yield Save{slot(state), state, Content::state};
  }
  if (live < steps - 1) co_yield Advance{live, steps - 1};
  co_yield Record{steps - 1};
  co_yield Turn{steps};
  co_yield Reverse{steps - 1};
  for (std::int64_t step = steps - 2; step >= 0; --step) {
    const std::int64_t kept = step - step % 2;
    co_yield Load{slot(kept), kept, Content::state};
    if (kept < step) co_yield Advance{kept, step};
    co_yield Record{step};
    co_yield Reverse{step};
    if (kept == step) co_yield Release{slot(kept)};
  }
  co_yield Done{};
}

Schedule make(const ScheduleRequest& request) {
  const std::int64_t n = request.steps, slots = n / 2;
  if (n < 1) throw InputError("schedule every-other: it needs to know the number of steps");
  if (request.capacities[Tier::host] >= 0 && request.capacities[Tier::host] < slots)
    throw InputError("schedule every-other: it needs " + std::to_string(slots) + " slots in host memory");
  Schedule schedule;
  schedule.predicted.plain = n - 1 + (n - 1) / 2;
  schedule.predicted.recorded = schedule.predicted.reversed = n;
  schedule.predicted.peak = schedule.predicted.writes = {0, slots, 0};
  schedule.predicted.reads = {0, n - 1, 0};
  schedule.actions = [n] { return actions(n); };
  return schedule;
}

/// Keeps states and records, wherever they are to go.
Schedule make_records(const ScheduleRequest& request) {
  return schedules().find("cams").make(request);
}

void take_records(ScheduleRequest& request, const RecordOffer& records) {
  request.record_units = records.units;
}

class OwnSchedule : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    schedules().add({.name = "every-other", .summary = "every other state", .make = make});
    schedules().add({.name = "records", .summary = "some records", .make = make_records, .complete = take_records});
  }
  static Case case_with(const std::string& checkpoints) {
    return test::text_case(
        "case: own\nparameters: {k: 0.8}\nstate: {u: {initial: 1}}\nequations: {dt(u): \"-k*u^2\"}\n"
        "time: {step: 0.125, to: 5}\nobjective: [{final: u}]\nunknowns: {k: {}}\ncheckpoints: {" +
        checkpoints + "}\n");
  }
};

TEST_F(OwnSchedule, RunsOnTheSimulatedMachine) {
  for (std::int64_t n = 1; n < 40; ++n)
    EXPECT_EQ(simulate(schedules().find("every-other"), {n, {{0, -1, 0}}}).reversed, n);
}

TEST_F(OwnSchedule, IsNamedByCasesAndTheSchema) {
  EXPECT_EQ(case_with("schedule: every-other").checkpoints.schedule, "every-other");
  EXPECT_NE(case_schema().find("\"every-other\""), std::string::npos);
  try {
    case_with("schedule: every-othr");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'every-other'?"), std::string::npos) << error.what();
  }
}

TEST_F(OwnSchedule, HasTheBitsOfTheOthers) {
  Session mine(case_with("schedule: every-other, host: 30 slots"), test::self(), Sensitivities::adjoint);
  Session other(case_with("schedule: revolve, host: 7 slots"), test::self(), Sensitivities::adjoint);
  const Evaluation e = mine.gradient({});
  EXPECT_EQ(mine.plan().kind->name, "every-other");
  EXPECT_EQ(e.counts.plain, 39 + 19);
  test::expect_same_bits(mine, e, other.gradient({}));
}

TEST_F(OwnSchedule, IsRefusedWhereItDoesNotFit) {
  EXPECT_THROW(Session(case_with("schedule: every-other, host: 5 slots"), test::self(), Sensitivities::adjoint),
               InputError);
}

TEST_F(OwnSchedule, IsRefusedWhereMemoryHoldsNoRecords) {
  const auto try_in = [](const std::string& host) {
    const Case c = test::shipped_case("gray-scott", {"grid.x.cells=32", "grid.y.cells=32", "time.to=5",
                                                     "checkpoints={schedule: records, host: " + host + "}"});
    Session(c, test::self(), Sensitivities::adjoint).gradient({});
  };
  try_in("400 slots");
  try {
    try_in("{size: 400 slots, codec: lz4}");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("schedule records: it keeps stage records"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace hindsight

// The driver on steps that are made up: it knows no stepper, no grid and no schedule.
#include "adjoint/sweep/driver.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "adjoint/schedule/roles.hpp"
#include "runtime/error.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// x' = x + sin(x)/8, one number per state; a record keeps sin(x) and cos(x). The objective is the last state.
class MadeUp final : public ReversibleSteps {
 public:
  MadeUp(std::int64_t steps, Pool& pool) : steps_(steps), pool_(pool), first_(static_cast<std::size_t>(steps)) {}

  Buffer initial_state() override { return state_of(0.7); }
  Buffer advance(std::int64_t k, std::int64_t /*steps*/, Buffer state, bool first) override {
    see(k, *state.data(), first);
    return state_of(next(*state.data()));
  }
  Buffer record(std::int64_t k, const Buffer& state, bool first, bool wanted, StepRecord& record) override {
    see(k, *state.data(), first);
    record.reset();
    record.base = state;
    record.stages = pool_.acquire(2);
    double* parts[2];
    record.stages.data(parts);
    *parts[0] = std::sin(*state.data());
    *parts[1] = std::cos(*state.data());
    return wanted || first ? state_of(next(*state.data())) : Buffer();
  }
  bool is_last(std::int64_t k) const override { return k == steps_; }
  void turn(std::int64_t steps, const Buffer& last) override {
    turned_at = steps;
    objective = *last.data();
    adjoint = 1.0;
  }
  void reverse(std::int64_t k, const StepRecord& record) override {
    EXPECT_EQ(k, --expected_);
    double* parts[2];
    record.stages.data(parts);
    EXPECT_EQ(*parts[0], std::sin(*record.base.data()));
    adjoint *= 1 + *parts[1] / 8;
  }
  /// By Newton's method: as exactly as rounding lets it.
  Buffer retreat(std::int64_t k, const Buffer& state) override {
    double x = *state.data();
    for (int i = 0; i < 20; ++i) x -= (next(x) - *state.data()) / (1 + std::cos(x) / 8);
    EXPECT_NEAR(x, states_.at(static_cast<std::size_t>(k - 1)), 1e-13);
    states_[static_cast<std::size_t>(k - 1)] = x;  // what steps go on with
    return state_of(x);
  }
  void see_drift(std::int64_t k, const Buffer& walked, const Buffer& kept) override {
    compared.push_back(k);
    EXPECT_EQ(*walked.data(), states_.at(static_cast<std::size_t>(k)));
    EXPECT_NEAR(*walked.data(), *kept.data(), 1e-13);
    states_[static_cast<std::size_t>(k)] = *kept.data();
  }
  void save(BlockWriter&, bool) const override { FAIL(); }
  void restore(BlockReader&, bool) override { FAIL(); }
  void save_state(BlockWriter&, std::int64_t, const Buffer&) override { FAIL(); }
  Buffer restore_state(BlockReader&, std::int64_t) override { return {}; }
  void save_records(const KeepPiece&, std::span<const StepRecord>) const override { FAIL(); }
  void restore_records(const ReadPiece&, std::span<StepRecord>) override { FAIL(); }

  /// How often each step was taken for the first time.
  const std::vector<int>& first() const { return first_; }
  double objective = 0.0, adjoint = 0.0;
  std::int64_t turned_at = -1;
  std::vector<std::int64_t> compared;  ///< states that were walked back to

 private:
  static double next(double x) { return x + std::sin(x) / 8; }
  Buffer state_of(double x) {
    Buffer state = pool_.acquire();
    *state.data() = x;
    return state;
  }
  void see(std::int64_t k, double x, bool first) {
    if (first) {
      ++first_.at(static_cast<std::size_t>(k));
      states_.push_back(x);
    }
    EXPECT_EQ(x, states_.at(static_cast<std::size_t>(k))) << "step " << k << " begins with another state";
  }

  std::int64_t steps_, expected_ = steps_;
  Pool& pool_;
  std::vector<int> first_;
  std::vector<double> states_;
};

constexpr std::int64_t steps = 60, record_units = 3, live = 8;

ScheduleRequest request_of(std::int64_t units, bool is_online) {
  ScheduleRequest request;
  request.steps = is_online ? unknown_steps : steps;
  request.at_most = steps;
  request.capacities[Tier::host] = units;
  request.record_units = record_units;
  request.roles = {Tier::host, Tier::disk};
  return request;
}

struct Outcome {
  double objective = 0.0, adjoint = 0.0;
  DriverCounts counts;
};

Outcome driven(const Schedule& schedule, std::int64_t units, bool is_online) {
  Pool pool(live + units, 1);
  Checkpoints checkpoints(Tier::host, units, record_units, pool, {}, test::self());
  MadeUp problem(steps, pool);
  DriveOptions options;
  options.is_online = is_online;
  Outcome outcome;
  outcome.counts = drive(schedule, problem, checkpoints, options);
  outcome.objective = problem.objective;
  outcome.adjoint = problem.adjoint;
  EXPECT_EQ(problem.turned_at, steps);
  EXPECT_EQ(problem.first(), std::vector<int>(static_cast<std::size_t>(steps), 1));
  return outcome;
}

/// By the formula.
Outcome expected() {
  double x = 0.7, derivative = 1.0;
  std::vector<double> factors;
  for (std::int64_t k = 0; k < steps; ++k) {
    factors.push_back(1 + std::cos(x) / 8);
    x = x + std::sin(x) / 8;
  }
  for (std::size_t k = factors.size(); k-- > 0;) derivative *= factors[k];
  return {x, derivative, {}};
}

TEST(Driver, ExecutesEveryScheduleThatIsMetInMemory) {
  const Outcome known = expected();
  int driven_schedules = 0;
  for (const ScheduleKind& kind : schedules().all())
    for (const std::int64_t units : {4, 9, 400}) {
      Schedule schedule;
      try {
        ScheduleRequest request = request_of(units, kind.is_online);
        if (kind.complete != nullptr) kind.complete(request, {true, units == 400, record_units, 2.0});
        schedule = make_schedule(kind, request);
      } catch (const InputError&) {
        continue;  // it wants a disk, or records of one unit
      }
      SCOPED_TRACE(kind.name + ", " + std::to_string(units) + " units");
      const Outcome outcome = driven(schedule, units, kind.is_online);
      EXPECT_EQ(outcome.objective, known.objective);
      EXPECT_NEAR(outcome.adjoint, known.adjoint, kind.walks_back ? 1e-12 * known.adjoint : 0.0);
      EXPECT_EQ(outcome.counts.reversed, steps);
      EXPECT_EQ(outcome.counts.retreated, kind.walks_back ? steps - 1 : 0);
      if (schedule.predicted.reversed != unpredicted) {
        EXPECT_EQ(outcome.counts.plain, schedule.predicted.plain);
        EXPECT_EQ(outcome.counts.recorded, schedule.predicted.recorded);
        EXPECT_EQ(outcome.counts.peak, schedule.predicted.peak);
      }
      ++driven_schedules;
    }
  EXPECT_GE(driven_schedules, 12);
}

TEST(Driver, SaysHowFarItIs) {
  std::int64_t forward = -1, reversed = -1;
  Pool pool(live + 9, 1);
  Checkpoints checkpoints(Tier::host, 9, record_units, pool, {}, test::self());
  MadeUp problem(steps, pool);
  DriveOptions options;
  options.progress = [&](std::int64_t f, std::int64_t r) {
    EXPECT_GE(f, forward);
    EXPECT_GE(r, reversed);
    forward = f;
    reversed = r;
  };
  const DriverCounts counts =
      drive(make_schedule(schedules().find("revolve"), request_of(9, false)), problem, checkpoints, options);
  EXPECT_GT(forward, counts.total() - 32);
  EXPECT_GT(reversed, steps - 32);
}

TEST(Driver, LeavesNothingInSlotsWhenAStepFails) {
  class Failing final : public ReversibleSteps {
   public:
    explicit Failing(ReversibleSteps& real) : steps_(real) {}
    Buffer initial_state() override { return steps_.initial_state(); }
    Buffer advance(std::int64_t k, std::int64_t count, Buffer state, bool first) override {
      return steps_.advance(k, count, std::move(state), first);
    }
    Buffer record(std::int64_t k, const Buffer& state, bool first, bool wanted, StepRecord& record) override {
      return steps_.record(k, state, first, wanted, record);
    }
    bool is_last(std::int64_t k) const override { return steps_.is_last(k); }
    void turn(std::int64_t n, const Buffer& last) override { steps_.turn(n, last); }
    void reverse(std::int64_t k, const StepRecord& record) override {
      if (k == steps / 2) throw NumericsError("made up");
      steps_.reverse(k, record);
    }
    Buffer retreat(std::int64_t k, const Buffer& state) override { return steps_.retreat(k, state); }
    void see_drift(std::int64_t k, const Buffer& walked, const Buffer& kept) override {
      steps_.see_drift(k, walked, kept);
    }
    void save(BlockWriter&, bool) const override {}
    void restore(BlockReader&, bool) override {}
    void save_state(BlockWriter&, std::int64_t, const Buffer&) override {}
    Buffer restore_state(BlockReader&, std::int64_t) override { return {}; }
    void save_records(const KeepPiece&, std::span<const StepRecord>) const override {}
    void restore_records(const ReadPiece&, std::span<StepRecord>) override {}

   private:
    ReversibleSteps& steps_;
  };
  Pool pool(live + 9, 1);
  Checkpoints checkpoints(Tier::host, 9, record_units, pool, {}, test::self());
  const Schedule schedule = make_schedule(schedules().find("revolve"), request_of(9, false));
  {
    MadeUp problem(steps, pool);
    Failing failing(problem);
    EXPECT_THROW(drive(schedule, failing, checkpoints, {}), NumericsError);
  }
  std::vector<Buffer> all;
  for (std::int64_t i = 0; i < live + 9; ++i) all.push_back(pool.acquire());  // none is held any more
  all.clear();
  MadeUp problem(steps, pool);
  drive(schedule, problem, checkpoints, {});
  EXPECT_EQ(problem.adjoint, expected().adjoint);
}

/// Actions as they are.
Schedule schedule_of(std::vector<Action> all) {
  Schedule schedule;
  schedule.actions = [all = std::move(all)] {
    return [](std::vector<Action> actions) -> ActionStream {
      for (const Action& action : actions) co_yield action;
    }(all);
  };
  return schedule;
}

/// What is said about actions on five steps and three slots.
std::string refusal_of(const std::vector<Action>& actions) {
  Pool pool(live + 9, 1);
  Checkpoints checkpoints(Tier::host, 3, record_units, pool, {}, test::self());
  MadeUp problem(5, pool);
  DriveOptions options;
  options.steps = 5;
  try {
    drive(schedule_of(actions), problem, checkpoints, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bug);
    return error.what();
  }
  return "";
}

TEST(Driver, RefusesActionsThatLackWhatTheyNeed) {
  const Slot first{Tier::host, 0}, beyond{Tier::host, 3}, nowhere{Tier::disk, 0};
  constexpr auto state = Content::state, record = Content::record;
  const std::vector<Action> turned{Save{first, 0, state}, Advance{0, 4}, Record{4}, Turn{5}, Reverse{4}};
  const auto after_turn = [&](const std::vector<Action>& more) {
    std::vector<Action> all = turned;
    all.insert(all.end(), more.begin(), more.end());
    return refusal_of(all);
  };
  const std::string broken = "checkpoint schedule broken at action ";
  EXPECT_EQ(refusal_of({Advance{2, 3}}), broken + "1, Advance 2 -> 3: it starts from state 2, but the live state is 0");
  EXPECT_EQ(refusal_of({Advance{0, 0}}), broken + "1, Advance 0 -> 0: it does not move forward");
  EXPECT_EQ(refusal_of({Advance{0, 6}}), broken + "1, Advance 0 -> 6: it passes the end at state 5");
  EXPECT_EQ(refusal_of({Advance{0, 5}, Record{5}}), broken + "2, Record 5: it passes the end at state 5");
  EXPECT_EQ(refusal_of({Record{1}}), broken + "1, Record 1: it starts from state 1, but the live state is 0");
  EXPECT_EQ(refusal_of({Record{0}, Reverse{0}}), broken + "2, Reverse 0: nothing is reversed before Turn");
  EXPECT_EQ(refusal_of({Advance{0, 4}, Turn{4}}), broken + "2, Turn at 4: the number of steps is 5");
  EXPECT_EQ(refusal_of({Advance{0, 4}, Turn{5}}), broken + "2, Turn at 5: the end is not reached: the live state is 4");
  EXPECT_EQ(refusal_of({Save{first, 1, state}}),
            broken + "1, Save host:0 state 1: it saves state 1, but the live " + "state is 0");
  EXPECT_EQ(refusal_of({Save{first, 0, record}}),
            broken + "1, Save host:0 record 0: it saves record 0, but there is no live record");
  EXPECT_EQ(refusal_of({Save{beyond, 0, state}}),
            broken + "1, Save host:3 state 0: host:3 is beyond the capacity of 3 slots");
  EXPECT_EQ(refusal_of({Save{nowhere, 0, state}}),
            broken + "1, Save disk:0 state 0: disk:0 is beyond the capacity of 0 slots");
  EXPECT_EQ(refusal_of({Save{first, 0, state}, Save{first, 0, state}}),
            broken + "2, Save host:0 state 0: host:0 is not free: it holds state 0");
  EXPECT_EQ(refusal_of({Load{first, 0, state}}), broken + "1, Load host:0 state 0: host:0 is empty");
  EXPECT_EQ(refusal_of({Load{beyond, 0, state}}),
            broken + "1, Load host:3 state 0: host:3 is beyond the capacity of 3 slots");
  EXPECT_EQ(refusal_of({Release{first}}), broken + "1, Release host:0: host:0 is empty");
  EXPECT_EQ(refusal_of({Move{first, nowhere}}), broken + "1, Move host:0 -> disk:0: host:0 is empty");
  EXPECT_EQ(after_turn({Advance{5, 6}}),
            broken + "6, Advance 5 -> 6: it starts from state 5, but there is no live state");
  EXPECT_EQ(after_turn({Load{first, 3, state}}), broken + "6, Load host:0 state 3: the slot holds state 0");
  EXPECT_EQ(after_turn({Load{first, 0, record}}), broken + "6, Load host:0 record 0: the slot holds state 0");
  EXPECT_EQ(after_turn({Load{first, 0, state}, Advance{0, 5}}),
            broken + "7, Advance 0 -> 5: it passes the adjoint's front at state 4");
  EXPECT_EQ(after_turn({Reverse{3}}), broken + "6, Reverse 3: its record is not live: there is no live record");
  EXPECT_EQ(after_turn({Load{first, 0, state}, Record{0}, Reverse{0}}),
            broken + "8, Reverse 0: the next step to be reversed is 3");
}

/// What is walked back to is compared where it was kept, the first state too, and what was kept is gone on with.
TEST(Driver, ShowsStatesThatWereWalkedBackToBesideKeptOnes) {
  Pool pool(live + 3, 1);
  Checkpoints checkpoints(Tier::host, 3, record_units, pool, {}, test::self());
  MadeUp problem(steps, pool);
  drive(make_schedule(schedules().find("walk-back"), request_of(3, false)), problem, checkpoints, {});
  EXPECT_EQ(problem.compared, (std::vector<std::int64_t>{40, 20, 0}));
}

TEST(Driver, RefusesBadWaysBack) {
  const std::string broken = "checkpoint schedule broken at action ";
  EXPECT_EQ(refusal_of({Advance{0, 4}, Retreat{4, 3}}), broken + "2, Retreat 4 -> 3: nothing walks back before Turn");
  const auto after_turn = [](const Action& action) { return refusal_of({Advance{0, 4}, Record{4}, Turn{5}, action}); };
  EXPECT_EQ(after_turn(Retreat{4, 2}), broken + "4, Retreat 4 -> 2: it does not move one step back");
  EXPECT_EQ(after_turn(Retreat{0, -1}), broken + "4, Retreat 0 -> -1: there is no state before the first one");
  EXPECT_EQ(after_turn(Retreat{3, 2}),
            broken + "4, Retreat 3 -> 2: it starts from state 3, but there is no live state");
}

TEST(Driver, RefusesToEndBeforeAllStepsAreReversed) {
  const std::vector<Action> turned{Advance{0, 4}, Record{4}, Turn{5}, Reverse{4}};
  EXPECT_EQ(refusal_of(turned),
            "checkpoint schedule broken: it ended after action 4 without Done, 1 of 5 steps reversed");
  std::vector<Action> done = turned;
  done.emplace_back(Done{});
  EXPECT_EQ(refusal_of(done), "checkpoint schedule broken at action 5, Done: step 3 is not reversed");
  EXPECT_EQ(refusal_of({Done{}}), "checkpoint schedule broken at action 1, Done: the schedule never turned");
}

Buffer driven_forward(MadeUp& problem, std::int64_t most, bool is_online) {
  DriveOptions options;
  options.is_online = is_online;
  return drive_forward(most, problem, options);
}

TEST(Driver, TakesEachStepOnceOnAWayForward) {
  Pool pool(live, 1);
  MadeUp problem(steps, pool);
  const Buffer last = driven_forward(problem, steps, false);
  EXPECT_EQ(*last.data(), expected().objective);
  EXPECT_EQ(problem.first(), std::vector<int>(static_cast<std::size_t>(steps), 1));
}

TEST(Driver, EndsAWayForwardWhereTheProblemSays) {
  Pool pool(live, 1);
  MadeUp problem(steps, pool);
  const Buffer last = driven_forward(problem, 1000 * steps, true);
  EXPECT_EQ(*last.data(), expected().objective);
}

}  // namespace
}  // namespace hindsight

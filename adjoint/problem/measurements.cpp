#include "adjoint/problem/measurements.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "adjoint/schedule/roles.hpp"
#include "adjoint/store/memory_tier.hpp"
#include "runtime/cores.hpp"
#include "runtime/error.hpp"
#include "runtime/stop_request.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {
namespace {

/// Of three or more numbers without the least and the largest. A run pays for slow steps too, which a median leaves
/// out.
double mean_without_extremes(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::ptrdiff_t left_out = samples.size() < 3 ? 0 : 1;
  const auto begin = samples.begin() + left_out, end = samples.end() - left_out;
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

/// Seconds of work that is not repeated: in every run; in one of few steps, which would be over before it is planned.
constexpr double very_long = 0.5, long_for_few = 0.02;
constexpr std::int64_t few_steps = 50;

/// Collective.
double seconds_once(const Communicator& comm, Machine& machine, const std::function<void()>& work) {
  stop_if_asked(comm);
  machine.finish();
  const Stopwatch watch;
  work();
  machine.finish();
  return comm.max(watch.seconds());
}

/// Seconds of one call of `work`: the mean of `repeats` batches of about `enough` seconds without the fastest and the
/// slowest, of fewer where calls take long. The first call, which touches memory for the first time, counts only where
/// it takes so long that this does not matter. Collective.
/// @param too_long seconds of a call that is not repeated.
double seconds_of(const Communicator& comm, Machine& machine, int repeats, double enough, double too_long,
                  const std::function<void()>& work) {
  const auto seconds_of_batch = [&](std::int64_t calls) {
    return seconds_once(comm, machine, [&] {
      for (std::int64_t k = 0; k < calls; ++k) work();
    });
  };
  constexpr std::int64_t largest = 1 << 20;
  if (const double first = seconds_of_batch(1); first > too_long) return first;
  std::int64_t batch = 1;
  double seconds = seconds_of_batch(batch);
  while (seconds < enough && batch < largest) {
    const double wanted = 1.2 * static_cast<double>(batch) * enough / std::max(seconds, 1e-9);
    batch = std::clamp(static_cast<std::int64_t>(std::min(wanted, 4.0 * largest)), batch + 1, 4 * batch);
    seconds = seconds_of_batch(batch);
  }
  const double most = std::max(0.1, 1.5 * enough * repeats);
  std::vector<double> samples{seconds / static_cast<double>(batch)};
  for (double all = seconds; static_cast<int>(samples.size()) < repeats && all < most; all += seconds) {
    seconds = seconds_of_batch(batch);
    samples.push_back(seconds / static_cast<double>(batch));
  }
  return mean_without_extremes(std::move(samples));
}

/// Numbers 0 to count - 1 in turn.
class Turns {
 public:
  explicit Turns(std::int64_t count) : count_(count) {}
  std::int64_t next() { return at_ = (at_ + 1) % count_; }

 private:
  std::int64_t count_, at_ = 0;
};

/// Steps of a run one after another, each from the state that the one before has made, as a run takes them: from one
/// state again and again they take less, because caches hold it. After the last one the first follows.
class Walk {
 public:
  Walk(Buffer initial, std::int64_t steps) : initial_(std::move(initial)), at_(initial_), steps_(steps) {}
  /// @param take (step, state) -> the next state.
  template <class Take>
  const Buffer& go(const Take& take) {
    begin_again();
    at_ = take(k_++, std::move(at_));
    return at_;
  }
  /// As a sweep does, with steps that are taken at once. @returns how many.
  std::int64_t go_on(SimulatedSteps& steps) {
    begin_again();
    const std::int64_t count = steps.steps_at_once(k_, steps_, at_, false);
    at_ = steps.advance(k_, count, std::move(at_), false);
    k_ += count;
    return count;
  }

 private:
  void begin_again() {
    if (k_ < steps_) return;
    k_ = 0;
    at_ = initial_;
  }
  Buffer initial_, at_;
  std::int64_t k_ = 0, steps_;
};

}  // namespace

std::int64_t Measurements::units(std::int64_t most) const {
  constexpr std::int64_t cold = std::int64_t{96} << 20;
  const std::int64_t unit = states_.bytes() + Pool::table_bytes + std::int64_t{sizeof(StepRecord)};
  const std::int64_t units = std::min({most, cold / unit, std::max<std::int64_t>(8, steps_.count() / 20)});
  return -problem_.communicator().max(-units);
}

void Measurements::rehearse(StepSeconds& seconds, int repeats, double batch, std::int64_t units) {
  // Steps could be found to be the last ones; and a device would learn to expect what comes but once.
  if (problem_.has_end_condition() || !problem_.time().is_known() || !problem_.machine().is_host()) return;
  if (problem_.stepper().solved_to() > 0.0) return;  // iterations from a rehearsal's adjoint of zero take nothing
  repeats = std::min(repeats, 5);
  try {
    steps_.begin();
    steps_.reverse_from_state(seconds.reverses_from_state);
    seconds.aside = aside(seconds, repeats, batch, units);
    const double each = of_transfers(seconds, repeats, batch, units);
    seconds.save = std::max(0.0, seconds.save + each);
    seconds.load = std::max(0.0, seconds.load + each);
  } catch (const NumericsError&) {  // the run itself will say it
  }
}

StepSeconds Measurements::steps(int repeats, double batch, std::int64_t units, bool chooses) {
  StepSeconds seconds;
  const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const auto measured = [&](const std::function<void()>& work) {
    return seconds_of(problem_.communicator(), problem_.machine(), repeats, batch,
                      recorded() < few_steps ? long_for_few : very_long, work);
  };
  const Buffer state = steps_.first_state();
  problem_.tables().bind_state(problem_.symbols().lambda, steps_.adjoint());
  const auto begin_adjoint = [&] {
    const StateBlocks lambda = steps_.adjoint(), values = state.blocks();
    problem_.machine().copy(lambda.now, values.now, problem_.block_doubles());
    if (lambda.before != nullptr) problem_.machine().copy(lambda.before, values.before, problem_.block_doubles());
  };
  begin_adjoint();
  // One that is reversed in its place again and again may come to nothing, or to numbers that processors are slow with.
  std::int64_t reversed = 0;
  const auto reverse_once = [&](std::int64_t k, const StepRecord& record) {
    constexpr std::int64_t often = 32;
    if (problem_.stepper().may_overwrite_adjoint() && ++reversed % often == 0) begin_adjoint();
    reverse(k, record);
  };
  // Two steps in turn: random numbers that are there already would cost nothing.
  steps_.reach(0, state);
  Turns step(std::min<std::int64_t>(2, recorded()));

  Walk walk(state, recorded());
  const auto advance = [&](std::int64_t k, Buffer from) { return steps_.advance(k, 1, std::move(from), false); };
  const bool is_walked = problem_.stepper().reverses_from_state();
  const auto settle = [&](bool of_reversals, const auto& work) {
    constexpr double longest = 1.0;  // seconds
    const Communicator& comm = problem_.communicator();
    const Stopwatch watch;
    while (comm.any(problem_.stepper().tries_ways(of_reversals)) && !comm.any(watch.seconds() > longest)) work();
  };
  settle(false, [&] { walk.go(advance); });
  const double one = measured([&] { walk.go(advance); });
  seconds.forward = one;
  if (steps_.takes_several(recorded())) {
    std::int64_t taken = 0, times = 0;
    const double at_once = measured([&] {
      taken += walk.go_on(steps_);
      ++times;
    });
    seconds.forward = at_once * static_cast<double>(times) / static_cast<double>(taken);
  }
  for (const bool from_state : {false, true}) {
    if (from_state && !(chooses && is_walked)) break;
    steps_.reverse_from_state(from_state);
    StepRecord live;
    if (from_state)
      settle(true, [&] {
        steps_.record(step.next(), state, false, false, live);
        reverse_once(0, live);
      });
    const double record = measured([&] { steps_.record(step.next(), state, false, false, live); });
    const double alone = measured([&] { reverse_once(0, live); });
    if (from_state && record + alone >= seconds.record_last + seconds.reverse) break;
    live.reset();
    // Between plain steps, as in a sweep: alone they find all in the caches that they have left there.
    const double all = measured([&] {
      walk.go([&](std::int64_t k, Buffer from) {
        const std::int64_t other = (k + 1) % recorded();
        steps_.record(other, from, false, false, live);
        reverse_once(other, live);
        live.reset();
        return advance(k, std::move(from));
      });
    });
    const double reversal = std::max(alone, all - one - record);
    if (!from_state) seconds.reverse_kept = reversal;
    if (from_state && record + reversal >= seconds.record_last + seconds.reverse) break;
    seconds.record_last = record;
    seconds.reverse = reversal;
    seconds.reverses_from_state = from_state;
  }
  steps_.reverse_from_state(false);
  units = std::min(units, static_cast<std::int64_t>(std::min(1e9, 0.5 / seconds.forward)));
  seconds.record = one;
  // Several in the places of two levels end at a state that is kept; others go on from it.
  const double unkept = problem_.stepper().levels() > 1 ? seconds.forward : one;
  if (units < 1) return seconds;  // nothing can be kept
  if (units < record_units()) {   // a record fills what caches hold
    StepRecord live;
    seconds.record = measured([&] {
      walk.go([&](std::int64_t k, const Buffer& from) { return steps_.record(k, from, false, true, live); });
    });
    live.reset();
    Buffer last;
    const double kept = measured([&] { last = walk.go(advance); });
    seconds.save = std::max(0.0, kept - unkept);
    return seconds;
  }
  {
    CountedVector<StepRecord> records(count(units / record_units()));
    Turns turn(std::ssize(records));
    seconds.record = measured([&] {
      walk.go([&](std::int64_t k, const Buffer& from) {
        return steps_.record(k, from, false, true, records[count(turn.next())]);
      });
    });
    for (StepRecord& r : records) steps_.record(0, state, false, false, r);
    seconds.reverse_kept = measured([&] { reverse(step.next(), records[count(turn.next())]); });
  }
  CountedVector<Buffer> states(count(units));
  Turns turn(units);
  for (Buffer& s : states) s = steps_.advance(0, 1, state, false);
  const double kept = measured([&] { states[count(turn.next())] = walk.go(advance); });
  seconds.save = std::max(0.0, kept - unkept);
  const double loaded =
      measured([&] { const Buffer end = steps_.advance(step.next(), 1, states[count(turn.next())], false); });
  seconds.load = std::max(0.0, loaded - unkept);
  return seconds;
}

/// By gradients over the first steps of the run, of two lengths, so that what comes once in a gradient does not count,
/// and by the bare operations of the longer one: all at nearly the same moment, because the difference is small beside
/// them.
double Measurements::aside(const StepSeconds& seconds, int repeats, double batch, std::int64_t units) {
  const Communicator& comm = problem_.communicator();
  const double each = seconds.record + seconds.reverse_kept;
  const std::int64_t most = std::min(steps_.count(), units / 2 / record_units() + 1) / 3;  // two tables
  const std::int64_t length = std::min(most, 1 + static_cast<std::int64_t>(std::min(1e6, batch / each)));
  const std::int64_t steps = -comm.max(-length);
  if (steps < 1) return 0.0;
  const Tier memory = memory_tier(problem_.machine());
  Checkpoints checkpoints(memory, (3 * steps - 1) * record_units(), record_units(), states_.pool(), {}, comm);
  CountedVector<StepRecord> records(static_cast<std::size_t>(3 * steps));
  const Schedule longer = storing_all(3 * steps), shorter = storing_all(steps);
  const double least = -0.5 * std::min(each, seconds.record_last + seconds.reverse);
  const auto of_step = [&](double more, double bare) {
    return (more - 2.0 / 3.0 * bare) / static_cast<double>(2 * steps);
  };
  const double first = gradient_seconds(longer, checkpoints);  // touches memory for the first time
  if (first > very_long)
    return std::max(least, of_step(first - gradient_seconds(shorter, checkpoints), 3.0 * each * steps));
  std::vector<double> samples;
  for (int i = 0; i < repeats; ++i) {
    const double more = gradient_seconds(longer, checkpoints) - gradient_seconds(shorter, checkpoints);
    const double bare = seconds_once(comm, problem_.machine(), [&] { bare_gradient_over(records); });
    samples.push_back(of_step(more, bare));
  }
  return std::max(least, mean_without_extremes(std::move(samples)));
}

/// What saving or loading a state in the memory that it was made in takes for the driver, and what steps take otherwise
/// among others; negative where that is less. By gradients over the first steps with few checkpoints, of a few batches;
/// of steps that take long nobody would notice.
double Measurements::of_transfers(const StepSeconds& seconds, int repeats, double batch, std::int64_t units) {
  constexpr std::int64_t few = 12, least = 100, most = 50'000;
  constexpr double is_long = 2e-5, batches = 4;
  const std::int64_t slots = std::min(few, units / 2);
  if (seconds.forward > is_long || slots < 1) return 0.0;
  const auto known = [&](const ScheduleCounts& counts) {
    return seconds.forward * static_cast<double>(counts.plain) +
           (seconds.record_last + seconds.reverse + seconds.aside) * static_cast<double>(counts.recorded);
  };
  std::int64_t steps = std::min(most, steps_.count());
  while (steps >= least && known(revolving(steps, slots).predicted) > batches * batch) steps /= 2;
  if (steps < least) return 0.0;
  const Tier memory = memory_tier(problem_.machine());
  const Schedule schedule = revolving(steps, slots);
  Checkpoints checkpoints(memory, slots, record_units(), states_.pool(), {}, problem_.communicator());
  DriverCounts counts;
  gradient_seconds(schedule, checkpoints, &counts);
  std::vector<double> samples;
  for (int i = 0; i < repeats; ++i) samples.push_back(gradient_seconds(schedule, checkpoints));
  const std::int64_t transfers = counts.writes[index_of(memory)] + counts.reads[index_of(memory)];
  return (mean_without_extremes(std::move(samples)) - known(counts)) / static_cast<double>(transfers);
}

/// Of a gradient over the first steps of the run, by the driver.
double Measurements::gradient_seconds(const Schedule& schedule, Checkpoints& checkpoints, DriverCounts* counts) {
  const double seconds = seconds_once(problem_.communicator(), problem_.machine(), [&] {
    const DriverCounts taken = drive(schedule, steps_, checkpoints, {});
    if (counts != nullptr) *counts = taken;
  });
  steps_.let_go();
  return seconds;
}

/// Of so many units in the memory that states are made in.
ScheduleRequest Measurements::request(std::int64_t steps, std::int64_t slots) const {
  ScheduleRequest request;
  request.steps = steps;
  request.roles.memory = memory_tier(problem_.machine());
  request.capacities[request.roles.memory] = slots;
  return request;
}

/// With few states.
Schedule Measurements::revolving(std::int64_t steps, std::int64_t slots) const {
  return make_schedule(schedules().find("revolve"), request(steps, slots));
}

/// With a record of every step.
Schedule Measurements::storing_all(std::int64_t steps) const {
  ScheduleRequest all = request(steps, (steps - 1) * record_units());
  all.content = Content::record;
  all.record_units = record_units();
  return make_schedule(schedules().find("store-all"), all);
}

/// As rehearsed with a record of every step, without driver and objective.
void Measurements::bare_gradient_over(std::span<StepRecord> records) {
  Buffer state = steps_.first_state();
  for (std::int64_t k = 0; k < std::ssize(records); ++k)
    state = steps_.record(k, state, false, true, records[static_cast<std::size_t>(k)]);
  for (std::int64_t k = std::ssize(records); k-- > 0;) {
    StepRecord& record = records[static_cast<std::size_t>(k)];
    reverse(k, record);
    record.reset();
  }
}

TransferSeconds Measurements::transfers(SlotTier& tier, std::int64_t slots) {
  const Communicator& comm = problem_.communicator();
  Machine& machine = problem_.machine();
  // Of the steps' processor time; a device's steps take none.
  const double taken = machine.is_host() ? 1.0 - std::min(1.0, spare_cores(comm)) : 0.0;
  const auto per_slot = [&](double seconds) { return comm.max(seconds / static_cast<double>(slots)); };
  auto elapsed = [&machine, watch = Stopwatch()]() mutable {
    machine.finish();
    return std::exchange(watch, {}).seconds();
  };
  tier.clear();
  Buffer state = steps_.first_state();
  elapsed();
  for (std::int64_t i = 0; i < slots; ++i) {
    stop_if_asked(comm);
    state = steps_.advance(0, 1, std::move(state), false);
    tier.save(i, state, i);
  }
  tier.finish();
  TransferSeconds seconds;
  // At most what its thread was busy: where that is less than a step, transfers wait for steps.
  seconds.write = per_slot(std::min(elapsed(), tier.traffic().write_busy));
  seconds.write_delay = taken * per_slot(tier.traffic().write_cpu);
  for (std::int64_t i = 0, next = 0; i < slots; ++i) {
    stop_if_asked(comm);
    while (next < slots && tier.prefetch(next, states_.pool())) ++next;
    next = std::max(next, i + 1);
    state.reset();
    state = tier.load(i, states_.pool());
    if (comm.any(!state)) state = steps_.first_state();
    state = steps_.advance(0, 1, std::move(state), false);
    tier.release(i);
  }
  seconds.read = per_slot(std::min(elapsed(), tier.traffic().read_busy));
  seconds.read_delay = taken * per_slot(tier.traffic().read_cpu);
  tier.clear();
  return seconds;
}

}  // namespace hindsight

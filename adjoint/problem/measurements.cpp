#include "adjoint/problem/measurements.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "adjoint/schedule/roles.hpp"
#include "adjoint/store/memory_tier.hpp"
#include "runtime/cores.hpp"
#include "runtime/error.hpp"
#include "runtime/stop_request.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {
namespace {

/// Seconds of one call of `work`: the median of `repeats` batches of about `enough` seconds, of fewer where calls take
/// long. The first call, which touches memory for the first time, counts only where it takes so long that this does not
/// matter. Collective.
double seconds_of(const Communicator& comm, Machine& machine, int repeats, double enough,
                  const std::function<void()>& work) {
  const auto seconds_of_batch = [&](std::int64_t calls) {
    stop_if_asked(comm);
    machine.finish();
    const Stopwatch watch;
    for (std::int64_t k = 0; k < calls; ++k) work();
    machine.finish();
    return comm.max(watch.seconds());
  };
  constexpr double very_long = 0.5;
  constexpr std::int64_t largest = 1 << 20;
  if (const double first = seconds_of_batch(1); first > very_long) return first;
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
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

/// Numbers 0 to count - 1 in turn.
class Turns {
 public:
  explicit Turns(std::int64_t count) : count_(count) {}
  std::int64_t next() { return at_ = (at_ + 1) % count_; }

 private:
  std::int64_t count_, at_ = 0;
};

}  // namespace

std::int64_t Measurements::units(std::int64_t most) const {
  constexpr std::int64_t cold = std::int64_t{96} << 20, enough = 4096;
  const std::int64_t units =
      std::min({most, cold / problem_.state_bytes(), enough, std::max<std::int64_t>(8, problem_.time().steps() / 20)});
  return -problem_.communicator().max(-units);
}

StepSeconds Measurements::steps(int repeats, double batch, std::int64_t units) {
  StepSeconds seconds;
  operations(seconds, repeats, batch, units);
  seconds.aside = aside(seconds, repeats, batch, units);
  return seconds;
}

void Measurements::operations(StepSeconds& seconds, int repeats, double batch, std::int64_t units) {
  const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const auto measured = [&](const std::function<void()>& work) {
    return seconds_of(problem_.communicator(), problem_.machine(), repeats, batch, work);
  };
  const auto reverse = [&](const StepRecord& record, std::int64_t k) {
    steps_.batched([&] { steps_.reverse_step(k, record); });
  };
  const Buffer state = steps_.initial_state();
  problem_.tables().bind_state(problem_.symbols().lambda, steps_.adjoint());
  problem_.machine().copy(steps_.adjoint(), state.data(), problem_.state_doubles());
  // Two steps in turn: random numbers that are there already would cost nothing.
  problem_.time().reach(0, {problem_.grid(), state.data()});
  Turns step(std::min<std::int64_t>(2, problem_.time().recorded()));

  seconds.forward = measured([&] { const Buffer end = steps_.advance(step.next(), state, false); });
  {
    StepRecord live;
    seconds.record_last = measured([&] { steps_.record(step.next(), state, false, false, live); });
    seconds.reverse = measured([&] { reverse(live, 0); });
  }
  seconds.record = seconds.forward;
  seconds.reverse_kept = seconds.reverse;
  units = std::min(units, static_cast<std::int64_t>(std::min(1e9, 0.5 / seconds.forward)));
  if (units < record_units()) return;  // nothing can be kept
  {
    CountedVector<StepRecord> records(count(units / record_units()));
    Turns turn(std::ssize(records));
    seconds.record = measured(
        [&] { const Buffer end = steps_.record(step.next(), state, false, true, records[count(turn.next())]); });
    for (StepRecord& r : records) steps_.record(0, state, false, false, r);
    seconds.reverse_kept = measured([&] { reverse(records[count(turn.next())], step.next()); });
  }
  CountedVector<Buffer> states(count(units));
  Turns turn(units);
  const double kept = measured([&] { states[count(turn.next())] = steps_.advance(step.next(), state, false); });
  seconds.save = std::max(0.0, kept - seconds.forward);
  for (Buffer& s : states) s = steps_.advance(0, state, false);
  const double loaded =
      measured([&] { const Buffer end = steps_.advance(step.next(), states[count(turn.next())], false); });
  seconds.load = std::max(0.0, loaded - seconds.forward);
}

/// By gradients over the first steps of the run, of two lengths, so that what comes once in a gradient does not count.
double Measurements::aside(const StepSeconds& seconds, int repeats, double batch, std::int64_t units) {
  // These steps could be found to be the last ones; and a device would learn to expect what comes but once.
  const TimeLine& time = problem_.time();
  if (problem_.has_end_condition() || !time.is_known() || !problem_.machine().is_host()) return 0.0;
  const Communicator& comm = problem_.communicator();
  const double each = seconds.record + seconds.reverse_kept;
  const std::int64_t most = std::min(time.steps(), units / record_units() + 1) / 3;
  const std::int64_t length = std::min(most, 1 + static_cast<std::int64_t>(std::min(1e6, batch / each)));
  const std::int64_t steps = -comm.max(-length);
  if (steps < 1) return 0.0;
  const Tier memory = memory_tier(problem_.machine());
  Checkpoints checkpoints(memory, (3 * steps - 1) * record_units(), record_units(), states_.pool(), {}, comm);
  const auto seconds_over = [&](std::int64_t n) {
    ScheduleRequest request;
    request.steps = n;
    request.content = Content::record;
    request.record_units = record_units();
    request.capacities[memory] = (n - 1) * record_units();
    request.roles.memory = memory;
    const Schedule schedule = make_schedule(schedule_kind("store-all"), request);
    const double taken =
        seconds_of(comm, problem_.machine(), repeats, batch, [&] { drive(schedule, steps_, checkpoints, {}); });
    steps_.let_go();
    return taken;
  };
  try {
    steps_.begin();
    const double longer = seconds_over(3 * steps), shorter = seconds_over(steps);
    return std::max(-0.5 * each, (longer - shorter) / static_cast<double>(2 * steps) - each);
  } catch (const NumericsError&) {  // the run itself will say it
    return 0.0;
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
  Buffer state = steps_.initial_state();
  elapsed();
  for (std::int64_t i = 0; i < slots; ++i) {
    stop_if_asked(comm);
    state = steps_.advance(0, state, false);
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
    if (comm.any(!state)) state = steps_.initial_state();
    state = steps_.advance(0, state, false);
    tier.release(i);
  }
  seconds.read = per_slot(std::min(elapsed(), tier.traffic().read_busy));
  seconds.read_delay = taken * per_slot(tier.traffic().read_cpu);
  tier.clear();
  return seconds;
}

}  // namespace hindsight

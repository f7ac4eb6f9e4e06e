// Two-level: the first sweep writes every period-th state to the slow tier without knowing where it ends; each period
// is then reversed by Revolve, which reads its start again and again (Pringle, Jones, Goswami, Narayanan, Goldberg
// 2016).
#include <algorithm>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr auto disk = index_of(Tier::disk);

ActionStream actions(std::int64_t period, std::int64_t host_slots) {
  std::int64_t n = unknown_steps, periods = 0;
  co_await OneAtATime{};
  for (std::int64_t step = 0; n == unknown_steps; ++step) {
    if (step % period == 0) co_yield Save{{Tier::disk, periods++}, step, Content::state};
    co_yield Advance{step, step + 1};
    n = co_await EndOfRun{};
  }
  co_yield Turn{n};
  for (std::int64_t j = periods; j-- > 0;) {
    const Slot start{Tier::disk, j};
    const std::int64_t end = std::min(n, (j + 1) * period);
    BinomialSweep sweep({j * period, end, 1 + host_slots, -1, false, true}, {start, {Tier::host, 0}});
    for (ActionBatch batch; sweep.next(batch);)
      for (const Action& action : batch) co_yield action;
    co_yield Release{start};
  }
  co_yield Done{};
}

/// `whole` periods of `each` and a last one; `endless` if it overflows.
std::int64_t sum_of_periods(std::int64_t whole, std::int64_t each, std::int64_t last) {
  std::int64_t sum = 0;
  const bool is_over = __builtin_mul_overflow(whole, each, &sum) || __builtin_add_overflow(sum, last, &sum);
  return is_over ? endless : sum;
}

Schedule make(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  if (n != unknown_steps) require_known_steps("twolevel", request);
  if (request.period < 1)
    throw InputError(
        "schedule twolevel: it needs a period of at least 1 step (--period, checkpoints.period in a case)");
  const std::int64_t most = n == unknown_steps ? request.at_most : n;
  const std::int64_t period = std::min(request.period, most);
  const std::int64_t periods = (most - 1) / period + 1;
  take_slots("twolevel", request, Tier::disk, periods, periods);
  const std::int64_t host = take_host_slots("twolevel", request, 0, std::max<std::int64_t>(0, period - 2));
  Schedule schedule{{}, [=] { return actions(period, host); }};
  schedule.predicted.plain = schedule.predicted.recorded = schedule.predicted.reversed = unpredicted;
  PerTier writes = only_host(unpredicted), reads = only_host(unpredicted);
  writes[disk] = reads[disk] = unpredicted;
  if (n != unknown_steps) {
    const std::int64_t last = n - (periods - 1) * period;
    const std::int64_t slots = 1 + host, period_plain = periods > 1 ? binomial_plain_steps(period, slots) : 0;
    const std::int64_t plain = sum_of_periods(periods - 1, period_plain, binomial_plain_steps(last, slots));
    schedule.predicted = predict("twolevel", n, plain > endless - n ? endless : n + plain);
    writes[disk] = periods;
    reads[disk] = sum_of_periods(periods - 1, periods > 1 ? BinomialSweep::starts(period, slots) : 0,
                                 BinomialSweep::starts(last, slots));
  }
  schedule.predicted.writes = writes;
  schedule.predicted.reads = reads;
  schedule.predicted.peak = only_host(host);
  schedule.predicted.peak[disk] = periods;
  return schedule;
}

/// The shortest period with which the disk holds the longest run.
void complete(ScheduleRequest& request, const RecordOffer&) {
  const std::int64_t slots = request.capacities[Tier::disk];
  if (request.period == 0 && slots > 0) request.period = (request.at_most - 1) / slots + 1;
}

}  // namespace

ScheduleKind twolevel_schedule() {
  return {"twolevel", "a state on disk every period (any number of steps), Revolve in memory within",
          make,       true,
          complete,   nullptr,
          false,      memory_of_sweeps};
}

}  // namespace hindsight

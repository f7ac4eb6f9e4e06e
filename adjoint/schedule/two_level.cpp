// Two-level: the first sweep writes every period-th state to the slow tier without knowing where it ends; each period
// is then reversed by Revolve, which reads its start again and again (Pringle, Jones, Goswami, Narayanan, Goldberg
// 2016).
#include <algorithm>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"
#include "src/error.hpp"

namespace hindsight {
namespace {

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

/// How often Revolve reads the start of a period.
std::int64_t start_reads(std::int64_t length, std::int64_t host_slots) {
  const Slot start{Tier::disk, 0};
  BinomialSweep sweep({0, length, 1 + host_slots, -1, false, true}, {start, {Tier::host, 0}});
  std::int64_t reads = 0;
  for (ActionBatch batch; sweep.next(batch);)
    for (const Action& action : batch)
      if (const auto* load = std::get_if<Load>(&action); load != nullptr && load->slot == start) ++reads;
  return reads;
}

Schedule make(const ScheduleRequest& request) {
  const std::int64_t n = request.steps, period = request.period;
  if (n != unknown_steps) require_known_steps("twolevel", request);
  if (period < 1) throw InputError("schedule twolevel: it needs a period of at least 1 step (--period)");
  const std::int64_t most = n == unknown_steps ? request.at_most : n;
  const std::int64_t periods = (most - 1) / period + 1;
  take_slots("twolevel", request, Tier::disk, periods, periods);
  const std::int64_t host = take_host_slots("twolevel", request, 0, std::max<std::int64_t>(0, period - 2));
  Schedule schedule{{}, [=] { return actions(period, host); }};
  schedule.predicted.plain = schedule.predicted.recorded = schedule.predicted.reversed = unpredicted;
  if (n != unknown_steps) {
    const std::int64_t last = n - (periods - 1) * period;
    schedule.predicted =
        predict("twolevel", n,
                n + (periods - 1) * binomial_plain_steps(period, 1 + host) + binomial_plain_steps(last, 1 + host));
  }
  schedule.predicted.writes = schedule.predicted.reads = only_host(unpredicted);
  schedule.predicted.writes[static_cast<std::size_t>(Tier::disk)] = n == unknown_steps ? unpredicted : periods;
  schedule.predicted.reads[static_cast<std::size_t>(Tier::disk)] =
      n == unknown_steps ? unpredicted
                         : (periods - 1) * start_reads(period, host) + start_reads(most - (periods - 1) * period, host);
  schedule.predicted.peak = only_host(host);
  schedule.predicted.peak[static_cast<std::size_t>(Tier::disk)] = periods;
  return schedule;
}

}  // namespace

ScheduleKind twolevel_schedule() {
  return {"twolevel", "a state on disk every period (any number of steps), Revolve in memory within", make, true};
}

}  // namespace hindsight

// Revolve: the fewest plain steps for n known and s slots of equal cost (Griewank, Walther 2000, TOMS 799).
#include <algorithm>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"

namespace hindsight {
namespace {

ActionStream actions(std::int64_t steps, std::int64_t slots) {
  const Slot first{Tier::host, 0}, next{Tier::host, 1};
  BinomialSweep sweep({0, steps, slots, steps - 1}, {first, next});
  for (ActionBatch batch; sweep.next(batch);)
    for (const Action& action : batch) co_yield action;
  co_yield Done{};
}

Schedule make(const ScheduleRequest& request) {
  require_known_steps("revolve", request);
  const std::int64_t n = request.steps;
  const std::int64_t slots = take_host_slots("revolve", request, 1, std::max<std::int64_t>(1, n - 1));
  Schedule schedule{predict("revolve", n, binomial_plain_steps(n, slots)), [=] { return actions(n, slots); }};
  schedule.predicted.peak = only_host(n > 1 ? slots : 0);
  schedule.predicted.writes = schedule.predicted.reads = only_host(unpredicted);
  return schedule;
}

}  // namespace

ScheduleKind revolve_schedule() {
  return {"revolve", "the fewest plain steps for the slots given (n known, one tier)",
          make,      false,
          nullptr,   nullptr,
          false,     memory_of_sweeps};
}

}  // namespace hindsight

// No checkpoints but the initial state: every step is reached from there again.
#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"

namespace hindsight {
namespace {

ActionStream actions(std::int64_t steps) {
  const Slot first{Tier::host, 0};
  const bool keep = steps > 1;
  if (keep) co_yield Save{first, 0, Content::state};
  for (std::int64_t step = steps - 1; step >= 0; --step) {
    if (step < steps - 1) co_yield Load{first, 0, Content::state};
    if (step > 0) co_yield Advance{0, step};
    co_yield Record{step};
    if (step == steps - 1) co_yield Turn{steps};
    co_yield Reverse{step};
  }
  if (keep) co_yield Release{first};
  co_yield Done{};
}

Schedule make(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  require_known_steps("none", request);
  take_host_slots("none", request, 1, 1);
  const std::int64_t half = n % 2 == 0 ? n / 2 : (n - 1) / 2;
  const std::int64_t other = n % 2 == 0 ? n - 1 : n;
  const bool is_endless = half > 0 && other > endless / half;
  Schedule schedule{predict("none", n, is_endless ? endless : half * other), [=] { return actions(n); }};
  schedule.predicted.peak = schedule.predicted.writes = only_host(n > 1 ? 1 : 0);
  schedule.predicted.reads = only_host(n - 1);
  return schedule;
}

}  // namespace

ScheduleKind none_schedule() {
  return {"none", "keeps the initial state only and starts from it for every step", make};
}

}  // namespace hindsight

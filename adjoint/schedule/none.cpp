// No checkpoints but the initial state: every step is reached from there again.
#include <limits>

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

ActionStream start(const ScheduleRequest& request) {
  take_host_slots("none", request, 1, 1);
  return actions(request.steps);
}

std::int64_t plain_steps(const ScheduleRequest& request) {
  take_host_slots("none", request, 1, 1);
  const std::int64_t n = request.steps;
  const std::int64_t half = n % 2 == 0 ? n / 2 : (n - 1) / 2;
  const std::int64_t other = n % 2 == 0 ? n - 1 : n;
  if (half > 0 && other > std::numeric_limits<std::int64_t>::max() / half) refuse_endless("none", n);
  return half * other;
}

std::int64_t slots_used(const ScheduleRequest&) {
  return 1;
}

}  // namespace

ScheduleKind none_schedule() {
  return {"none", "keeps the initial state only and starts from it for every step", start, plain_steps, slots_used};
}

}  // namespace hindsight

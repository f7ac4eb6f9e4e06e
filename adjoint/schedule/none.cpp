// Only the initial state is kept; every step is reached from it: n(n-1)/2 plain steps.
#include "adjoint/schedule/kinds.hpp"

namespace hindsight {
namespace {

ActionStream steps_from_start(std::int64_t n) {
  const Slot slot{Tier::host, 0};
  co_yield Save{slot, 0, Content::state};
  for (std::int64_t k = n; k-- > 0;) {
    if (k < n - 1) co_yield Load{slot, 0, Content::state};
    if (k > 0) co_yield Advance{0, k};
    co_yield Record{k};
    if (k == n - 1) co_yield Turn{n};
    co_yield Reverse{k};
  }
  co_yield Release{slot};
  co_yield Done{};
}

ActionStream start(const ScheduleRequest& request) {
  host_slots(request, 1, "none");
  return steps_from_start(request.steps);
}

std::int64_t plain_steps(const ScheduleRequest& request) {
  return request.steps % 2 == 0 ? request.steps / 2 * (request.steps - 1) : (request.steps - 1) / 2 * request.steps;
}

std::int64_t slots_used(const ScheduleRequest&) { return 1; }

}  // namespace

ScheduleKind none_schedule() {
  return {"none", "only the initial state; n(n-1)/2 repeated steps", start, plain_steps, slots_used};
}

}  // namespace hindsight

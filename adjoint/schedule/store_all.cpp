// Keeps everything: the state before each step but the last (plain = n-1), or the record of each (plain = 0).
#include "adjoint/schedule/kinds.hpp"

namespace hindsight {
namespace {

// Slots are written in place: copying one that was just made would cost more than all the rest.

ActionStream states(std::int64_t steps) {
  for (std::int64_t step = 0; step < steps - 1; ++step) {
    co_yield Save{{Tier::host, step}, step, Content::state};
    co_yield Advance{step, step + 1};
  }
  co_yield Record{steps - 1};
  co_yield Turn{steps};
  co_yield Reverse{steps - 1};
  for (std::int64_t step = steps - 2; step >= 0; --step) {
    co_yield Load{{Tier::host, step}, step, Content::state};
    co_yield Record{step};
    co_yield Reverse{step};
    co_yield Release{{Tier::host, step}};
  }
  co_yield Done{};
}

ActionStream records(std::int64_t steps) {
  for (std::int64_t step = 0; step < steps - 1; ++step) {
    co_yield Record{step};
    co_yield Save{{Tier::host, step}, step, Content::record};
  }
  co_yield Record{steps - 1};
  co_yield Turn{steps};
  co_yield Reverse{steps - 1};
  for (std::int64_t step = steps - 2; step >= 0; --step) {
    co_yield Load{{Tier::host, step}, step, Content::record};
    co_yield Reverse{step};
    co_yield Release{{Tier::host, step}};
  }
  co_yield Done{};
}

std::int64_t slots_used(const ScheduleRequest& request) {
  return request.steps - 1;
}

ActionStream start(const ScheduleRequest& request) {
  take_host_slots("store-all", request, slots_used(request), slots_used(request));
  return request.content == Content::state ? states(request.steps) : records(request.steps);
}

std::int64_t plain_steps(const ScheduleRequest& request) {
  return request.content == Content::state ? request.steps - 1 : 0;
}

}  // namespace

ScheduleKind store_all_schedule() {
  return {"store-all", "keeps every state (or every record); the fastest when memory allows", start, plain_steps,
          slots_used};
}

}  // namespace hindsight

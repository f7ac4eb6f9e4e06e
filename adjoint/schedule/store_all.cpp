// Every step is kept, as its state or as its stage record: no step is ever repeated for lack of memory.
#include "adjoint/schedule/kinds.hpp"

namespace hindsight {
namespace {

Slot host(std::int64_t index) { return {Tier::host, index}; }

ActionStream keep_records(std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    co_yield Record{k};
    if (k < n - 1) co_yield Save{host(k), k, Content::record};
  }
  co_yield Turn{n};
  co_yield Reverse{n - 1};
  for (std::int64_t k = n - 1; k-- > 0;) {
    co_yield Load{host(k), k, Content::record};
    co_yield Reverse{k};
    co_yield Release{host(k)};
  }
  co_yield Done{};
}

ActionStream keep_states(std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    co_yield Save{host(k), k, Content::state};
    if (k < n - 1) co_yield Advance{k, k + 1};
  }
  for (std::int64_t k = n; k-- > 0;) {
    if (k < n - 1) co_yield Load{host(k), k, Content::state};
    co_yield Record{k};
    if (k == n - 1) co_yield Turn{n};
    co_yield Reverse{k};
    co_yield Release{host(k)};
  }
  co_yield Done{};
}

ActionStream start(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  const bool records = request.content == Content::record;
  host_slots(request, records ? n - 1 : n, "store-all");
  return records ? keep_records(n) : keep_states(n);
}

std::int64_t plain_steps(const ScheduleRequest& request) {
  return request.content == Content::record ? 0 : request.steps - 1;
}

std::int64_t slots_used(const ScheduleRequest& request) {
  return request.content == Content::record ? request.steps - 1 : request.steps;
}

}  // namespace

ScheduleKind store_all_schedule() {
  return {"store-all", "every state (or stage record) in memory; no step repeated", start, plain_steps, slots_used};
}

}  // namespace hindsight

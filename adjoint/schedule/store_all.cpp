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

/// Record of step k in unit k*units.
ActionStream records(std::int64_t steps, std::int64_t units) {
  for (std::int64_t step = 0; step < steps - 1; ++step) {
    co_yield Record{step};
    co_yield Save{{Tier::host, step * units}, step, Content::record};
  }
  co_yield Record{steps - 1};
  co_yield Turn{steps};
  co_yield Reverse{steps - 1};
  for (std::int64_t step = steps - 2; step >= 0; --step) {
    co_yield Load{{Tier::host, step * units}, step, Content::record};
    co_yield Reverse{step};
    co_yield Release{{Tier::host, step * units}};
  }
  co_yield Done{};
}

Schedule make(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  const bool keeps_records = request.content == Content::record;
  require_known_steps("store-all", request);
  const std::int64_t units = keeps_records ? request.record_units : 1;
  const std::int64_t needed = take_host_slots("store-all", request, (n - 1) * units, (n - 1) * units);
  Schedule schedule{predict("store-all", n, keeps_records ? 0 : n - 1), nullptr};
  schedule.predicted.kept = keeps_records ? n - 1 : 0;
  schedule.predicted.peak = only_host(needed);
  schedule.predicted.writes = schedule.predicted.reads = only_host(n - 1);
  if (keeps_records) {
    schedule.actions = [=] { return records(n, units); };
  } else {
    schedule.actions = [=] { return states(n); };
  }
  return schedule;
}

/// Records where all fit: they spare the second forward sweep.
void complete(ScheduleRequest& request, const RecordOffer& records) {
  const std::int64_t units = request.capacities[Tier::host];
  const bool fit = units < 0 || request.steps - 1 <= units / records.units;
  if (!records.is_possible || !records.is_wanted || request.steps == unknown_steps || !fit) return;
  request.content = Content::record;
  request.record_units = records.units;
}

}  // namespace

ScheduleKind store_all_schedule() {
  return {"store-all", "keeps every state (or every record); the fastest when memory allows", make, false, complete};
}

}  // namespace hindsight

// Walks back from the last state, step by step, without keeping states: for steps that can be taken backwards. A few
// states along the run are kept, which walking begins again from, so that what rounding adds up is seen and ends there.
#include <algorithm>

#include "adjoint/schedule/kinds.hpp"

namespace hindsight {
namespace {

/// Kept unless a period asks for more.
constexpr std::int64_t few = 8;

/// States 0, period, 2 period, ...: those before the one that the last step begins with, which is at hand.
std::int64_t kept_states(std::int64_t steps, std::int64_t period) {
  return steps < 2 ? 0 : (steps - 2) / period + 1;
}

ActionStream actions(std::int64_t steps, std::int64_t period) {
  const std::int64_t kept = kept_states(steps, period);
  for (std::int64_t i = 0; i < kept; ++i) {
    co_yield Save{{Tier::host, i}, i * period, Content::state};
    co_yield Advance{i * period, std::min((i + 1) * period, steps - 1)};
  }
  co_yield Record{steps - 1};
  co_yield Turn{steps};
  for (std::int64_t step = steps - 1; step > 0; --step) {
    co_yield Retreat{step, step - 1};
    co_yield Reverse{step};
    if ((step - 1) % period == 0) {
      const Slot slot{Tier::host, (step - 1) / period};
      co_yield Load{slot, step - 1, Content::state};
      co_yield Release{slot};
    }
    co_yield Record{step - 1};
  }
  co_yield Reverse{0};
  co_yield Done{};
}

Schedule make(const ScheduleRequest& request) {
  require_known_steps("walk-back", request);
  const std::int64_t n = request.steps, asked = request.period;
  const std::int64_t least = asked > 0 ? std::max<std::int64_t>(1, kept_states(n, asked)) : 1;
  const std::int64_t slots = take_host_slots("walk-back", request, least, asked > 0 ? least : few);
  const std::int64_t period = std::clamp<std::int64_t>(asked > 0 ? asked : (n - 2) / slots + 1, 1, n);
  Schedule schedule{predict("walk-back", n, n - 1), [=] { return actions(n, period); }};
  schedule.predicted.retreated = n - 1;
  schedule.predicted.writes = schedule.predicted.reads = schedule.predicted.peak = only_host(kept_states(n, period));
  return schedule;
}

}  // namespace

ScheduleKind walk_back_schedule() {
  ScheduleKind kind{"walk-back", "takes steps backwards from the last state, with a few checkpoints to compare with",
                    make};
  kind.walks_back = true;
  return kind;
}

}  // namespace hindsight

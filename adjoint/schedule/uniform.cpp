// Checkpoints at equal distances, about sqrt(n), and a full store of one segment at a time: about 2 sqrt(n) slots for
// one more sweep (Chen, Xu, Zhang, Guestrin 2016, arXiv:1604.06174).
#include <algorithm>
#include <cmath>

#include "adjoint/schedule/kinds.hpp"

namespace hindsight {
namespace {

std::int64_t segments(std::int64_t steps, std::int64_t stride) {
  return (steps - 1) / stride + 1;
}

/// The most slots in use at once: the checkpoints up to a segment and the states inside it. The state before a
/// segment's last step is never kept: that step is recorded when it is first reached.
std::int64_t slots_needed(std::int64_t steps, std::int64_t stride) {
  const std::int64_t count = segments(steps, stride);
  const std::int64_t last = steps - (count - 1) * stride;
  const std::int64_t in_last = last == 1 ? count - 1 : count + last - 2;
  const std::int64_t in_others = count == 1 ? 0 : count - 1 + std::max<std::int64_t>(0, stride - 2);
  return std::max<std::int64_t>({1, in_last, in_others});
}

std::int64_t square_root_above(std::int64_t n) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (root < (n - 1) / root + 1) ++root;
  while (root > 1 && root - 1 >= (n - 1) / (root - 1) + 1) --root;
  return root;
}

/// The period asked for; ceil(sqrt(n)) when that fits; else the stride that needs the fewest slots. @throws InputError
/// when that is too many.
std::int64_t choose_stride(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  take_host_slots("uniform", request, 1, 1);
  require_known_steps("uniform", request);
  if (request.period > 0) {
    take_host_slots("uniform", request, slots_needed(n, request.period), slots_needed(n, request.period));
    return request.period;
  }
  const std::int64_t given = request.capacities[Tier::host];
  const std::int64_t root = square_root_above(n);
  if (given < 0 || slots_needed(n, root) <= given) return root;
  std::int64_t best = root;
  for (std::int64_t stride = 1; stride <= 2 * root; ++stride) {
    if (slots_needed(n, stride) < slots_needed(n, best)) best = stride;
  }
  take_host_slots("uniform", request, slots_needed(n, best), slots_needed(n, best));
  return best;
}

Slot slot_of(std::int64_t index) {
  return {Tier::host, index};
}

ActionStream actions(std::int64_t steps, std::int64_t stride) {
  const std::int64_t count = segments(steps, stride);
  for (std::int64_t segment = 0; segment < count - 1; ++segment) {
    co_yield Save{slot_of(segment), segment * stride, Content::state};
    co_yield Advance{segment * stride, (segment + 1) * stride};
  }
  for (std::int64_t segment = count - 1; segment >= 0; --segment) {
    const bool is_last = segment == count - 1;
    const std::int64_t first = segment * stride;
    const std::int64_t end = is_last ? steps : first + stride;
    if (!is_last) co_yield Load{slot_of(segment), first, Content::state};
    for (std::int64_t step = first; step < end - 1; ++step) {
      if (step > first || is_last) co_yield Save{slot_of(segment + step - first), step, Content::state};
      co_yield Advance{step, step + 1};
    }
    for (std::int64_t step = end - 1; step >= first; --step) {
      const Slot slot = slot_of(segment + step - first);
      if (step < end - 1) co_yield Load{slot, step, Content::state};
      co_yield Record{step};
      if (step == steps - 1) co_yield Turn{steps};
      co_yield Reverse{step};
      const bool kept = step < end - 1 || (step == first && !is_last);
      if (kept) co_yield Release{slot};
    }
  }
  co_yield Done{};
}

Schedule make(const ScheduleRequest& request) {
  const std::int64_t n = request.steps, stride = choose_stride(request);
  Schedule schedule{predict("uniform", n, n - 1 + (segments(n, stride) - 1) * (stride - 1)),
                    [=] { return actions(n, stride); }};
  schedule.predicted.peak = only_host(slots_needed(n, stride));
  schedule.predicted.writes = schedule.predicted.reads = only_host(unpredicted);
  return schedule;
}

}  // namespace

ScheduleKind uniform_schedule() {
  return {"uniform", "checkpoints about sqrt(n) steps apart: 2 sqrt(n) slots for one more sweep", make};
}

}  // namespace hindsight

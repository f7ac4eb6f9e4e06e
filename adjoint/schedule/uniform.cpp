// Equal segments: their first states are kept in the first sweep, and all states of one segment while it is reversed.
// With segments of about sqrt(n) steps: 2 sqrt(n) slots for one more sweep (Chen, Xu, Zhang, Guestrin 2016).
#include <algorithm>
#include <cmath>

#include "adjoint/schedule/kinds.hpp"
#include "src/error.hpp"

namespace hindsight {
namespace {

/// Slots that segments of `length` steps need: one per segment, and the states inside the one being reversed.
std::int64_t slots_needed(std::int64_t n, std::int64_t length) { return (n + length - 1) / length + length - 1; }

/// Segment length near sqrt(n): always the one with the fewest slots, so that what fits at all fits here.
std::int64_t segment_length(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  std::int64_t best = std::max<std::int64_t>(1, root - 1);
  for (std::int64_t length = best; length <= root + 2; ++length)
    if (slots_needed(n, length) < slots_needed(n, best)) best = length;
  host_slots(request, slots_needed(n, best), "uniform");
  return best;
}

ActionStream segments(std::int64_t n, std::int64_t length) {
  const std::int64_t count = (n + length - 1) / length;
  const auto boundary = [](std::int64_t segment) { return Slot{Tier::host, segment}; };
  const auto inner = [=](std::int64_t offset) { return Slot{Tier::host, count + offset - 1}; };
  for (std::int64_t s = 0; s < count; ++s) {
    co_yield Save{boundary(s), s * length, Content::state};
    if (s < count - 1) co_yield Advance{s * length, (s + 1) * length};
  }
  for (std::int64_t s = count; s-- > 0;) {
    const std::int64_t first = s * length, last = std::min(n, first + length) - 1;
    if (s < count - 1) co_yield Load{boundary(s), first, Content::state};
    for (std::int64_t k = first; k < last; ++k) {
      co_yield Advance{k, k + 1};
      if (k + 1 < last) co_yield Save{inner(k + 1 - first), k + 1, Content::state};
    }
    for (std::int64_t k = last; k >= first; --k) {
      const Slot slot = k == first ? boundary(s) : inner(k - first);
      if (k < last) co_yield Load{slot, k, Content::state};
      co_yield Record{k};
      if (k == n - 1) co_yield Turn{n};
      co_yield Reverse{k};
      if (k < last || k == first) co_yield Release{slot};
    }
  }
  co_yield Done{};
}

ActionStream start(const ScheduleRequest& request) { return segments(request.steps, segment_length(request)); }

std::int64_t plain_steps(const ScheduleRequest& request) {
  const std::int64_t n = request.steps, length = segment_length(request), count = (n + length - 1) / length;
  return (count - 1) * length + (n - count);
}

std::int64_t slots_used(const ScheduleRequest& request) {
  return slots_needed(request.steps, segment_length(request));
}

}  // namespace

ScheduleKind uniform_schedule() {
  return {"uniform", "square root: 2 sqrt(n) slots for one more sweep", start, plain_steps, slots_used};
}

}  // namespace hindsight

// Revolve: the fewest plain steps for n steps and s slots. Griewank and Walther 2000, ACM TOMS 26(1), Algorithm 799.
// With beta(s, r) = C(s+r, s) and beta(s, r-1) < n <= beta(s, r), plain = r n - C(s+r, r-1).
#include <algorithm>
#include <vector>

#include "adjoint/schedule/kinds.hpp"

namespace hindsight {
namespace {

__extension__ using Wide = __int128;

/// beta(s, r), cut off at `most`: larger values are never needed.
std::int64_t beta(std::int64_t s, std::int64_t r, std::int64_t most) {
  if (s < 0 || r < 0) return 0;
  Wide value = 1;
  for (std::int64_t i = 1; i <= std::min(s, r); ++i) {
    value = value * (std::max(s, r) + i) / i;
    if (value >= most) return most;
  }
  return static_cast<std::int64_t>(value);
}

/// The repetition number: the least r with beta(s, r) >= n.
std::int64_t repetitions(std::int64_t n, std::int64_t s) {
  if (s == 1) return n - 1;
  std::int64_t r = 0;
  Wide value = 1;
  while (value < n) {
    ++r;
    value = value * (s + r) / r;
  }
  return r;
}

/// Steps to advance before the next checkpoint: what stays on the left is reversed with s slots and r-1 repetitions,
/// what lies on the right with s-1 slots and r.
std::int64_t split(std::int64_t n, std::int64_t s) {
  const std::int64_t r = repetitions(n, s);
  return std::max<std::int64_t>({1, beta(s, r - 2, n), n - beta(s - 1, r, n)});
}

/// Checkpoints lie on a stack; the part between the topmost one and the adjoint's front is reversed first.
ActionStream revolve(std::int64_t n, std::int64_t slots) {
  const auto slot = [](std::size_t index) { return Slot{Tier::host, static_cast<std::int64_t>(index)}; };
  std::vector<std::int64_t> checkpoints{0};
  std::int64_t front = n, live = 0;
  co_yield Save{slot(0), 0, Content::state};
  while (!checkpoints.empty()) {
    const std::size_t top = checkpoints.size() - 1;
    const std::int64_t first = checkpoints[top], length = front - first;
    const std::int64_t free = slots - static_cast<std::int64_t>(checkpoints.size());
    if (live != first) co_yield Load{slot(top), first, Content::state};
    live = first;
    if (length > 1 && free > 0) {
      live = first + split(length, free + 1);
      co_yield Advance{first, live};
      co_yield Save{slot(top + 1), live, Content::state};
      checkpoints.push_back(live);
      continue;
    }
    if (length > 1) co_yield Advance{first, front - 1};
    co_yield Record{front - 1};
    if (front == n) co_yield Turn{n};
    co_yield Reverse{front - 1};
    live = -1;
    if (--front == first) {
      co_yield Release{slot(top)};
      checkpoints.pop_back();
    }
  }
  co_yield Done{};
}

ActionStream start(const ScheduleRequest& request) {
  return revolve(request.steps, std::min(request.steps, host_slots(request, 1, "revolve")));
}

std::int64_t plain_steps(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  if (n == 1) return 0;
  const std::int64_t s = std::min(n - 1, host_slots(request, 1, "revolve"));
  const std::int64_t r = repetitions(n, s);
  // C(s+r, r-1) = beta(s+1, r-1); it is below r n, which stays far from 2^63
  return static_cast<std::int64_t>(Wide{r} * n - beta(s + 1, r - 1, std::int64_t{1} << 62));
}

std::int64_t slots_used(const ScheduleRequest& request) {
  return std::min(request.steps, host_slots(request, 1, "revolve"));
}

}  // namespace

ScheduleKind revolve_schedule() {
  return {"revolve", "the fewest repeated steps for the given slots", start, plain_steps, slots_used};
}

}  // namespace hindsight

// Stride: a state to the slow tier every k steps; each stretch of k steps is reversed with all its states in the fast
// tier. Meant for transfers that run while steps are taken: then T = max(n f, n/k w) + max(n b + (n - n/k) f, n/k r),
// at most one forward sweep above a store of everything. It is not optimal where transfers stop the work.
#include "adjoint/schedule/stride.hpp"

#include <algorithm>
#include <cmath>

#include "adjoint/schedule/kinds.hpp"
#include "src/error.hpp"

namespace hindsight {

double stride_time(std::int64_t steps, std::int64_t stride, const ScheduleCosts& costs) {
  const auto n = static_cast<double>(steps), count = n / static_cast<double>(stride);
  const auto disk = static_cast<std::size_t>(Tier::disk);
  return std::max(n * costs.forward, count * costs.write[disk]) +
         std::max(n * costs.reverse + (n - count) * costs.forward, count * costs.read[disk]);
}

std::int64_t best_stride(std::int64_t steps, std::int64_t longest, const ScheduleCosts& costs) {
  std::int64_t best = 1;
  for (std::int64_t stride = 1; stride <= std::min(longest, steps); ++stride)
    if (stride_time(steps, stride, costs) < stride_time(steps, best, costs)) best = stride;
  return best;
}

namespace {

ActionStream actions(std::int64_t steps, std::int64_t stride) {
  const std::int64_t last = (steps - 1) / stride;
  for (std::int64_t j = 0; j < last; ++j) {
    co_yield Save{{Tier::disk, j}, j * stride, Content::state};
    co_yield Advance{j * stride, (j + 1) * stride};
  }
  for (std::int64_t j = last; j >= 0; --j) {
    const std::int64_t first = j * stride, end = std::min(steps, first + stride);
    if (j < last) {
      co_yield Load{{Tier::disk, j}, first, Content::state};
      co_yield Release{{Tier::disk, j}};
    }
    for (std::int64_t step = first; step < end - 1; ++step) {
      co_yield Save{{Tier::host, step - first}, step, Content::state};
      co_yield Advance{step, step + 1};
    }
    for (std::int64_t step = end - 1; step >= first; --step) {
      const Slot slot{Tier::host, step - first};
      if (step < end - 1) {
        co_yield Load{slot, step, Content::state};
        co_yield Release{slot};
      }
      co_yield Record{step};
      if (step == steps - 1) co_yield Turn{steps};
      co_yield Reverse{step};
    }
  }
  co_yield Done{};
}

Schedule make(const ScheduleRequest& request) {
  require_known_steps("stride", request);
  const std::int64_t n = request.steps;
  const std::int64_t host = take_host_slots("stride", request, 0, n - 1);
  const std::int64_t disk = take_slots("stride", request, Tier::disk, 0, n - 1);
  std::int64_t stride = request.period > 0 ? request.period : best_stride(n, host + 1, request.costs);
  if (request.period == 0) stride = std::max(stride, (n - 1) / (disk + 1) + 1);  // as many as disk holds
  stride = std::min(stride, n);
  const std::int64_t count = (n - 1) / stride;
  take_host_slots("stride", request, stride - 1, stride - 1);
  take_slots("stride", request, Tier::disk, count, count);
  Schedule schedule{predict("stride", n, n - 1 + count * (stride - 1)), [=] { return actions(n, stride); }};
  schedule.predicted.peak = only_host(stride - 1);
  schedule.predicted.writes = schedule.predicted.reads = only_host(unpredicted);
  const auto d = static_cast<std::size_t>(Tier::disk);
  schedule.predicted.peak[d] = schedule.predicted.writes[d] = schedule.predicted.reads[d] = count;
  return schedule;
}

}  // namespace

ScheduleKind stride_schedule() {
  return {"stride", "a state on disk every k steps, for transfers that overlap the steps", make};
}

}  // namespace hindsight

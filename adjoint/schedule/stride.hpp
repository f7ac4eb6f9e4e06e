// The time of the stride schedule when transfers overlap the steps (design of the plan).
#pragma once

#include <cstdint>

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

/// max(n f, n/k w) + max(n b + (n - n/k) f, n/k r), f = forward, b = reverse, w and r of the disk tier.
double stride_time(std::int64_t steps, std::int64_t stride, const ScheduleCosts& costs);
/// The stride with the least time, at most `longest`.
std::int64_t best_stride(std::int64_t steps, std::int64_t longest, const ScheduleCosts& costs);

}  // namespace hindsight

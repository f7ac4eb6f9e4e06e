// The time of the stride schedule when transfers overlap the steps (design of the plan).
#pragma once

#include <cstdint>

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

/// max(n f, n/k w) + max(n b + n/k p f, n/k r), and n/k times the transfers' delays in the first of each: f = forward,
/// b = reverse, w and r of the disk tier, k the stride, p the plain steps that reverse one stretch of k steps: k - 1
/// when all its states are kept, 0 when all its records are.
double stride_time(std::int64_t steps, std::int64_t stride, std::int64_t plain, const ScheduleCosts& costs);

}  // namespace hindsight

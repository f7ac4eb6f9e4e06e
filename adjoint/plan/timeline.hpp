// The time a schedule takes when transfers run while steps are taken.
#pragma once

#include <cstdint>

#include "adjoint/plan/operation_seconds.hpp"
#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

/// Executes the actions on a clock: steps take their time; a slow tier makes one transfer at a time, reads before
/// writes; a save waits while the queue is full, a load until its state has come, and loads are read ahead as the
/// driver does; a transfer delays the steps it runs beside. Cost: some nanoseconds per action.
/// @param is_online the schedule is to be told that the run has `steps` steps when it gets there, and nothing is read
/// ahead.
double overlapped_seconds(const Schedule& schedule, bool is_online, std::int64_t steps, const OperationSeconds& seconds,
                          Overlap overlap);

/// Measures the seconds of looking at one action of a checkpoint schedule: of walking through it and reading ahead.
double measure_look();

}  // namespace hindsight

// What the schedules of this folder share: their entries for the registry, and how they ask for slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

// One per file; schedules.cpp lists them.
ScheduleKind store_all_schedule();
ScheduleKind none_schedule();
ScheduleKind uniform_schedule();
ScheduleKind revolve_schedule();
ScheduleKind multistage_schedule();
ScheduleKind hrevolve_schedule();
ScheduleKind diskrevolve_schedule();
ScheduleKind diskrevolve_once_schedule();
ScheduleKind periodic_schedule();
ScheduleKind twolevel_schedule();
ScheduleKind mixed_schedule();
ScheduleKind cams_schedule();
ScheduleKind stride_schedule();
ScheduleKind walk_back_schedule();
ScheduleKind online_schedule();

/// @throws InputError unless the number of steps is known and at least 1, naming the schedule.
void require_known_steps(const std::string& schedule, const ScheduleRequest& request);

/// The number of units of `tier` that `schedule` may use, at most `useful` of them, at least `needed`.
/// @throws InputError when fewer than `needed` are given or the number of steps is not known.
std::int64_t take_slots(const std::string& schedule, const ScheduleRequest& request, Tier tier, std::int64_t needed,
                        std::int64_t useful);
std::int64_t take_host_slots(const std::string& schedule, const ScheduleRequest& request, std::int64_t needed,
                             std::int64_t useful);

/// Of `given` units, those that are of use; all where below 0.
inline std::int64_t useful_of(std::int64_t given, std::int64_t useful) {
  return given < 0 ? useful : std::min(given, useful);
}
/// What families keep whose schedules are Revolve's sweeps in host memory and little else.
ScheduleMemory memory_of_sweeps(const ScheduleRequest& request);

/// `value` for host memory, 0 for the other tiers.
PerTier only_host(std::int64_t value);
/// Counts of a schedule that records each of n steps once. @throws InputError when plain is `endless`: more plain steps
/// than 64 bits count.
ScheduleCounts predict(const std::string& schedule, std::int64_t n, std::int64_t plain);

}  // namespace hindsight

// What the schedules of this folder share: their entries for the registry, and how they ask for slots.
#pragma once

#include <cstdint>
#include <string>

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

// One per file; schedules.cpp lists them.
ScheduleKind store_all_schedule();
ScheduleKind none_schedule();
ScheduleKind uniform_schedule();
ScheduleKind revolve_schedule();

/// The number of host slots that `schedule` may use, at most `useful` of them, at least `needed`.
/// @throws InputError when fewer than `needed` are given or the request has no steps.
std::int64_t take_host_slots(const std::string& schedule, const ScheduleRequest& request, std::int64_t needed,
                             std::int64_t useful);

/// @throws InputError: more plain steps than 64 bits count.
[[noreturn]] void refuse_endless(const std::string& schedule, std::int64_t steps);

}  // namespace hindsight

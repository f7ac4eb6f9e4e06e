// The schedules that exist; each in a file of its own. To be called through schedules() (schedule.hpp).
#pragma once

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

ScheduleKind store_all_schedule();
ScheduleKind none_schedule();
ScheduleKind uniform_schedule();
ScheduleKind revolve_schedule();

/// Host slots of a request. @throws InputError when there are fewer than `least`, naming the schedule.
std::int64_t host_slots(const ScheduleRequest& request, std::int64_t least, const std::string& schedule);

}  // namespace hindsight

// A schedule as a picture: time to the right, steps upwards.
#pragma once

#include <string>

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

/// SVG. Forward steps as thin lines, the adjoint as a thick one, each checkpoint as a bar as long as it is kept,
/// coloured by tier. @param time_unit follows the word time, e.g. " in seconds". @throws InputError for more than 20000
/// steps.
std::string schedule_picture(const std::string& title, const ScheduleKind& kind, const Schedule& schedule,
                             const ScheduleRequest& request, const ScheduleCosts& costs, const std::string& time_unit);

}  // namespace hindsight

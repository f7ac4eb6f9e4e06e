// A schedule as a picture: time to the right, steps upwards.
#pragma once

#include <string>

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

/// What a picture says about itself.
struct PictureText {
  std::string title;
  std::string time_unit = {};  ///< follows the word time, e.g. " in seconds"
  std::string bound = {};      ///< what says how many steps there may be where their number is open
};

/// SVG. Forward steps as thin lines, the adjoint as a thick one, each checkpoint as a bar as long as it is kept,
/// coloured by tier. @throws InputError for more than 20000 steps.
std::string schedule_picture(const PictureText& text, const ScheduleKind& kind, const Schedule& schedule,
                             const ScheduleRequest& request, const ScheduleCosts& costs);

}  // namespace hindsight

// Families that speak of host memory and of disk, played in other tiers.
#pragma once

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

/// The request as a family of one or two tiers understands it: what plays host memory and what plays disk for these,
/// nothing for device memory. Families of any tiers get it as it is.
ScheduleRequest seen_by(const ScheduleKind& kind, const ScheduleRequest& request);

/// What the family makes of the request, in the request's tiers.
Schedule make_schedule(const ScheduleKind& kind, const ScheduleRequest& request);

}  // namespace hindsight

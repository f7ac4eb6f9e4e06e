// Counts of a schedule, for people and for programs.
#pragma once

#include <array>
#include <string>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/schedule/simulated_machine.hpp"

namespace hindsight {

/// Units are the user's own (one forward step = 1 by default). `reverse` covers recording and reversing one step.
struct ScheduleCosts {
  double forward = 1.0, reverse = 1.0;
  std::array<double, tier_count> write{}, read{};
};

/// forward*plain + reverse*reversed + sum over tiers of writes*write + reads*read.
double total_cost(const ScheduleCounts& counts, const ScheduleCosts& costs);

/// "host=10,disk=20". @throws InputError with what is allowed.
Capacities parse_slots(const std::string& text);
/// "forward=1,reverse=2,disk.write=5,disk.read=5". @throws InputError with what is allowed.
ScheduleCosts parse_costs(const std::string& text);

std::string counts_table(const std::string& name, const ScheduleRequest& request, const ScheduleCounts& counts,
                         const ScheduleCosts& costs);
/// {"schedule", "steps", "slots", "plain", "recorded", "reversed", "total", "writes", "reads", "peak", "cost"}.
std::string counts_json(const std::string& name, const ScheduleRequest& request, const ScheduleCounts& counts,
                        const ScheduleCosts& costs);

}  // namespace hindsight

// What a simulated schedule costs, for people and for scripts; and how slots and costs are written on a command line.
#pragma once

#include <array>
#include <string>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/schedule/simulated_machine.hpp"

namespace hindsight {

/// A readable table of several lines. What is `unpredicted` is said to be not counted, and in JSON null.
std::string counts_table(const std::string& name, const ScheduleRequest& request, const ScheduleCounts& counts,
                         const ScheduleCosts& costs);
/// JSON: schedule, steps, slots, plain, recorded, reversed, retreated, total (plain and recorded), writes, reads and
/// peak per tier, cost. Unlimited slots are null.
std::string counts_json(const std::string& name, const ScheduleRequest& request, const ScheduleCounts& counts,
                        const ScheduleCosts& costs);

/// "host=10,disk=20", "host=unlimited"; tiers that are not named have no slots ("": none has).
/// @throws InputError on unknown tiers, repeated ones and numbers that are not whole or are negative.
Capacities parse_slots(const std::string& text);
/// "forward=1,reverse=2,disk.write=5,disk.read=5"; what is not named keeps its default ("": all do).
/// @throws InputError on unknown or repeated names and on values that are not finite or are negative.
ScheduleCosts parse_costs(const std::string& text, const ScheduleCosts& defaults = {});

}  // namespace hindsight

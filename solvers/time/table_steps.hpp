// Steps that a table names.
#pragma once

#include <memory>

#include "solvers/time/step_rules.hpp"
#include "solvers/time/time_line.hpp"

namespace hindsight {

/// A step from each of rules.times to the next, of those within the run; landings between divide one.
std::unique_ptr<StepSource> table_steps(const StepRules& rules);

}  // namespace hindsight

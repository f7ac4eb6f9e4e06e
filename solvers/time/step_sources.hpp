// The sources of steps that there are, by name.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "solvers/time/time_line.hpp"

namespace hindsight {

struct StepSourceKind {
  std::string name;
  std::function<std::unique_ptr<StepSource>()> make;
};

/// @throws InputError with the nearest name.
const StepSourceKind& find_step_source(const std::string& name);
/// Adds one: before the first simulation is made. @throws Error(bug) when there is one of this name.
void register_step_source(StepSourceKind kind);

}  // namespace hindsight

// Who can decide the steps of a run, for the parser, the schema and messages.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/registry.hpp"
#include "solvers/time/step_rules.hpp"
#include "solvers/time/time_line.hpp"

namespace hindsight {

struct StepSourceKind {
  std::string name;  ///< what a case calls it: time.steps
  std::function<std::unique_ptr<StepSource>(const StepRules&)> make;
  bool host_only = false;  ///< it reads cells in C++, which a device's memory does not allow
};

/// What is added must be there before the first case is read.
Registry<StepSourceKind>& step_sources();

}  // namespace hindsight

// Who can decide the steps of a run, for the parser, the schema and messages.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/registry.hpp"
#include "solvers/time/time_line.hpp"

namespace hindsight {

struct StepSourceKind {
  std::string name;  ///< what a case calls it: time.steps
  std::function<std::unique_ptr<StepSource>()> make;
  bool host_only = false;  ///< it reads cells in C++, which a device's memory does not allow
};

/// The first is taken where a case names none. What is added must be there before the first case is read.
Registry<StepSourceKind>& step_sources();

}  // namespace hindsight

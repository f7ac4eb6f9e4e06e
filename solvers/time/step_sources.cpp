#include "solvers/time/step_sources.hpp"

#include "solvers/time/adaptive_steps.hpp"
#include "solvers/time/fixed_steps.hpp"
#include "solvers/time/table_steps.hpp"

namespace hindsight {

Registry<StepSourceKind>& step_sources() {
  static Registry<StepSourceKind> all("source of steps", {{"fixed", [](const StepRules&) { return fixed_steps(); }},
                                                          {"adaptive", adaptive_steps},
                                                          {"table", table_steps}});
  return all;
}

}  // namespace hindsight

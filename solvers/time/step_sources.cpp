#include "solvers/time/step_sources.hpp"

#include "solvers/time/fixed_steps.hpp"

namespace hindsight {

Registry<StepSourceKind>& step_sources() {
  static Registry<StepSourceKind> all("source of steps", {{"fixed", fixed_steps}});
  return all;
}

}  // namespace hindsight

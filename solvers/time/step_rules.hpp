// What a case says about the lengths of steps.
#pragma once

#include <cstdint>
#include <vector>

namespace hindsight {

struct StepRules {
  /// Of steps that errors decide: the shortest that may be tried (0: what round-off of the time allows), and the
  /// longest (0: as long as the run).
  double least = 0.0, most = 0.0;
  std::int64_t at_most = 100'000;  ///< steps, of those that states decide
  std::vector<double> times = {};  ///< where the steps of a table end, ascending

  bool operator==(const StepRules&) const = default;
};

}  // namespace hindsight

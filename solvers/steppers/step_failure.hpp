// Why a step failed.
#pragma once

#include <string>

namespace hindsight {

/// Why a step led to a state that is not finite, where the method itself knows.
struct StepFailure {
  std::string why = {};          ///< in words; empty: it does not know
  bool is_of_all_cells = false;  ///< that are one system: no cell is meant but the one that `why` may name
  bool is_known() const { return !why.empty(); }
};

}  // namespace hindsight

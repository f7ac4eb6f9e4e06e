// Why a step failed.
#pragma once

#include <string>
#include <vector>

#include "solvers/grid/bad_value.hpp"

namespace hindsight {

/// Why a step led to a state that is not finite, where the method itself knows.
struct StepFailure {
  std::string why = {};          ///< in words; empty: it does not know
  bool is_of_all_cells = false;  ///< that are one system: no cell is meant but the one that `why` may name
  bool is_of_jump = false;       ///< that the step begins with: no shorter one would help
  BadValue bad = {};             ///< the field and the cell that are meant, where it knows them
  /// Values of the model's fields there, at which the equations have none, at time t; empty: that is not why.
  std::vector<double> at = {};
  double t = 0.0;
  bool is_known() const { return !why.empty() || !at.empty(); }
};

}  // namespace hindsight

// Whether a model's constraints can fix their fields, as far as their form tells.
#pragma once

#include <cstddef>
#include <vector>

#include "solvers/equations/model.hpp"

namespace hindsight {

/// Constraints that are more than the fields that they depend on, of those that constraints fix.
struct Overdetermined {
  std::vector<std::size_t> constraints;  ///< by their fields
  std::vector<std::size_t> fields;       ///< one less; those that they depend on
};

/// Where each constraint can be given a field of its own that it depends on, in any order, there are none, and values
/// decide. What only conditions read is not depended on.
Overdetermined overdetermined(const Model& model);

}  // namespace hindsight

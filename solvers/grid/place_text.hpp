// Where a cell is, for messages.
#pragma once

#include <string>

#include "solvers/grid/grid.hpp"

namespace hindsight {

/// " at x = 0.5, y = 0.25": of a cell of this rank.
std::string place_text(const Grid& grid, const Index3& cell);

}  // namespace hindsight

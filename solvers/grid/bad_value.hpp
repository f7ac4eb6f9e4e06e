// Where fields are not finite.
#pragma once

#include <cstdint>
#include <vector>

#include "solvers/grid/grid.hpp"

namespace hindsight {

/// The first owned value that is not finite, field by field; field is -1 when all are.
struct BadValue {
  int field = -1;
  Index3 cell{0, 0, 0};
};

/// The owned cell of this number, x fastest.
Index3 owned_cell(const Grid& grid, std::int64_t number);

BadValue find_bad_value(const Grid& grid, const std::vector<CellArray>& fields);

}  // namespace hindsight

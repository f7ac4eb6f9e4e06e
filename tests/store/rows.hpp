// Where the rows of a state's arrays begin, for tests.
#pragma once

#include <vector>

#include "solvers/grid/state_shape.hpp"

namespace hindsight::test {

/// First cell of each row, y fastest, then z, then arrays.
inline std::vector<std::int64_t> rows_of(const StateShape& shape) {
  std::vector<std::int64_t> rows;
  for (const StateArray& a : shape.arrays)
    for (std::int64_t k = 0; k < a.cells[2]; ++k)
      for (std::int64_t j = 0; j < a.cells[1]; ++j) rows.push_back(a.origin + a.stride_y * j + a.stride_z * k);
  return rows;
}

}  // namespace hindsight::test

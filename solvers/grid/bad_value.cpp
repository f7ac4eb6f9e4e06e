#include "solvers/grid/bad_value.hpp"

#include <algorithm>
#include <cmath>

namespace hindsight {

Index3 owned_cell(const Grid& grid, std::int64_t number) {
  const std::int64_t nx = grid.cells()[0], ny = grid.cells()[1];
  return {number % nx, number / nx % ny, number / nx / ny};
}

BadValue find_bad_value(const Grid& grid, const std::vector<CellArray>& fields) {
  const Box box = grid.interior();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (grid.operations().are_finite(box.extent(), grid.block(box, fields[f]))) continue;
    std::vector<double> values(static_cast<std::size_t>(box.cells()));
    pack_cells(grid, fields[f], values.data());
    const auto bad = std::find_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
    return {static_cast<int>(f), owned_cell(grid, bad - values.begin())};
  }
  return {};
}

}  // namespace hindsight

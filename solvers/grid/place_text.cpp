#include "solvers/grid/place_text.hpp"

#include <fmt/format.h>

namespace hindsight {

std::string place_text(const Grid& grid, const Index3& cell) {
  std::string text;
  for (int axis = 0; axis < grid.dimensions(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    text +=
        fmt::format("{} {} = {:.6g}", axis == 0 ? " at" : ",", grid.axes()[a].name, grid.coordinates(axis)[cell[a]]);
  }
  return text;
}

}  // namespace hindsight

#include "solvers/grid/state_shape.hpp"

#include <algorithm>

#include "runtime/rounding.hpp"

namespace hindsight {

std::int64_t StateShape::doubles() const {
  std::int64_t all = 0;
  for (const StateArray& array : arrays) all += array.doubles();
  return all;
}

bool StateShape::is_uniform() const {
  return std::all_of(arrays.begin(), arrays.end(), [&](const StateArray& array) {
    return array.element == Element::float64 && array.cells == arrays.front().cells;
  });
}

StateShape shape_of_fields(std::int64_t fields, const Index3& cells, std::int64_t origin, std::int64_t stride_y,
                           std::int64_t stride_z, std::int64_t field_stride) {
  StateShape shape;
  for (std::int64_t f = 0; f < fields; ++f)
    shape.arrays.push_back({Element::float64, 0, cells, {}, origin + f * field_stride, stride_y, stride_z, {}});
  shape.padded_doubles = fields * field_stride;
  return shape;
}

StateShape shape_of_fields(const Grid& grid, std::size_t fields, Element element) {
  const Layout& layout = grid.layout();
  StateShape shape = shape_of_fields(static_cast<std::int64_t>(fields), grid.cells(), layout.origin, layout.stride_y,
                                     layout.stride_z, layout.field_stride);
  shape.padded_doubles = doubles_of(element, shape.padded_doubles);
  for (StateArray& array : shape.arrays) {
    array.element = element;
    array.first = grid.first();
    array.halo = layout.halo;
  }
  return shape;
}

StateShape with_level_before(StateShape shape, std::size_t fields) {
  for (std::size_t f = 0; f < fields; ++f) {
    StateArray array = shape.arrays[f];
    array.level = 1;
    shape.arrays.push_back(array);
  }
  shape.levels = 2;
  return shape;
}

void add_array(StateShape& shape, Element element, const Box& box, const Grid& grid) {
  constexpr std::int64_t line = 8;  // doubles of a cache line
  StateArray array;
  array.element = element;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t lo = std::max(box.lo[a], grid.first()[a]);
    const std::int64_t hi = std::min(box.hi[a], grid.first()[a] + grid.cells()[a]);
    array.first[a] = lo;
    array.cells[a] = std::max<std::int64_t>(0, hi - lo);
  }
  const std::int64_t begin = rounded_up(shape.padded_doubles, line);
  array.origin = begin * (8 / bytes_of(element));
  array.stride_y = array.cells[0];
  array.stride_z = array.cells[0] * array.cells[1];
  shape.padded_doubles = begin + array.doubles();
  shape.arrays.push_back(array);
}

}  // namespace hindsight

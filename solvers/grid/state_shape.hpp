// What a state is made of: a list of arrays, one after another in one block of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/element.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

/// Numbers of one kind on a box of cells, x fastest, as this rank has them. A cell (i,j,k), counted from the first
/// owned one, lies at origin + i + stride_y*j + stride_z*k from the beginning of the state. All in elements.
struct StateArray {
  Element element = Element::float64;
  Index3 cells{1, 1, 1};    ///< owned ones; 0 where this rank has no part
  Index3 first{0, 0, 0};    ///< global index of the first owned cell
  std::int64_t origin = 0;  ///< a multiple of 16 but for arrays of cells in a grid's layout
  std::int64_t stride_y = 1, stride_z = 1;
  std::array<int, 3> halo{0, 0, 0};  ///< layers of ghosts that there is room for around the owned cells

  std::int64_t count() const { return cells[0] * cells[1] * cells[2]; }
  /// Of the owned cells one after another, filled up to whole doubles.
  std::int64_t doubles() const { return (count() * bytes_of(element) + 7) / 8; }
};

/// The arrays of a state. First come the model's fields, all of them doubles on the whole grid.
struct StateShape {
  std::vector<StateArray> arrays;
  std::int64_t padded_doubles = 0;  ///< of the whole block, ghosts included

  /// Of the owned cells of all arrays: what slow tiers keep.
  std::int64_t doubles() const;
  std::int64_t bytes() const { return doubles() * static_cast<std::int64_t>(sizeof(double)); }
  std::int64_t padded_bytes() const { return padded_doubles * static_cast<std::int64_t>(sizeof(double)); }
  /// Whether all arrays are doubles on the same cells.
  bool is_uniform() const;
};

/// Fields in the layout of a grid (Layout).
StateShape shape_of_fields(const Grid& grid, std::size_t fields);
/// The same of any layout: `fields` arrays of doubles that follow each other at field_stride.
StateShape shape_of_fields(std::int64_t fields, const Index3& cells, std::int64_t origin, std::int64_t stride_y,
                           std::int64_t stride_z, std::int64_t field_stride);
/// Adds an array on a box of the whole grid (global indices) behind the others, without ghosts: this rank's part of it.
void add_array(StateShape& shape, Element element, const Box& box, const Grid& grid);

}  // namespace hindsight

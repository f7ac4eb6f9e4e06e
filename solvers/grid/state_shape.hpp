// What a state is made of: a list of arrays, in a block of memory or in two.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/element.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

/// Where a state lies: in one block, or, where methods count on the fields before the last step as well, in one for
/// each of these two levels. Neighbouring states share the block of a level.
struct StateBlocks {
  StateBlocks(double* block, double* other = nullptr) : now(block), before(other) {}
  operator double*() const { return now; }  // a state of one level is its block
  double* now;
  double* before;  ///< null: there is one level
};

/// The same, to be read alone.
struct ConstStateBlocks {
  ConstStateBlocks(const double* block, const double* other = nullptr) : now(block), before(other) {}
  ConstStateBlocks(StateBlocks blocks) : now(blocks.now), before(blocks.before) {}
  const double* now;
  const double* before;
};

/// Numbers of one kind on a box of cells, x fastest, as this rank has them. A cell (i,j,k), counted from the first
/// owned one, lies at origin + i + stride_y*j + stride_z*k from the beginning of its block. All in elements.
struct StateArray {
  Element element = Element::float64;
  int level = 0;            ///< of its block: 1 is the level before
  Index3 cells{1, 1, 1};    ///< owned ones; 0 where this rank has no part
  Index3 first{0, 0, 0};    ///< global index of the first owned cell
  std::int64_t origin = 0;  ///< a multiple of 16 but for arrays of cells in a grid's layout
  std::int64_t stride_y = 1, stride_z = 1;
  std::array<int, 3> halo{0, 0, 0};  ///< layers of ghosts that there is room for around the owned cells

  std::int64_t count() const { return cells[0] * cells[1] * cells[2]; }
  /// Of the owned cells one after another, filled up to whole doubles.
  std::int64_t doubles() const { return (count() * bytes_of(element) + 7) / 8; }
};

/// The arrays of a state. First come the model's fields, all of them of one kind of elements on the whole grid, then
/// arrays of the stepper's own; where there are two levels, the fields follow once more, those of the other one.
struct StateShape {
  std::vector<StateArray> arrays;
  std::int64_t padded_doubles = 0;  ///< of each block, ghosts included
  int levels = 1;                   ///< that is, blocks

  /// Of the owned cells of all arrays: what slow tiers keep.
  std::int64_t doubles() const;
  std::int64_t bytes() const { return doubles() * static_cast<std::int64_t>(sizeof(double)); }
  /// Of all blocks.
  std::int64_t padded_bytes() const { return levels * padded_doubles * static_cast<std::int64_t>(sizeof(double)); }
  /// The blocks of a state that lie one behind the other.
  StateBlocks blocks(double* memory) const { return {memory, levels > 1 ? memory + padded_doubles : nullptr}; }
  /// Whether all arrays are doubles on the same cells.
  bool is_uniform() const;
};

/// Fields in the layout of a grid (Layout).
StateShape shape_of_fields(const Grid& grid, std::size_t fields, Element element = Element::float64);
/// The same of any layout: `fields` arrays of doubles that follow each other at field_stride.
StateShape shape_of_fields(std::int64_t fields, const Index3& cells, std::int64_t origin, std::int64_t stride_y,
                           std::int64_t stride_z, std::int64_t field_stride);
/// The same shape with a level before, of the fields alone. @param shape of one level. @param fields the first arrays.
StateShape with_level_before(StateShape shape, std::size_t fields);
/// Adds an array on a box of the whole grid (global indices) behind the others, without ghosts: this rank's part of it.
void add_array(StateShape& shape, Element element, const Box& box, const Grid& grid);

}  // namespace hindsight

// Parts of a grid's width, which walks (wavefront.hpp) go over one after another where rows (planes in 3D) are too
// large for a cache: ranges of the axis before the last one.
//
// Around a tile passes compute what its neighbours do, too. Beyond a periodic axis that is not split these are cells at
// the other end of it, in places of their own within rings; at walls there are none.
#pragma once

#include <cstdint>
#include <vector>

#include "solvers/grid/grid.hpp"

namespace hindsight {

class Tiles {
 public:
  struct Range {
    std::int64_t from, to;
    std::int64_t size() const { return to - from; }
  };
  /// One, as wide as the grid.
  explicit Tiles(const Grid& grid);
  /// Whether there are two or more of this width, and rings have room for one with so many cells around it.
  static bool are_possible(const Grid& grid, std::int64_t width, std::int64_t around);
  /// So wide, or in 2D as wide as the vectors that this takes; the last one may be narrower. @param around cells that
  /// are computed or read to each side of one, at most.
  void cut(std::int64_t width, std::int64_t around);

  bool is_one() const { return tiles_.size() == 1; }
  /// Of the rank, along the axis.
  std::int64_t cells() const { return cells_; }
  std::size_t axis() const { return axis_; }
  std::size_t count() const { return tiles_.size(); }
  std::int64_t width() const { return tiles_.front().size(); }
  /// From now on it is this one's turn.
  void turn_to(std::size_t tile) { now_ = tile; }
  Range own() const { return tiles_[now_]; }
  /// Its cells, with so many around it where there are any. @param at_walls so near a wall they go on to it.
  Range with(std::int64_t layers, std::int64_t at_walls) const;
  /// Cells of a box are where they are in the grid, or all of them beyond an end that they are around.
  struct Part {
    Box cells;               ///< in the grid
    std::int64_t shift = 0;  ///< elements by which they lie elsewhere in rings
    bool is_around = false;
  };
  /// Calls work(part) for each. @param cells which may go beyond the ends of a periodic axis that is not split.
  template <class Work>
  void for_parts(const Box& cells, Work work) const {
    for (int turn = -1; turn <= 1; ++turn)
      if (const Part found = part(cells, turn); !found.cells.is_empty()) work(found);
  }
  /// Elements at the beginning of each row of rings that tiles take.
  std::int64_t elements_of_row() const { return elements_of_row_; }

 private:
  Part part(const Box& cells, int turn) const;
  const Grid* grid_;
  std::size_t axis_;
  std::int64_t cells_, stride_;
  bool goes_around_;
  std::vector<Range> tiles_;
  std::size_t now_ = 0;
  std::int64_t around_ = 0;  ///< in vectors, in 2D
  std::int64_t before_;      ///< cells of a row in memory that lie before its first one
  std::int64_t elements_of_row_;
};

}  // namespace hindsight

#include "solvers/steppers/tiles.hpp"

#include <algorithm>

namespace hindsight {
namespace {

std::size_t axis_across(const Grid& grid) {
  return static_cast<std::size_t>(std::max(grid.dimensions() - 2, 0));
}

/// Along it, in memory.
std::int64_t cells_before(const Grid& grid) {
  const Layout& layout = grid.layout();
  return grid.dimensions() == 2 ? layout.origin - layout.stride_y * layout.halo[1] : layout.halo[1];
}

/// Elements: tiles begin where whole vectors do.
constexpr std::int64_t vector = 8;

std::int64_t in_vectors(const Grid& grid, std::int64_t cells) {
  return grid.dimensions() == 2 ? (cells + vector - 1) / vector * vector : cells;
}

}  // namespace

Tiles::Tiles(const Grid& grid)
    : grid_(&grid),
      axis_(axis_across(grid)),
      cells_(grid.cells()[axis_]),
      stride_(axis_ == 0 ? 1 : grid.layout().stride_y),
      goes_around_(grid.axes()[axis_].periodic && !grid.is_split(static_cast<int>(axis_))),
      tiles_{{0, cells_}},
      before_(cells_before(grid)),
      elements_of_row_(grid.dimensions() == 2 ? grid.layout().stride_y : grid.layout().stride_z) {}

bool Tiles::are_possible(const Grid& grid, std::int64_t width, std::int64_t around) {
  const std::size_t a = axis_across(grid);
  const std::int64_t cells = grid.cells()[a], room = cells + 2 * std::int64_t{grid.layout().halo[a]};
  return width > 0 && width < cells && around <= cells &&
         in_vectors(grid, width) + 2 * in_vectors(grid, around) <= room;
}

void Tiles::cut(std::int64_t width, std::int64_t around) {
  const std::int64_t count = (cells_ + width - 1) / width;
  const std::int64_t each = in_vectors(*grid_, (cells_ + count - 1) / count);
  tiles_.clear();
  for (std::int64_t from = 0; from < cells_; from += each) tiles_.push_back({from, std::min(from + each, cells_)});
  around_ = in_vectors(*grid_, around);
  elements_of_row_ = std::min(elements_of_row_, (each + 2 * around_) * stride_);
}

Tiles::Range Tiles::with(std::int64_t layers, std::int64_t at_walls) const {
  Range range = tiles_[now_];
  const auto axis = static_cast<int>(axis_);
  const std::int64_t least = grid_->is_wall(axis, 0) ? 0 : -layers,
                     most = cells_ + (grid_->is_wall(axis, 1) ? 0 : layers);
  range.from = std::max(range.from - layers, least);
  range.to = std::min(range.to + layers, most);
  if (grid_->is_wall(axis, 0) && range.from < at_walls) range.from = 0;
  if (grid_->is_wall(axis, 1) && range.to > cells_ - at_walls) range.to = cells_;
  return range;
}

Tiles::Part Tiles::part(const Box& cells, int turn) const {
  if (turn != 0 && (is_one() || !goes_around_)) return {{{0, 0, 0}, {0, 0, 0}}};
  if (is_one()) return {cells};
  // The first cell that a tile may need lies where the first of a row in memory does.
  const std::int64_t shift = before_ + tiles_[now_].from - around_;
  Part part{cells, (turn * cells_ - shift) * stride_, turn != 0};
  if (!goes_around_) return part;
  part.cells.lo[axis_] = std::max(cells.lo[axis_] - turn * cells_, std::int64_t{0});
  part.cells.hi[axis_] = std::min(cells.hi[axis_] - turn * cells_, cells_);
  return part;
}

}  // namespace hindsight

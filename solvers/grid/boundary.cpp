#include "solvers/grid/boundary.hpp"

namespace hindsight {
namespace {

std::int64_t stride_of(const Layout& layout, std::size_t axis) {
  return axis == 0 ? 1 : axis == 1 ? layout.stride_y : layout.stride_z;
}

/// The tangential axes of a wall, lower one first.
std::array<std::size_t, 2> tangential_axes(std::size_t axis) {
  return {axis == 0 ? 1U : 0U, axis == 2 ? 1U : 2U};
}

/// Calls visit(ghosts, side) for each wall of an axis that is here. They have no array that derivatives add to.
template <class Visit>
void for_each_wall(const Grid& grid, int axis, int depth, const Box& over, const FieldWalls& walls, CellArray field,
                   Visit visit) {
  const auto a = static_cast<std::size_t>(axis);
  const auto [ap, aq] = tangential_axes(a);
  const Layout& layout = grid.layout();
  const std::int64_t n = grid.cells()[a], step = stride_of(layout, a);
  const WallLayout wall_layout_here = wall_layout(grid, axis);
  for (std::size_t side = 0; side < 2; ++side) {
    if (!grid.is_wall(axis, static_cast<int>(side))) continue;
    const Wall& wall = walls[a][side];
    WallGhosts ghosts;
    ghosts.count = {over.hi[ap] - over.lo[ap], over.hi[aq] - over.lo[aq]};
    ghosts.strides = {stride_of(layout, ap), stride_of(layout, aq)};
    ghosts.layers = depth;
    ghosts.step = side == 0 ? -step : step;
    const std::int64_t corner = ghosts.strides[0] * over.lo[ap] + ghosts.strides[1] * over.lo[aq];
    ghosts.ghost = at_element(field.cell, corner + step * (side == 0 ? -1 : n), field.element);
    ghosts.mirror = at_element(field.cell, corner + step * (side == 0 ? 0 : n - 1), field.element);
    ghosts.element = field.element;
    ghosts.rule = ghost_rule(wall.rule, side, grid.axes()[a].spacing());
    ghosts.wall_stride = wall_layout_here.stride;
    ghosts.constant = wall.value.constant;
    if (wall.value.data != nullptr)
      ghosts.value = wall.value.data + wall.value.origin + over.lo[ap] + wall.value.stride * over.lo[aq];
    visit(ghosts, side);
  }
}

}  // namespace

GhostRule ghost_rule(WallRule rule, std::size_t side, double spacing) {
  if (rule == WallRule::zero) return {};
  return rule == WallRule::value ? GhostRule{-1.0, 2.0, 0.0} : GhostRule{1.0, side == 0 ? -spacing : spacing, 2.0};
}

WallLayout wall_layout(const Grid& grid, int axis) {
  const auto [ap, aq] = tangential_axes(static_cast<std::size_t>(axis));
  const std::array<int, 3>& halo = grid.layout().halo;
  WallLayout layout;
  layout.stride = grid.cells()[ap] + 2 * halo[ap];
  layout.origin = halo[ap] + layout.stride * halo[aq];
  layout.size = layout.stride * (grid.cells()[aq] + 2 * halo[aq]);
  return layout;
}

void fill_walls(const Grid& grid, int axis, int depth, const Box& over, const FieldWalls& walls, CellArray field,
                Sides sides) {
  for_each_wall(grid, axis, depth, over, walls, field, [&](const WallGhosts& ghosts, std::size_t side) {
    if (sides[side]) grid.operations().fill_wall(ghosts);
  });
}

void transpose_walls(const Grid& grid, int axis, int depth, const Box& over, const FieldWalls& walls, double* field,
                     const std::array<double*, 2>& wall_bar, Sides sides) {
  const auto [ap, aq] = tangential_axes(static_cast<std::size_t>(axis));
  const WallLayout layout = wall_layout(grid, axis);
  const auto transpose = [&, p = ap, q = aq](WallGhosts ghosts, std::size_t side) {
    if (!sides[side]) return;
    if (wall_bar[side] != nullptr)
      ghosts.bar = wall_bar[side] + layout.origin + over.lo[p] + layout.stride * over.lo[q];
    grid.operations().transpose_wall(ghosts);
  };
  for_each_wall(grid, axis, depth, over, walls, CellArray(field), transpose);
}

}  // namespace hindsight

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

/// Calls visit(p, q, ghost, mirror, m, side, wall) for every ghost beyond the walls of an axis.
template <class Visit>
void for_each_ghost(const Grid& grid, int axis, int depth, const std::array<int, 3>& tangential,
                    const FieldWalls& walls, double* field, Visit visit) {
  const auto a = static_cast<std::size_t>(axis);
  const auto [ap, aq] = tangential_axes(a);
  const Layout& layout = grid.layout();
  const std::int64_t n = grid.cells()[a], step = stride_of(layout, a);
  const std::int64_t step_p = stride_of(layout, ap), step_q = stride_of(layout, aq);
  for (int side = 0; side < 2; ++side) {
    if (!grid.is_wall(axis, side)) continue;
    const Wall& wall = walls[a][static_cast<std::size_t>(side)];
    for (std::int64_t q = -tangential[aq]; q < grid.cells()[aq] + tangential[aq]; ++q)
      for (int m = 0; m < depth; ++m) {
        const std::int64_t ghost = side == 0 ? -1 - m : n + m, mirror = side == 0 ? m : n - 1 - m;
        double* const row = field + step_q * q;
        for (std::int64_t p = -tangential[ap]; p < grid.cells()[ap] + tangential[ap]; ++p)
          visit(p, q, row[step_p * p + step * ghost], row[step_p * p + step * mirror], m, side, wall);
      }
  }
}

/// Factor of E in a ghost's value: with slope, the signed distance between the ghost and its mirror image.
double value_factor(const Grid& grid, int axis, int m, int side, WallRule rule) {
  if (rule == WallRule::value) return 2.0;
  const double distance = (2 * m + 1) * grid.axes()[static_cast<std::size_t>(axis)].spacing();
  return side == 0 ? -distance : distance;
}

}  // namespace

WallLayout wall_layout(const Grid& grid, int axis) {
  const auto [ap, aq] = tangential_axes(static_cast<std::size_t>(axis));
  const std::array<int, 3>& halo = grid.layout().halo;
  WallLayout layout;
  layout.stride = grid.cells()[ap] + 2 * halo[ap];
  layout.origin = halo[ap] + layout.stride * halo[aq];
  layout.size = layout.stride * (grid.cells()[aq] + 2 * halo[aq]);
  return layout;
}

void fill_walls(const Grid& grid, int axis, int depth, const std::array<int, 3>& tangential, const FieldWalls& walls,
                double* field) {
  for_each_ghost(grid, axis, depth, tangential, walls, field,
                 [&](std::int64_t p, std::int64_t q, double& ghost, double mirror, int m, int side, const Wall& wall) {
                   if (wall.rule == WallRule::zero) {
                     ghost = 0.0;
                     return;
                   }
                   const double shift = value_factor(grid, axis, m, side, wall.rule) * wall.value.at(p, q);
                   ghost = wall.rule == WallRule::value ? shift - mirror : shift + mirror;
                 });
}

void transpose_walls(const Grid& grid, int axis, int depth, const std::array<int, 3>& tangential,
                     const FieldWalls& walls, double* field, const std::array<double*, 2>& wall_bar) {
  const WallLayout layout = wall_layout(grid, axis);
  for_each_ghost(grid, axis, depth, tangential, walls, field,
                 [&](std::int64_t p, std::int64_t q, double& ghost, double& mirror, int m, int side, const Wall& wall) {
                   if (wall.rule != WallRule::zero) {
                     mirror += wall.rule == WallRule::value ? -ghost : ghost;
                     if (double* bar = wall_bar[static_cast<std::size_t>(side)])
                       bar[layout.origin + p + layout.stride * q] +=
                           value_factor(grid, axis, m, side, wall.rule) * ghost;
                   }
                   ghost = 0.0;
                 });
}

}  // namespace hindsight

// Boundary rules on walls (sides of non-periodic axes), and their transposes.
//
// With ghosts g = u[-1-m] on a lower wall (u[n+m] on an upper one) that mirror the interior u[m] (u[n-1-m]):
//   value E:  g = 2 E - u        (u = E on the wall, second order)
//   slope E:  g = u - (2m+1) h E on a lower wall, u + (2m+1) h E on an upper one   (du/daxis = E on the wall)
//   zero:     g = 0              (adjoint fields: nothing beyond a wall has an equation)
// Axes are filled in the order x, y, z, each over the ghosts of the ones before, so corners are defined; the transpose
// goes z, y, x.
#pragma once

#include <array>
#include <vector>

#include "solvers/grid/grid.hpp"

namespace hindsight {

enum class WallRule { value, slope, zero };

/// The E of one wall of one field: a constant, or an array over the wall's cells. For an array, the entry of the ghost
/// column through the cell with tangential local indices (p, q) is data[origin + p + stride*q], p along the lower
/// tangential axis: (j,k) for x walls, (i,k) for y walls, (i,j) for z walls; valid over ghosts of tangential axes too.
struct WallValue {
  double constant = 0.0;
  const double* data = nullptr;
  std::int64_t origin = 0, stride = 0;
};

struct Wall {
  WallRule rule = WallRule::zero;
  WallValue value;
};

/// walls[axis][side] of one field; ignored on periodic axes.
using FieldWalls = std::array<std::array<Wall, 2>, 3>;

/// Layout of a wall's array (see WallValue) for this grid: p runs over -halo..cells+halo of its tangential axis, and so
/// does q; sizes in doubles. Missing tangential axes have one cell.
struct WallLayout {
  std::int64_t origin = 0, stride = 0, size = 0;
};
WallLayout wall_layout(const Grid& grid, int axis);

/// What ghosts beyond the wall of this side (0 lower, 1 upper) of an axis of so wide cells follow.
GhostRule ghost_rule(WallRule rule, std::size_t side, double spacing);

/// Lower and upper walls of an axis.
using Sides = std::array<bool, 2>;
inline constexpr Sides both_sides{true, true};

/// Fills the ghosts beyond the walls of one axis to `depth` layers, over the cells of the other axes that `over` says.
/// A depth of 0 does nothing; a depth above the number of owned cells is refused by Grid.
void fill_walls(const Grid& grid, int axis, int depth, const Box& over, const FieldWalls& walls, CellArray field,
                Sides sides = both_sides);

/// Transpose of fill_walls for one axis and these sides, of doubles: adds each ghost's value into the interior cell and
/// the wall value it came from, then clears the ghost. `field` points to local cell (0,0,0). wall_bar[side], when not
/// null, has the layout of wall_layout and is added to (value: += 2 g; slope: -+ (2m+1) h g).
void transpose_walls(const Grid& grid, int axis, int depth, const Box& over, const FieldWalls& walls, double* field,
                     const std::array<double*, 2>& wall_bar, Sides sides = both_sides);

}  // namespace hindsight

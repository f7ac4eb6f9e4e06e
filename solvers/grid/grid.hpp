// Cartesian grids in blocks over MPI ranks.
//
// Cell-centred: n cells from `from` to `to`, h = (to - from)/n, centres at from + (i + 1/2) h. Axis 0 (x) is the
// fastest in memory. In 2D and 3D x is never split over ranks, so a row (all cells of one (y, z)) belongs to one rank;
// in 1D x is split and a "row" is one cell. No axes at all: an ODE, one cell, which every rank holds (replicated).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/communicator.hpp"
#include "solvers/grid/cell_operations.hpp"

namespace hindsight {

struct Axis {
  std::string name;  ///< "x", "y", "z"
  std::int64_t cells = 1;
  double from = 0.0;
  double to = 1.0;
  bool periodic = true;
  double spacing() const { return (to - from) / static_cast<double>(cells); }
};

/// Cells lo <= index < hi, local indices (0 is the first owned cell; ghosts are negative or >= owned).
struct Box {
  Index3 lo{0, 0, 0};
  Index3 hi{1, 1, 1};
  bool is_empty() const { return hi[0] <= lo[0] || hi[1] <= lo[1] || hi[2] <= lo[2]; }
  Index3 extent() const { return {hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]}; }
  std::int64_t cells() const { return is_empty() ? 0 : (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]); }
};
/// The cells that both have.
inline Box common(const Box& one, const Box& other) {
  Box box;
  for (std::size_t a = 0; a < 3; ++a) {
    box.lo[a] = std::max(one.lo[a], other.lo[a]);
    box.hi[a] = std::min(one.hi[a], other.hi[a]);
  }
  return box;
}

/// Memory of one padded field: cell (i,j,k) lies at origin + i + stride_y*j + stride_z*k, all in elements. Rows start
/// on 64-byte boundaries (without axes: one element); long ones, and planes, are padded, so that a few of them fill
/// whole pages (RowRings). `size` elements per field; fields of a state follow each other at `field_stride`, staggered
/// so that they do not alias within a 4 KiB page.
struct Layout {
  std::array<int, 3> halo{0, 0, 0};
  std::int64_t origin = 0, stride_y = 1, stride_z = 1, size = 1, field_stride = 1;
  std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return origin + i + stride_y * j + stride_z * k;
  }
};

class Grid {
 public:
  /// @param axes 0 to 3. @param halo depth of ghost layers per axis that the layout has room for.
  /// @throws InputError when the cells cannot be divided so that every rank's block is at least `halo` thick on each
  /// split axis: the message says the largest number of ranks that works.
  /// @param machine where the fields' arrays are; must outlive the grid. @param element of most of them. Collective.
  Grid(std::vector<Axis> axes, const Communicator& comm, std::array<int, 3> halo, Machine& machine = Machine::host(),
       Element element = Element::float64);

  /// Ranks per axis. @throws InputError when a grid of these cannot be divided over so many ranks.
  static std::array<int, 3> division(const std::vector<Axis>& axes, std::array<int, 3> halo, int ranks);

  int dimensions() const { return static_cast<int>(axes_.size()); }
  const std::vector<Axis>& axes() const { return axes_; }
  const Communicator& communicator() const { return comm_; }
  const Layout& layout() const { return layout_; }
  Machine& machine() const { return *machine_; }
  const CellOperations& operations() const { return *operations_; }
  /// Of a device: for short copies by this thread.
  Link& link() const { return *link_; }
  /// The cells of a box of a field.
  CellBlock block(const Box& box, CellArray field) const {
    const std::int64_t first = box.lo[0] + layout_.stride_y * box.lo[1] + layout_.stride_z * box.lo[2];
    return {at_element(field.cell, first, field.element), {1, layout_.stride_y, layout_.stride_z}, field.element};
  }
  /// Field f of a state, whose fields lie field_stride apart.
  CellArray field_of(double* state, std::size_t f, Element element) const {
    return {at_element(state, layout_.origin + layout_.field_stride * static_cast<std::int64_t>(f), element), element};
  }
  const Index3& global_cells() const { return global_; }  ///< 1 on missing axes
  const Index3& first() const { return first_; }          ///< global index of local cell 0
  const Index3& cells() const { return local_; }          ///< owned cells per axis
  Box interior() const { return {{0, 0, 0}, local_}; }
  /// The owned cells with so many layers around them.
  Box with_ghosts(const std::array<int, 3>& layers) const {
    Box box = interior();
    for (std::size_t a = 0; a < 3; ++a) {
      box.lo[a] -= layers[a];
      box.hi[a] += layers[a];
    }
    return box;
  }
  /// Is this side of the block the edge of a non-periodic domain? side 0 lower, 1 upper.
  bool is_wall(int axis, int side) const;
  /// Is the neighbour across this side another rank (or this rank itself by periodicity on an unsplit axis: false)?
  bool is_split(int axis) const { return ranks_[static_cast<std::size_t>(axis)] > 1; }
  const std::array<int, 3>& ranks_per_axis() const { return ranks_; }
  /// Rank that owns the neighbouring block on a split axis, or MPI_PROC_NULL at a wall.
  int neighbour(int axis, int side) const;

  /// Cell-centre coordinates of an axis: pointer to local cell 0, valid from -halo to cells + halo - 1. Ghost entries
  /// of periodic axes hold the coordinate of the cell that they mirror, of others the extrapolated one. nullptr beyond
  /// dimensions().
  const double* coordinates(int axis) const;

  /// Cells over all ranks, cell volume (1 for an ODE).
  std::int64_t total_cells() const { return global_[0] * global_[1] * global_[2]; }
  double cell_volume() const;

  /// Rows: the units of ordered sums (runtime/ordered_sum.hpp). Local row of cell (i,j,k): in 1D i, else j +
  /// cells[1]*k.
  std::int64_t local_rows() const;
  std::int64_t global_rows() const;
  /// Global row index of a local row.
  std::int64_t global_row(std::int64_t local_row) const;

 private:
  std::vector<Axis> axes_;
  Communicator comm_;
  Machine* machine_;
  std::shared_ptr<const CellOperations> operations_;
  std::shared_ptr<Link> link_;
  Layout layout_;
  Index3 global_{1, 1, 1}, first_{0, 0, 0}, local_{1, 1, 1};
  std::array<int, 3> ranks_{1, 1, 1}, place_{0, 0, 0};
  std::array<std::vector<double>, 3> coordinates_;
};

/// The owned cells of a padded field, x fastest, and back; `packed` is on the host, as many doubles as there are owned
/// cells.
void pack_cells(const Grid& grid, ConstCellArray cells, double* packed);
void unpack_cells(const Grid& grid, const double* packed, CellArray cells);

/// Adds one value per local row over all rows of the grid, in global order: the same bits on every number of ranks (an
/// ODE is replicated and counts once). Collective.
double grid_sum(const Grid& grid, const double* rows);
/// Memory that it takes, and gives back.
std::int64_t grid_sum_bytes(const Grid& grid);

/// Calls visit(box) for the disjoint boxes that cover `outer` minus `inner` (inner inside outer), in a fixed order;
/// empty ones left out.
template <class Visit>
void for_shell(const Box& outer, const Box& inner, Visit visit) {
  Box rest = outer;
  for (std::size_t a = inner.is_empty() ? 0 : 3; a-- > 0;) {
    Box below = rest, above = rest;
    below.hi[a] = rest.lo[a] = inner.lo[a];
    above.lo[a] = rest.hi[a] = inner.hi[a];
    if (!below.is_empty()) visit(below);
    if (!above.is_empty()) visit(above);
  }
  if (inner.is_empty() && !outer.is_empty()) visit(outer);
}
/// All of them.
std::vector<Box> shell(const Box& outer, const Box& inner);

}  // namespace hindsight

#include "solvers/grid/grid.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "runtime/error.hpp"
#include "runtime/memory.hpp"
#include "runtime/ordered_sum.hpp"
#include "runtime/rounding.hpp"

namespace hindsight {
namespace {

/// Share of `cells` that place `p` of `ranks` owns: first cell and count.
std::pair<std::int64_t, std::int64_t> share(std::int64_t cells, int ranks, int p) {
  const std::int64_t base = cells / ranks, extra = cells % ranks;
  return {p * base + std::min<std::int64_t>(p, extra), base + (p < extra ? 1 : 0)};
}

/// Thinnest block on a split axis: as thick as its ghosts.
bool fits(std::int64_t cells, int ranks, int halo) {
  return ranks == 1 || cells / ranks >= std::max(1, halo);
}

/// Ranks per axis with the smallest halo surface, or {0,0,0} when no division fits.
std::array<int, 3> divide(const Index3& cells, const std::array<int, 3>& halo, int dimensions, int ranks) {
  if (dimensions == 0 || ranks == 1) return {1, 1, 1};
  if (dimensions == 1) return fits(cells[0], ranks, halo[0]) ? std::array<int, 3>{ranks, 1, 1} : std::array<int, 3>{};
  std::array<int, 3> best{0, 0, 0};
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int pz = 1; pz <= ranks; ++pz) {
    if (ranks % pz != 0 || (dimensions == 2 && pz > 1)) continue;
    const int py = ranks / pz;
    if (!fits(cells[1], py, halo[1]) || !fits(cells[2], pz, halo[2])) continue;
    const std::int64_t surface = (py > 1 ? cells[2] / pz : 0) + (pz > 1 ? cells[1] / py : 0);
    if (surface < least) {
      least = surface;
      best = {1, py, pz};
    }
  }
  return best;
}

/// The same. @throws InputError when no division fits.
std::array<int, 3> require_divided(const Index3& cells, const std::array<int, 3>& halo, int dimensions, int ranks) {
  const std::array<int, 3> divided = divide(cells, halo, dimensions, ranks);
  if (divided[0] != 0) return divided;
  int most = ranks - 1;
  while (divide(cells, halo, dimensions, most)[0] == 0) --most;
  throw InputError("the grid cannot be divided over " + std::to_string(ranks) +
                   " ranks: blocks would be thinner than their ghosts; use at most " + std::to_string(most));
}

/// From one row to the next (one plane to the next in 3D), in elements: of long ones so much more, an eighth at most,
/// that a few fill whole pages, and that those next to each other lie at different places in pages.
std::int64_t padded(std::int64_t stride, Element element) {
  constexpr std::uint64_t least = 64, most = 2048;  // bytes of a unit
  const auto bytes = static_cast<std::uint64_t>(stride * bytes_of(element));
  const std::uint64_t unit = std::clamp(std::bit_floor(bytes / 16), least, most);
  if (unit == least) return stride;
  const std::uint64_t units = rounded_up(bytes, unit) / unit;
  return static_cast<std::int64_t>((units | 1U) * unit) / bytes_of(element);
}

}  // namespace

std::array<int, 3> Grid::division(const std::vector<Axis>& axes, std::array<int, 3> halo, int ranks) {
  Index3 cells{1, 1, 1};
  for (std::size_t a = 0; a < axes.size(); ++a) cells[a] = axes[a].cells;
  return require_divided(cells, halo, static_cast<int>(axes.size()), ranks);
}

Grid::Grid(std::vector<Axis> axes, const Communicator& comm, std::array<int, 3> halo, Machine& machine, Element element)
    : axes_(std::move(axes)), comm_(comm), machine_(&machine), operations_(CellOperations::on(machine, comm)) {
  if (!machine.is_host()) link_ = machine.link();
  const int d = dimensions();
  for (std::size_t a = 0; a < axes_.size(); ++a) global_[a] = axes_[a].cells;
  for (std::size_t a = 0; a < 3; ++a) {
    if (a >= axes_.size()) halo[a] = 0;
    if (halo[a] > global_[a])
      throw InputError("axis " + axes_[a].name + " has " + std::to_string(global_[a]) +
                       " cells, but the stencils reach " + std::to_string(halo[a]) +
                       " cells: use more cells or a lower grid.order");
  }
  layout_.halo = halo;
  ranks_ = require_divided(global_, halo, d, comm.size());
  const int rank = d == 0 ? 0 : comm.rank();
  place_ = d == 1 ? std::array<int, 3>{rank, 0, 0} : std::array<int, 3>{0, rank % ranks_[1], rank / ranks_[1]};
  for (std::size_t a = 0; a < 3; ++a) std::tie(first_[a], local_[a]) = share(global_[a], ranks_[a], place_[a]);

  if (d > 0) {
    const std::int64_t line = 64 / bytes_of(element);
    const std::int64_t left = rounded_up(halo[0], line);
    layout_.stride_y = rounded_up(left + local_[0] + halo[0], line);
    if (d == 2) layout_.stride_y = padded(layout_.stride_y, element);
    const std::int64_t rows = local_[1] + 2 * halo[1];
    layout_.stride_z = layout_.stride_y * rows;
    if (d == 3) layout_.stride_z = padded(layout_.stride_z, element);
    layout_.size = layout_.stride_z * (local_[2] + 2 * halo[2]);
    layout_.origin = left + layout_.stride_y * halo[1] + layout_.stride_z * halo[2];
    layout_.field_stride = layout_.size + (layout_.size > 512 ? 17 * line : 0);
  }
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const Axis& axis = axes_[a];
    for (std::int64_t i = -halo[a]; i < local_[a] + halo[a]; ++i) {
      std::int64_t cell = first_[a] + i;
      if (axis.periodic) cell = (cell % axis.cells + axis.cells) % axis.cells;
      coordinates_[a].push_back(axis.from + (static_cast<double>(cell) + 0.5) * axis.spacing());
    }
  }
}

bool Grid::is_wall(int axis, int side) const {
  const auto a = static_cast<std::size_t>(axis);
  if (axis >= dimensions() || axes_[a].periodic) return false;
  return side == 0 ? place_[a] == 0 : place_[a] == ranks_[a] - 1;
}

int Grid::neighbour(int axis, int side) const {
  if (is_wall(axis, side)) return MPI_PROC_NULL;
  std::array<int, 3> at = place_;
  const auto a = static_cast<std::size_t>(axis);
  at[a] = (at[a] + (side == 0 ? ranks_[a] - 1 : 1)) % ranks_[a];
  return dimensions() == 1 ? at[0] : at[1] + ranks_[1] * at[2];
}

const double* Grid::coordinates(int axis) const {
  const auto a = static_cast<std::size_t>(axis);
  return coordinates_[a].empty() ? nullptr : coordinates_[a].data() + layout_.halo[a];
}

double Grid::cell_volume() const {
  double volume = 1.0;
  for (const Axis& axis : axes_) volume *= axis.spacing();
  return volume;
}

std::int64_t Grid::local_rows() const {
  return dimensions() <= 1 ? local_[0] : local_[1] * local_[2];
}
std::int64_t Grid::global_rows() const {
  return dimensions() <= 1 ? global_[0] : global_[1] * global_[2];
}

std::int64_t Grid::global_row(std::int64_t local_row) const {
  if (dimensions() <= 1) return first_[0] + local_row;
  return first_[1] + local_row % local_[1] + global_[1] * (first_[2] + local_row / local_[1]);
}

void pack_cells(const Grid& grid, ConstCellArray cells, double* packed) {
  const Box box = grid.interior();
  const CellArray field{const_cast<double*>(cells.cell), cells.element};  // it is only read
  grid.operations().pack(box.extent(), grid.block(box, field), packed);
}

void unpack_cells(const Grid& grid, const double* packed, CellArray cells) {
  const Box box = grid.interior();
  grid.operations().unpack(box.extent(), packed, grid.block(box, cells));
}

double grid_sum(const Grid& grid, const double* rows) {
  const HostView here(grid.machine(), rows, grid.local_rows());
  if (grid.dimensions() == 0) return here[0];
  CountedVector<std::int64_t> index(static_cast<std::size_t>(grid.local_rows()));
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = grid.global_row(static_cast<std::int64_t>(i));
  return ordered_sum({here.data(), index.size()}, index, grid.global_rows(), grid.communicator());
}

std::int64_t grid_sum_bytes(const Grid& grid) {
  if (grid.dimensions() == 0) return 0;
  return grid.local_rows() * static_cast<std::int64_t>(sizeof(std::int64_t)) * (grid.machine().is_host() ? 1 : 2) +
         ordered_sum_bytes(grid.global_rows(), grid.communicator());
}

std::vector<Box> shell(const Box& outer, const Box& inner) {
  std::vector<Box> boxes;
  for_shell(outer, inner, [&](const Box& box) { boxes.push_back(box); });
  return boxes;
}

}  // namespace hindsight

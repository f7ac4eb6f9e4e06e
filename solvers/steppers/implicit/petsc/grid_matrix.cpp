#include "solvers/steppers/implicit/petsc/grid_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/petsc.hpp"
#include "solvers/grid/halo_exchange.hpp"

namespace hindsight {

/// Rows and columns of the values.
struct GridMatrix::Pattern {
  std::vector<double> cells;                // the number of each cell, ghosts those of the cells that they stand for
  std::vector<std::vector<double>> shares;  // by field: what a ghost has of the cell that it stands for: 1 or -1
  std::vector<PetscInt> rows, columns;
};

/// Ghosts get their numbers and shares as they get values.
void GridMatrix::number(const Grid& grid, const CountedVector<std::int64_t>& places, Pattern& pattern) {
  const Layout& layout = grid.layout();
  const auto size = static_cast<std::size_t>(layout.size);
  const std::int64_t own = std::ssize(places);
  std::int64_t first = 0;
  MPI_Exscan(&own, &first, 1, MPI_INT64_T, MPI_SUM, grid.communicator().handle());
  if (grid.communicator().rank() == 0) first = 0;
  const std::array<int, 3> depth = entries_.kernels().halo();
  pattern.cells.assign(size, 0.0);
  for (std::int64_t c = 0; c < own; ++c)
    pattern.cells[static_cast<std::size_t>(places[static_cast<std::size_t>(c)])] = static_cast<double>(first + c);
  const auto fill = [&](std::vector<double>& field, const FieldWalls& walls) {
    HaloExchange exchange(grid, 1, depth, true);
    exchange.start({field.data() + layout.origin}, {walls});
    exchange.finish({field.data() + layout.origin}, {walls});
  };
  FieldWalls mirrors;
  for (auto& axis : mirrors) axis.fill({WallRule::slope, {}});
  fill(pattern.cells, mirrors);
  for (std::size_t f = 0; f < model_.fields.size(); ++f) {
    FieldWalls walls = mirrors;
    for (std::size_t a = 0; a < 3 && !model_.walls.empty(); ++a)
      for (std::size_t s = 0; s < 2; ++s) walls[a][s].rule = model_.walls[f][a][s].rule;
    fill(pattern.shares.emplace_back(size, 1.0), walls);
  }
}

void GridMatrix::prepare(const Grid& grid, const CountedVector<std::int64_t>& places) {
  start_petsc();
  places_ = &places;
  const auto fields = static_cast<std::int64_t>(model_.fields.size());
  if (grid.total_cells() * fields > std::numeric_limits<PetscInt>::max())
    throw ResourceError("the matrix of an implicit step has more rows than PETSc's integers can number");
  rows_ = static_cast<PetscInt>(std::ssize(places) * fields);
  Pattern pattern;
  number(grid, places, pattern);
  const auto cell_at = [&](std::int64_t place) {
    return static_cast<PetscInt>(pattern.cells[static_cast<std::size_t>(place)]);
  };
  const auto bs = static_cast<PetscInt>(fields);
  const Layout& layout = grid.layout();
  for (const JacobianEntries::Entry& entry : entries_.all())
    for (const std::int64_t place : places) {
      const std::int64_t other =
          place + entry.offset[0] + layout.stride_y * entry.offset[1] + layout.stride_z * entry.offset[2];
      pattern.rows.push_back(cell_at(place) * bs + entry.row);
      pattern.columns.push_back(cell_at(other) * bs + entry.column);
      const double share = pattern.shares[static_cast<std::size_t>(entry.column)][static_cast<std::size_t>(other)];
      if (share < 0) flipped_.push_back(std::ssize(pattern.rows) - 1);
    }
  for (PetscInt f = 0; f < bs; ++f)
    for (const std::int64_t place : places) {
      pattern.rows.push_back(cell_at(place) * bs + f);
      pattern.columns.push_back(cell_at(place) * bs + f);
    }
  values_.assign(pattern.rows.size(), 1.0);
  fold(pattern);
  check_petsc(MatCreate(grid.communicator().handle(), &matrix_), "make a matrix");
  check_petsc(MatSetSizes(matrix_, rows_, rows_, PETSC_DETERMINE, PETSC_DETERMINE), "make a matrix");
  check_petsc(MatSetBlockSize(matrix_, bs), "make a matrix");
  check_petsc(MatSetType(matrix_, MATAIJ), "make a matrix");
  check_petsc(MatSetPreallocationCOO(matrix_, static_cast<PetscCount>(pattern.rows.size()), pattern.rows.data(),
                                     pattern.columns.data()),
              "make a matrix");
}

/// Leaves the first value of each place to PETSc, which passes over negative rows.
void GridMatrix::fold(Pattern& pattern) {
  std::vector<std::int64_t> order(pattern.rows.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto place = [&](std::int64_t i) {
    return std::pair(pattern.rows[static_cast<std::size_t>(i)], pattern.columns[static_cast<std::size_t>(i)]);
  };
  std::ranges::stable_sort(order, {}, place);
  for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
    if (place(order[i]) == place(order[first]))
      folded_.push_back({order[i], order[first]});
    else
      first = i;
  }
  for (const Folded& folded : folded_) pattern.rows[static_cast<std::size_t>(folded.value)] = -1;
}

void GridMatrix::assemble(double a) {
  double* value = values_.data();
  for (const JacobianEntries::Entry& entry : entries_.all())
    for (const std::int64_t place : *places_) *value++ = -a * entry.at(place);
  for (const std::int64_t i : flipped_) values_[static_cast<std::size_t>(i)] *= -1.0;
  for (const Folded& folded : folded_)
    values_[static_cast<std::size_t>(folded.into)] += values_[static_cast<std::size_t>(folded.value)];
  check_petsc(MatSetValuesCOO(matrix_, values_.data(), INSERT_VALUES), "assemble a matrix");
}

}  // namespace hindsight

#include "solvers/steppers/implicit/petsc/grid_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/petsc.hpp"
#include "solvers/grid/halo_exchange.hpp"
#include "solvers/steppers/implicit/petsc/matrix_parts.hpp"

namespace hindsight {

/// Where values belong.
struct GridMatrix::Pattern {
  CountedVector<double> cells;                // the number of each cell, ghosts those of the cells they stand for
  std::vector<CountedVector<double>> shares;  // by variable: what a ghost has of the cell that it stands for: 1 or -1
};

GridMatrix::~GridMatrix() {
  MatDestroy(&matrix_);
  VecDestroy(&ones_);
  VecDestroy(&sums_);
}

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
  const auto fill = [&](CountedVector<double>& field, const FieldWalls& walls) {
    HaloExchange exchange(grid, 1, depth, true);
    exchange.start({CellArray(field.data() + layout.origin)}, {walls});
    exchange.finish({CellArray(field.data() + layout.origin)}, {walls});
  };
  FieldWalls mirrors;
  for (auto& axis : mirrors) axis.fill({WallRule::slope, {}});
  fill(pattern.cells, mirrors);
  for (const SystemVariable& variable : entries_.variables()) {
    FieldWalls walls = mirrors;
    for (std::size_t a = 0; a < 3 && !model_.walls.empty(); ++a)
      for (std::size_t s = 0; s < 2; ++s) walls[a][s].rule = model_.walls[variable.field][a][s].rule;
    fill(pattern.shares.emplace_back(size, 1.0), walls);
  }
}

void GridMatrix::prepare(const Grid& grid, const CountedVector<std::int64_t>& places) {
  start_petsc();
  places_ = &places;
  comm_ = &grid.communicator();
  for (const std::int64_t cells : grid.global_cells())
    longest_axis_ = std::max(longest_axis_, static_cast<double>(cells));
  const auto variables = std::ssize(entries_.variables());
  if (grid.total_cells() * variables > std::numeric_limits<PetscInt>::max())
    throw ResourceError("the matrix of an implicit step has more rows than PETSc's integers can number");
  rows_ = static_cast<PetscInt>(std::ssize(places) * variables);
  Pattern pattern;
  number(grid, places, pattern);
  const auto bs = static_cast<PetscInt>(variables);
  make_terms();
  check_petsc(MatCreate(grid.communicator().handle(), &matrix_), "make a matrix");
  check_petsc(MatSetSizes(matrix_, rows_, rows_, PETSC_DETERMINE, PETSC_DETERMINE), "make a matrix");
  check_petsc(MatSetBlockSize(matrix_, bs), "make a matrix");
  check_petsc(MatSetType(matrix_, MATAIJ), "make a matrix");
  allocate(pattern, grid.layout());
  check_petsc(MatSetOption(matrix_, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE), "make a matrix");
  if (std::ranges::any_of(entries_.variables(), [](const SystemVariable& v) { return v.mass == 0.0; }))
    check_petsc(MatCreateVecs(matrix_, &ones_, &sums_), "make vectors");
}

/// The entries, and diagonals, also of variables that their own equations do not read.
void GridMatrix::make_terms() {
  std::vector<bool> has_diagonal(entries_.variables().size(), false);
  const auto mass = [&](int v) { return entries_.variables()[static_cast<std::size_t>(v)].mass; };
  for (std::size_t e = 0; e < entries_.all().size(); ++e) {
    const JacobianEntries::Entry& entry = entries_.all()[e];
    const bool is_diagonal = entry.row == entry.column && entry.offset == Offset{0, 0, 0};
    if (is_diagonal) has_diagonal[static_cast<std::size_t>(entry.row)] = true;
    terms_.push_back({entry.row, entry.column, entry.offset, is_diagonal ? mass(entry.row) : 0.0, e});
  }
  for (int v = 0; v < static_cast<int>(has_diagonal.size()); ++v)
    if (!has_diagonal[static_cast<std::size_t>(v)]) terms_.push_back({v, v, {0, 0, 0}, mass(v), {}});
}

/// @param entries of the matrix on this rank at most.
void GridMatrix::require_countable(std::int64_t entries) {
  if (entries > std::numeric_limits<PetscInt>::max())
    throw ResourceError(
        "the matrix of an implicit step has more entries on one rank than PETSc's integers can count; "
        "more ranks have fewer each");
}

/// Row by row, so that little is needed beside the matrix.
std::vector<GridMatrix::Column> GridMatrix::columns_of(std::int64_t place, int row, const Pattern& pattern,
                                                       const Layout& layout) const {
  std::vector<Column> columns;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const Term& term = terms_[t];
    if (term.row != row) continue;
    const auto other = static_cast<std::size_t>(place + term.offset[0] + layout.stride_y * term.offset[1] +
                                                layout.stride_z * term.offset[2]);
    const auto cell = static_cast<PetscInt>(pattern.cells[other]);
    const auto bs = static_cast<PetscInt>(entries_.variables().size());
    columns.push_back({cell * bs + term.column, t, pattern.shares[static_cast<std::size_t>(term.column)][other] < 0});
  }
  std::ranges::stable_sort(columns, {}, &Column::number);
  return columns;
}

/// Gives the matrix its pattern, and each value its position.
void GridMatrix::allocate(const Pattern& pattern, const Layout& layout) {
  const std::size_t values = places_->size() * terms_.size();
  comm_->together([&] { require_countable(static_cast<std::int64_t>(values)); });
  const int variables = static_cast<int>(entries_.variables().size());
  const auto first_row = static_cast<PetscInt>(pattern.cells[static_cast<std::size_t>(places_->front())]) * variables;
  CountedVector<PetscInt> begins, columns;
  begins.reserve(static_cast<std::size_t>(rows_) + 1);
  begins.push_back(0);
  columns.reserve(values);
  PetscInt others = 0;  // in columns of other ranks
  positions_.assign(values, 0);
  for (std::size_t c = 0; c < places_->size(); ++c)
    for (int row = 0; row < variables; ++row) {
      const std::vector<Column> all = columns_of((*places_)[c], row, pattern, layout);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto is_same = [&](std::size_t j) { return j < all.size() && all[j].number == all[i].number; };
        const bool is_own = all[i].number >= first_row && all[i].number < first_row + rows_;
        const bool is_first = i == 0 || !is_same(i - 1);
        if (is_first) columns.push_back(all[i].number);
        if (is_first && !is_own) ++others;
        const auto nonzeros = static_cast<PetscInt>(columns.size());
        const PetscInt position = is_own ? nonzeros - others - 1 : -others;
        const bool is_simple = is_first && !is_same(i + 1) && !all[i].is_flipped;
        const std::size_t value = c * terms_.size() + all[i].term;
        positions_[value] = is_simple ? position : is_folded;
        if (!is_simple)
          folded_.push_back({static_cast<std::int64_t>(value), position, all[i].is_flipped ? -1.0 : 1.0, is_first});
      }
      begins.push_back(static_cast<PetscInt>(columns.size()));
    }
  std::ranges::sort(folded_, {}, &Folded::value);
  check_petsc(MatSeqAIJSetPreallocationCSR(matrix_, begins.data(), columns.data(), nullptr), "make a matrix");
  check_petsc(MatMPIAIJSetPreallocationCSR(matrix_, begins.data(), columns.data(), nullptr), "make a matrix");
}

/// The values of one rank, by their positions: from 0 those in its own columns, below 0 the others backwards.
class GridMatrix::Values {
 public:
  explicit Values(Mat matrix) : parts_(parts_of(matrix)) {
    check_petsc(MatSeqAIJGetArray(parts_.own, &in_own_), "fill a matrix");
    if (parts_.others != nullptr) check_petsc(MatSeqAIJGetArray(parts_.others, &in_others_), "fill a matrix");
  }
  ~Values() {
    MatSeqAIJRestoreArray(parts_.own, &in_own_);
    if (parts_.others != nullptr) MatSeqAIJRestoreArray(parts_.others, &in_others_);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  double& operator[](PetscInt position) { return position >= 0 ? in_own_[position] : in_others_[-position - 1]; }

 private:
  MatrixParts parts_;
  double *in_own_ = nullptr, *in_others_ = nullptr;
};

bool GridMatrix::has_array(const Term& term) const {
  return term.entry && entries_.all()[*term.entry].cells != nullptr;
}

double GridMatrix::value_of(const Term& term, double a, std::int64_t place) const {
  return term.entry ? term.mass - a * entries_.all()[*term.entry].at(place) : term.mass;
}

/// Terms that have another value than the matrix somewhere.
std::vector<std::size_t> GridMatrix::changed_terms(double a) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  written_.resize(terms_.size(), none);
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const double value = has_array(terms_[i]) ? none : value_of(terms_[i], a, 0);
    if (value != written_[i]) changed.push_back(i);
    written_[i] = value;
  }
  return changed;
}

/// Some cells at a time, whose values stay in the cache from term to term. @returns whether all are finite.
bool GridMatrix::evaluate(double a, Values& values) {
  constexpr std::size_t at_a_time = 64;
  constexpr double largest = std::numeric_limits<double>::max();
  const std::size_t terms = terms_.size();
  const std::int64_t* const places = places_->data();
  const std::vector<std::size_t> changed = changed_terms(a);
  bool is_infinite = std::ranges::any_of(written_, [](double value) { return std::isinf(value); });
  for (std::size_t first = 0; first < places_->size(); first += at_a_time) {
    const std::size_t last = std::min(first + at_a_time, places_->size());
    for (const std::size_t i : changed) {
      const PetscInt* position = positions_.data() + first * terms + i;
      for (std::size_t c = first; c < last; ++c, position += terms) {
        const double value = value_of(terms_[i], a, places[c]);
        is_infinite |= !(std::fabs(value) <= largest);
        if (*position != is_folded) values[*position] = value;
      }
    }
  }
  for (const Folded& folded : folded_) {
    const auto number = static_cast<std::size_t>(folded.value);
    const double value = folded.sign * value_of(terms_[number % terms], a, places[number / terms]);
    double& sum = values[folded.position];
    sum = folded.is_first ? value : sum + value;
  }
  return !is_infinite;
}

void GridMatrix::assemble(double a) {
  {
    Values values(matrix_);
    is_finite_ = !comm_->any(!evaluate(a, values));
  }
  check_petsc(MatAssemblyBegin(matrix_, MAT_FINAL_ASSEMBLY), "assemble a matrix");
  check_petsc(MatAssemblyEnd(matrix_, MAT_FINAL_ASSEMBLY), "assemble a matrix");
  pinned_.clear();
  if (ones_ == nullptr) return;
  for (int v = 0; v < static_cast<int>(entries_.variables().size()); ++v)
    if (entries_.variables()[static_cast<std::size_t>(v)].mass == 0.0 && knows_differences_alone(v, a))
      pinned_.push_back(v);
  a_ = a;
  if (is_finite_ && std::exchange(is_first_, false)) refuse_joint_constants();
}

void GridMatrix::hold_constants(bool by_iterations) {
  pins_.clear();
  for (const int variable : pinned_) by_iterations ? shift(variable) : pin(variable);
  if (pinned_.empty()) return;
  written_.clear();  // diagonals are others
  PetscInt first = 0;
  check_petsc(MatGetOwnershipRange(matrix_, &first, nullptr), "assemble a matrix");
  for (const auto& [row, value] : pins_)
    check_petsc(MatSetValue(matrix_, first + row, first + row, value, ADD_VALUES), "assemble a matrix");
  check_petsc(MatAssemblyBegin(matrix_, MAT_FINAL_ASSEMBLY), "assemble a matrix");
  check_petsc(MatAssemblyEnd(matrix_, MAT_FINAL_ASSEMBLY), "assemble a matrix");
}

void GridMatrix::become_identity() {
  written_.clear();
  check_petsc(MatZeroEntries(matrix_), "change a matrix");
  check_petsc(MatShift(matrix_, 1.0), "change a matrix");
}

void GridMatrix::fill(Vec vector, int variable) const {
  double* data = nullptr;
  VecGetArrayWrite(vector, &data);
  const auto variables = static_cast<int>(entries_.variables().size());
  for (PetscInt row = 0; row < rows_; ++row) data[row] = row % variables == variable ? 1.0 : 0.0;
  VecRestoreArrayWrite(vector, &data);
}

/// The largest entry of a variable in an equation.
double GridMatrix::size_of(int row, int column) const {
  double largest = 0.0;
  for (const JacobianEntries::Entry& entry : entries_.all()) {
    if (entry.row != row || entry.column != column) continue;
    for (const std::int64_t place : *places_) largest = std::max(largest, std::fabs(entry.at(place)));
  }
  return comm_->max(largest);
}

/// By equation, what is left in a cell of a variable that is 1 everywhere.
std::vector<double> GridMatrix::sums_of(int variable) {
  fill(ones_, variable);
  check_petsc(MatMult(matrix_, ones_, sums_), "look at a matrix");
  std::vector<double> largest(entries_.variables().size(), 0.0);
  const double* sums = nullptr;
  VecGetArrayRead(sums_, &sums);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows_); ++row) {
    double& of_equation = largest[row % largest.size()];
    of_equation = std::max(of_equation, std::fabs(sums[row]));
  }
  VecRestoreArrayRead(sums_, &sums);
  MPI_Allreduce(MPI_IN_PLACE, largest.data(), static_cast<int>(largest.size()), MPI_DOUBLE, MPI_MAX, comm_->handle());
  return largest;
}

/// Over all ranks.
double GridMatrix::product(const std::vector<double>& a, const std::vector<double>& b) const {
  double sum = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm_->handle());
  return sum;
}

/// By constrained variable that is not pinned, what is left in the cells' constraints of one that is 1 everywhere, on
/// this rank; of norm 1 over all ranks.
std::vector<std::vector<double>> GridMatrix::unit_sums_of_constraints() {
  const std::vector<SystemVariable>& variables = entries_.variables();
  std::vector<std::vector<double>> all;
  for (int v = 0; v < static_cast<int>(variables.size()); ++v) {
    if (variables[static_cast<std::size_t>(v)].mass != 0.0 || std::ranges::find(pinned_, v) != pinned_.end()) continue;
    sums_of(v);
    std::vector<double>& own = all.emplace_back();
    const double* sums = nullptr;
    VecGetArrayRead(sums_, &sums);
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows_); ++row)
      if (variables[row % variables.size()].mass == 0.0) own.push_back(sums[row]);
    VecRestoreArrayRead(sums_, &sums);
    const double norm = std::sqrt(product(own, own));
    for (double& value : own) value /= norm > 0.0 ? norm : 1.0;
  }
  return all;
}

/// Of zero(p): "lap(p) + p - q" and zero(q): "lap(q) + q - p": where what is left of some of them makes up for what is
/// left of another.
void GridMatrix::refuse_joint_constants() {
  constexpr double rounding = 1e-7;
  std::vector<std::vector<double>> sums = unit_sums_of_constraints();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::vector<double>& own = sums[i];
    for (std::size_t j = 0; j < i; ++j) {
      const double share = product(own, sums[j]);
      for (std::size_t k = 0; k < own.size(); ++k) own[k] -= share * sums[j][k];
    }
    const double norm = std::sqrt(product(own, own));
    for (double& value : own) value /= norm;
    if (!(norm > rounding))
      throw InputError(
          "the constraints (zero(...): ...) leave a constant open that several fields have together, and "
          "nothing fixes it: fix one of these fields by a value on a wall, or solve for their differences");
  }
}

/// Constants of the variable are nothing to its own equation.
bool GridMatrix::knows_differences_alone(int variable, double a) {
  const double rounding = 64 * std::numeric_limits<double>::epsilon() * std::fabs(a);
  const std::vector<double> sums = sums_of(variable);
  const auto own = static_cast<std::size_t>(variable);
  const double size = size_of(variable, variable);
  if (!(size > 0.0) || !(sums[own] <= rounding * size)) return false;
  const auto name = [&](std::size_t v) { return model_.fields[entries_.variables()[v].field]; };
  for (std::size_t v = 0; v < sums.size(); ++v)
    if (v != own && sums[v] > rounding * size_of(static_cast<int>(v), variable))
      throw InputError(model_.place(entries_.variables()[own].field),
                       "zero(" + name(own) + ") knows '" + name(own) +
                           "' by its differences alone (its sides are periodic or have slopes), and the equation of '" +
                           name(v) + "' reads its constant, which nothing fixes");
  return true;
}

/// In the first cell of this rank.
double GridMatrix::diagonal_of(int variable) const {
  double diagonal = 0.0;
  for (const JacobianEntries::Entry& entry : entries_.all())
    if (entry.row == variable && entry.column == variable && entry.offset == Offset{0, 0, 0})
      diagonal = -a_ * entry.at(places_->front());
  return diagonal;
}

/// The diagonal in the first cell is doubled.
void GridMatrix::pin(int variable) {
  if (comm_->rank() != 0) return;
  const double diagonal = diagonal_of(variable);
  pins_.emplace_back(variable, diagonal == 0.0 ? a_ : diagonal);
}

/// The diagonal grows by somewhat less than the first eigenvalue that is not zero.
void GridMatrix::shift(int variable) {
  const double sign = comm_->any(comm_->rank() == 0 && diagonal_of(variable) < 0.0) ? -1.0 : 1.0;
  const double value = sign * std::fabs(a_) * size_of(variable, variable) / (longest_axis_ * longest_axis_);
  const auto variables = static_cast<PetscInt>(entries_.variables().size());
  for (PetscInt row = variable; row < rows_; row += variables) pins_.emplace_back(row, value);
}

}  // namespace hindsight

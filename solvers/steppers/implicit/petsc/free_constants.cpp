#include "solvers/steppers/implicit/petsc/free_constants.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/petsc.hpp"
#include "solvers/steppers/implicit/dense/dense_lu.hpp"

namespace hindsight {
namespace {

/// The entries of a vector on this rank, while it lives.
class Entries {
 public:
  explicit Entries(Vec vec) : vec_(vec) { VecGetArray(vec_, &data_); }
  ~Entries() { VecRestoreArray(vec_, &data_); }
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;
  double& operator[](std::size_t i) { return data_[i]; }

 private:
  Vec vec_;
  double* data_ = nullptr;
};

}  // namespace

void FreeConstants::destroy_vectors() {
  for (auto* vectors : {&ones_, &answers_}) {
    for (Vec& vector : *vectors) VecDestroy(&vector);
    vectors->clear();
  }
  projected_.destroy();
  VecDestroy(&part_);
  VecDestroy(&image_);
}

void FreeConstants::prepare(const Grid& grid, const GridMatrix& matrix) {
  grid_ = &grid;
  matrix_ = &matrix;
}

/// For the variables that are pinned, when these are known first or others than before.
void FreeConstants::follow(bool by_iterations) {
  if (made_for_ == matrix_->pinned() && by_iterations_ == by_iterations) return;
  destroy_vectors();
  made_for_ = matrix_->pinned();
  by_iterations_ = by_iterations;
  if (!is_any()) return;
  check_petsc(MatCreateVecs(matrix_->get(), &part_, &image_), "make vectors");
  for (const int variable : made_for_) {
    check_petsc(VecDuplicate(part_, &ones_.emplace_back(nullptr)), "make vectors");
    if (!by_iterations) check_petsc(VecDuplicate(part_, &answers_.emplace_back(nullptr)), "make vectors");
    matrix_->fill(ones_.back(), variable);
  }
  if (by_iterations) projected_.make(*matrix_, ones_);
}

void FreeConstants::update(const Solve& solve) {
  small_.clear();
  for (std::size_t j = 0; j < answers_.size(); ++j) {
    solve(ones_[j], answers_[j]);
    const std::vector<double> column = at_pins(answers_[j]);
    small_.insert(small_.end(), column.begin(), column.end());
  }
}

std::vector<double> FreeConstants::at_pins(Vec x) const {
  std::vector<double> values;
  const double* data = nullptr;
  VecGetArrayRead(x, &data);
  for (const int variable : matrix_->pinned())
    values.push_back(grid_->communicator().rank() == 0 ? data[variable] : 0.0);
  VecRestoreArrayRead(x, &data);
  MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, 0, grid_->communicator().handle());
  return values;
}

void FreeConstants::solve_small(std::vector<double>& x, bool is_transposed) const {
  const int n = static_cast<int>(x.size());
  std::vector<double> factors = small_;
  std::vector<int> pivots(x.size());
  factorise(n, factors.data(), pivots.data());
  if (is_transposed)
    solve_transposed(n, factors.data(), pivots.data(), x.data());
  else
    solve(n, factors.data(), pivots.data(), x.data());
}

std::vector<double> FreeConstants::balance(Vec b, Vec x) {
  if (by_iterations_) {
    centre(x);
    projected_.multiply(x, image_);
    VecAYPX(image_, -1.0, b);
    std::vector<double> mu = means(image_);
    for (std::size_t j = 0; j < mu.size(); ++j) mu[j] += excess_[j];
    return mu;
  }
  std::vector<double> mu = at_pins(x);
  solve_small(mu, false);
  for (std::size_t j = 0; j < mu.size(); ++j) VecAXPY(x, -mu[j], answers_[j]);
  centre(x);
  return mu;
}

void FreeConstants::project(Vec b) {
  excess_ = centre(b);
}

std::vector<double> FreeConstants::means(Vec x) {
  std::vector<double> means;
  for (const Vec one : ones_) means.push_back(sum(one, x) / static_cast<double>(grid_->total_cells()));
  return means;
}

void FreeConstants::balance_transposed(Vec b) {
  centre(b);
  if (by_iterations_) return;
  std::vector<double> sums;
  for (const Vec answer : answers_) sums.push_back(sum(answer, b));
  solve_small(sums, true);
  if (grid_->communicator().rank() != 0) return;
  Entries entries(b);
  for (std::size_t j = 0; j < sums.size(); ++j) entries[static_cast<std::size_t>(matrix_->pinned()[j])] -= sums[j];
}

std::vector<double> FreeConstants::centre(Vec x) {
  const std::vector<double> taken = means(x);
  for (std::size_t j = 0; j < ones_.size(); ++j) VecAXPY(x, -taken[j], ones_[j]);
  return taken;
}

/// Row by row in global order: the same on any number of ranks.
double FreeConstants::sum(Vec a, Vec b) {
  const auto rows = static_cast<std::size_t>(grid_->local_rows());
  std::vector<double> sums(rows, 0.0);
  Entries left(a), right(b);
  const std::size_t per_row = static_cast<std::size_t>(matrix_->rows()) / rows;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = row * per_row; i < (row + 1) * per_row; ++i) sums[row] += left[i] * right[i];
  return grid_sum(*grid_, sums.data());
}

double FreeConstants::size(std::size_t i, Vec x) {
  check_petsc(VecPointwiseMult(part_, x, ones_[i]), "look at a solution");
  if (by_iterations_)
    projected_.multiply(part_, image_);
  else
    check_petsc(MatMult(matrix_->get(), part_, image_), "look at a solution");
  check_petsc(VecPointwiseMult(image_, image_, ones_[i]), "look at a solution");
  if (!by_iterations_ && grid_->communicator().rank() == 0) {
    Entries entries(image_);
    entries[static_cast<std::size_t>(matrix_->pinned()[i])] = 0.0;
  }
  PetscReal largest = 0.0;
  VecNorm(image_, NORM_INFINITY, &largest);
  return largest;
}

}  // namespace hindsight

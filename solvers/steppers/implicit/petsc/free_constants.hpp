// Constants that nothing fixes: those of fields that constraints know by their differences alone.
#pragma once

#include <petscmat.h>

#include <functional>
#include <vector>

#include "solvers/grid/grid.hpp"
#include "solvers/steppers/implicit/petsc/grid_matrix.hpp"
#include "solvers/steppers/implicit/petsc/projected_matrix.hpp"

namespace hindsight {

/// With periodic sides or slopes on all walls, a constraint such as lap(p) + q = 0 leaves the constant of p open, and
/// has a solution only where the integral of q is zero. What is solved instead is A x + sum_j mu_j e_j = b with a mean
/// of zero of each such field x_j, where e_j is 1 in all rows of its constraint: mu_j is what those rows have too much
/// of. GridMatrix pins a cell of each field, so that its matrix B = A + sum_j s_j (row of the pin)(row of the pin)^T is
/// regular; with V = B^-1 e and W the rows of the pins of V, x = P (q - V mu), q = B^-1 b, W mu = the rows of the pins
/// of q, where P takes the means away; and the transpose of all that. One solution per field and matrix. That is for
/// factors: iterations solve P A P x = P b (ProjectedMatrix) instead, and need none.
class FreeConstants {
 public:
  using Solve = std::function<void(Vec right_hand_side, Vec solution)>;

  FreeConstants() = default;
  ~FreeConstants() { destroy_vectors(); }
  FreeConstants(const FreeConstants&) = delete;
  FreeConstants& operator=(const FreeConstants&) = delete;

  /// Once the matrix has its pattern; it outlives this. Collective, as all that follows.
  void prepare(const Grid& grid, const GridMatrix& matrix);
  bool is_any() const { return !matrix_->pinned().empty(); }

  /// For a matrix that was assembled anew: first what it needs to be solved, by factors or by iterations; then what
  /// factors find. @param solve with the pinned matrix.
  void follow(bool by_iterations);
  void update(const Solve& solve);
  /// What iterations are to solve with; null where that is the matrix.
  Mat projected() const { return projected_.get(); }
  /// From b to what iterations are to solve for: P b, and what b had more is kept for balance().
  void project(Vec b);
  /// From what was solved with the right-hand side b, q or x, to x. @returns mu, one number per pinned variable.
  std::vector<double> balance(Vec b, Vec x);
  /// From the right-hand side of the transposed system to that of the one which is solved.
  void balance_transposed(Vec b);
  /// Takes the means of the fields away. @returns them.
  std::vector<double> centre(Vec x);
  /// The largest change that a cell's constraint sees of a field: of variable i, what A makes of its values alone.
  double size(std::size_t i, Vec x);
  /// Of the rows of each pinned variable. Collective.
  std::vector<double> means(Vec x);

 private:
  void destroy_vectors();
  double sum(Vec a, Vec b);
  std::vector<double> at_pins(Vec x) const;
  void solve_small(std::vector<double>& x, bool is_transposed) const;

  const Grid* grid_ = nullptr;
  const GridMatrix* matrix_ = nullptr;
  std::vector<int> made_for_;  // variables that were pinned
  bool by_iterations_ = false;
  std::vector<Vec> ones_, answers_;  // e and V, per pinned variable
  ProjectedMatrix projected_;        // in place of answers
  Vec part_ = nullptr, image_ = nullptr;
  std::vector<double> small_;   // W, column by column
  std::vector<double> excess_;  // means that project() has taken away
};

}  // namespace hindsight

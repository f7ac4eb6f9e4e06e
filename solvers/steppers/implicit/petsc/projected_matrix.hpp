// What iterations see of a matrix that leaves constants free.
#pragma once

#include <petscmat.h>

#include <vector>

#include "solvers/steppers/implicit/petsc/grid_matrix.hpp"

namespace hindsight {

/// P A P, without being assembled: A is a GridMatrix without its pins, and P takes the means of the pinned variables
/// away. It has the constants of these as its null space, and as that of its transpose, so that PETSc's iterations keep
/// them out of solutions. The preconditioner is that of the GridMatrix with its pins, whose answer to
/// a constant is a constant.
class ProjectedMatrix {
 public:
  ProjectedMatrix() = default;
  ~ProjectedMatrix() { MatDestroy(&shell_); }
  ProjectedMatrix(const ProjectedMatrix&) = delete;
  ProjectedMatrix& operator=(const ProjectedMatrix&) = delete;

  /// @param matrix with its pins; it outlives this, as `ones` do. @param ones per pinned variable, 1 in all its rows.
  /// Collective, as all that follows.
  void make(const GridMatrix& matrix, const std::vector<Vec>& ones);
  void destroy() { MatDestroy(&shell_); }
  Mat get() const { return shell_; }
  /// y = A x
  void multiply(Vec x, Vec y) const { apply(x, y, false); }

 private:
  static PetscErrorCode projected(Mat shell, Vec x, Vec y);
  static PetscErrorCode projected_transposed(Mat shell, Vec x, Vec y);
  PetscErrorCode apply(Vec x, Vec y, bool is_transposed) const;

  const GridMatrix* matrix_ = nullptr;
  Mat shell_ = nullptr;
};

}  // namespace hindsight

#include "solvers/steppers/implicit/petsc/projected_matrix.hpp"

#include "runtime/petsc.hpp"

namespace hindsight {
namespace {

/// Takes the means away; PETSc's iterations have none in what they multiply but for rounding.
PetscErrorCode project(Mat shell, Vec x) {
  MatNullSpace constants = nullptr;
  if (const PetscErrorCode code = MatGetNullSpace(shell, &constants); code != 0) return code;
  return MatNullSpaceRemove(constants, x);
}

ProjectedMatrix* behind(Mat shell) {
  void* self = nullptr;
  MatShellGetContext(shell, &self);
  return static_cast<ProjectedMatrix*>(self);
}

}  // namespace

void ProjectedMatrix::make(const GridMatrix& matrix, const std::vector<Vec>& ones) {
  destroy();
  matrix_ = &matrix;
  const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(matrix.get()));
  check_petsc(MatCreateShell(comm, matrix.rows(), matrix.rows(), PETSC_DETERMINE, PETSC_DETERMINE, this, &shell_),
              "make a matrix");
  using Operation = void (*)();
  check_petsc(MatShellSetOperation(shell_, MATOP_MULT, reinterpret_cast<Operation>(projected)), "make a matrix");
  check_petsc(MatShellSetOperation(shell_, MATOP_MULT_TRANSPOSE, reinterpret_cast<Operation>(projected_transposed)),
              "make a matrix");
  std::vector<Vec> constants;
  for (const Vec one : ones) {
    check_petsc(VecDuplicate(one, &constants.emplace_back(nullptr)), "make vectors");
    check_petsc(VecCopy(one, constants.back()), "make vectors");
    check_petsc(VecNormalize(constants.back(), nullptr), "make vectors");
  }
  MatNullSpace space = nullptr;
  check_petsc(MatNullSpaceCreate(comm, PETSC_FALSE, static_cast<PetscInt>(constants.size()), constants.data(), &space),
              "make a null space");
  check_petsc(MatSetNullSpace(shell_, space), "make a null space");
  check_petsc(MatSetTransposeNullSpace(shell_, space), "make a null space");
  MatNullSpaceDestroy(&space);
  for (Vec& constant : constants) VecDestroy(&constant);
}

/// y = A x or A^T x
PetscErrorCode ProjectedMatrix::apply(Vec x, Vec y, bool is_transposed) const {
  const PetscErrorCode code = is_transposed ? MatMultTranspose(matrix_->get(), x, y) : MatMult(matrix_->get(), x, y);
  if (code != 0 || matrix_->pins().empty()) return code;
  const double* from = nullptr;
  double* to = nullptr;
  VecGetArrayRead(x, &from);
  VecGetArray(y, &to);
  for (const auto& [row, value] : matrix_->pins()) to[row] -= value * from[row];
  VecRestoreArray(y, &to);
  VecRestoreArrayRead(x, &from);
  return 0;
}

PetscErrorCode ProjectedMatrix::projected(Mat shell, Vec x, Vec y) {
  const PetscErrorCode code = behind(shell)->apply(x, y, false);
  return code != 0 ? code : project(shell, y);
}

PetscErrorCode ProjectedMatrix::projected_transposed(Mat shell, Vec x, Vec y) {
  const PetscErrorCode code = behind(shell)->apply(x, y, true);
  return code != 0 ? code : project(shell, y);
}

}  // namespace hindsight

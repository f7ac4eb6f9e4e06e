#include "solvers/steppers/implicit/petsc/matrix_parts.hpp"

#include "runtime/petsc.hpp"

namespace hindsight {

MatrixParts parts_of(Mat matrix) {
  PetscBool is_distributed = PETSC_FALSE;
  check_petsc(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(matrix), MATMPIAIJ, &is_distributed),
              "look at a matrix");
  MatrixParts parts{matrix};
  if (is_distributed == PETSC_TRUE)
    check_petsc(MatMPIAIJGetSeqAIJ(matrix, &parts.own, &parts.others, &parts.columns_of_others), "look at a matrix");
  return parts;
}

}  // namespace hindsight

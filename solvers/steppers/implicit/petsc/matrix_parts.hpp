// What one process has of a matrix.
#pragma once

#include <petscmat.h>

namespace hindsight {

/// Of an AIJ matrix, whose they stay: a process's rows in its own columns, and in those of others; null: there are
/// none.
struct MatrixParts {
  Mat own = nullptr, others = nullptr;
  const PetscInt* columns_of_others = nullptr;  ///< in the whole matrix
};
MatrixParts parts_of(Mat matrix);

}  // namespace hindsight

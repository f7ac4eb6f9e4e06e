// The matrix of an implicit step over all cells of a grid.
#pragma once

#include <petscmat.h>

#include <vector>

#include "runtime/memory.hpp"
#include "solvers/steppers/implicit/jacobian_entries.hpp"

namespace hindsight {

/// I - a J as a distributed sparse matrix (AIJ) whose pattern is known before it is first assembled. Rows and columns
/// are numbered cell by cell, x fastest, ranks one after another, fields of a cell together. What a cell reads beyond a
/// wall is what the wall's rule makes of the cells inside (boundary.hpp).
class GridMatrix {
 public:
  /// @param model, entries outlive it.
  GridMatrix(const Model& model, const JacobianEntries& entries) : model_(model), entries_(entries) {}
  ~GridMatrix() { MatDestroy(&matrix_); }
  GridMatrix(const GridMatrix&) = delete;
  GridMatrix& operator=(const GridMatrix&) = delete;

  /// @param places the owned cells, by their offsets in the array of a field. Collective.
  /// @throws ResourceError when PETSc's integers cannot number the rows.
  void prepare(const Grid& grid, const CountedVector<std::int64_t>& places);
  /// With the entries as they are. Collective.
  void assemble(double a);
  Mat get() const { return matrix_; }
  /// On this rank.
  PetscInt rows() const { return rows_; }

 private:
  struct Pattern;
  /// Two values of one place in the matrix: they are added up here, in the same order on any number of ranks.
  struct Folded {
    std::int64_t value = 0, into = 0;
  };
  void fold(Pattern& pattern);
  void number(const Grid& grid, const CountedVector<std::int64_t>& places, Pattern& pattern);

  const Model& model_;
  const JacobianEntries& entries_;
  const CountedVector<std::int64_t>* places_ = nullptr;
  PetscInt rows_ = 0;
  Mat matrix_ = nullptr;
  CountedVector<double> values_;         // of the entries, one after another, each for all cells; then of I
  CountedVector<std::int64_t> flipped_;  // which of them change their sign at walls
  CountedVector<Folded> folded_;
};

}  // namespace hindsight

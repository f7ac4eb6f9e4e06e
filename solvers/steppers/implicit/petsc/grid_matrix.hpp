// The matrix of an implicit step over all cells of a grid.
#pragma once

#include <petscmat.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/steppers/implicit/jacobian_entries.hpp"

namespace hindsight {

/// M - a J (StageSystems) as a distributed sparse matrix (AIJ) whose pattern is known before it is first assembled.
/// Rows and columns are numbered cell by cell, x fastest, ranks one after another, variables of a cell together. What a
/// cell reads beyond a wall is what the wall's rule makes of the cells inside (boundary.hpp). A constrained variable
/// that the matrix knows by differences alone is pinned (FreeConstants): for factors the diagonal is doubled in the
/// first cell, for the preconditioners of iterations it grows a little in all cells, as in space one cell hardly holds
/// the constant of many.
class GridMatrix {
 public:
  /// @param model, entries outlive it.
  GridMatrix(const Model& model, const JacobianEntries& entries) : model_(model), entries_(entries) {}
  ~GridMatrix();
  GridMatrix(const GridMatrix&) = delete;
  GridMatrix& operator=(const GridMatrix&) = delete;

  /// @param places the owned cells, by their offsets in the array of a field. Collective.
  /// @throws ResourceError when PETSc's integers cannot number the rows and entries.
  void prepare(const Grid& grid, const CountedVector<std::int64_t>& places);
  /// With the entries as they are. Collective. @throws InputError where an equation reads a constant that the
  /// constraint of its field leaves open, or constraints leave one open that several fields have together.
  void assemble(double a);
  /// Of an assembled matrix. Collective.
  void hold_constants(bool by_iterations);
  /// Variables that are pinned, in order.
  const std::vector<int>& pinned() const { return pinned_; }
  /// Rows of this rank whose diagonals have something added to, and that.
  const std::vector<std::pair<PetscInt, double>>& pins() const { return pins_; }
  /// 1 for a variable in all cells, 0 for the others.
  void fill(Vec vector, int variable) const;
  Mat get() const { return matrix_; }
  /// Whether the assembled values are, on all ranks.
  bool is_finite() const { return is_finite_; }
  /// In place of an assembled matrix that is not finite, which it still is said not to be. Collective.
  void become_identity();
  /// On this rank.
  PetscInt rows() const { return rows_; }

 private:
  struct Pattern;
  class Values;
  /// What a row has in one column: mass - a entry.
  struct Term {
    int row = 0, column = 0;
    Offset offset{0, 0, 0};
    double mass = 0.0;
    std::optional<std::size_t> entry;  // of entries_
  };
  /// A value that is not simply written to its place in the matrix: at walls, where values change their sign or several
  /// have one place. They are added in the same order on any number of ranks.
  struct Folded {
    std::int64_t value = 0;  // its number: cell by cell, of all terms
    PetscInt position = 0;
    double sign = 1.0;
    bool is_first = true;  // of its place
  };
  static constexpr PetscInt is_folded = std::numeric_limits<PetscInt>::min();
  void make_terms();
  /// Where a term's value belongs in its row.
  struct Column {
    PetscInt number = 0;
    std::size_t term = 0;
    bool is_flipped = false;  // it changes its sign at a wall
  };
  std::vector<Column> columns_of(std::int64_t place, int row, const Pattern& pattern, const Layout& layout) const;
  void allocate(const Pattern& pattern, const Layout& layout);
  bool evaluate(double a, Values& values);
  std::vector<std::size_t> changed_terms(double a);
  double value_of(const Term& term, double a, std::int64_t place) const;
  bool has_array(const Term& term) const;
  bool knows_differences_alone(int variable, double a);
  double diagonal_of(int variable) const;
  void pin(int variable);
  void shift(int variable);
  std::vector<double> sums_of(int variable);
  void refuse_joint_constants();
  double product(const std::vector<double>& a, const std::vector<double>& b) const;
  static void require_countable(std::int64_t entries);
  std::vector<std::vector<double>> unit_sums_of_constraints();
  double size_of(int row, int column) const;
  void number(const Grid& grid, const CountedVector<std::int64_t>& places, Pattern& pattern);

  const Model& model_;
  const JacobianEntries& entries_;
  const CountedVector<std::int64_t>* places_ = nullptr;
  const Communicator* comm_ = nullptr;
  PetscInt rows_ = 0;
  double a_ = 0.0, longest_axis_ = 1.0;
  bool is_first_ = true;
  Mat matrix_ = nullptr;
  bool is_finite_ = true;
  Vec ones_ = nullptr, sums_ = nullptr;  // where there are constrained variables
  std::vector<int> pinned_;
  std::vector<std::pair<PetscInt, double>> pins_;
  std::vector<Term> terms_;
  std::vector<double> written_;        // of terms that are the same everywhere, what the matrix has
  CountedVector<PetscInt> positions_;  // of the values (Values); is_folded: it is one of those
  CountedVector<Folded> folded_;       // in the order of their numbers
};

}  // namespace hindsight

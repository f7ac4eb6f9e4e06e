// The linear systems of implicit steps of models that read no neighbours: one small dense matrix at every cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "solvers/steppers/implicit/jacobian_entries.hpp"

namespace hindsight {

/// M - a J at every cell, where J is the one that JacobianEntries hold and M has the masses of its variables. Memory
/// per cell, where all are factored: n^2 doubles and n ints for n variables. Blocks are states of the model's fields.
class CellSystems {
 public:
  /// @param model, entries outlive it.
  CellSystems(const Model& model, const JacobianEntries& entries);
  /// Number of variables.
  int size() const { return size_; }

  /// Once the entries are prepared. @param places, factors see StageSystems. Collective.
  void prepare(const Grid& grid, const CountedVector<std::int64_t>& places, bool factors);

  /// Offsets of the owned cells in the array of a field.
  const CountedVector<std::int64_t>& places() const { return *places_; }
  /// From the first field of a block to that of a variable.
  std::int64_t offset(int variable) const { return offsets_[static_cast<std::size_t>(variable)]; }
  /// Of all fields of the model, from a block, at a cell.
  std::vector<double> values_at(std::int64_t place, const double* block) const;
  double mass(int variable) const { return entries_.variables()[static_cast<std::size_t>(variable)].mass; }
  /// M - a J at a cell.
  void matrix(std::int64_t place, double a, double* out) const;

  /// Factors M - a J at every cell.
  void factorise(double a);
  /// Why that could not be done at a cell of this rank, in words; empty: all were factored.
  std::string failure() const;
  /// At every cell x becomes (M - a J)^-1 x, or its transpose; not a number where there are no factors.
  void solve(double* x);
  void solve_transposed(double* x);

  /// Factors in states: n of their columns, and one of the pivots.
  void save_factors(double* const* states) const;
  void load_factors(const double* const* states);

 private:
  template <class Factor, class Pivot>
  void visit_factors(const Factor& factor, const Pivot& pivot) const;
  template <class Solve>
  void at_every_cell(double* x, Solve solve_at);

  const Model& model_;
  const JacobianEntries& entries_;
  int size_;
  std::vector<std::int64_t> offsets_;
  const CountedVector<std::int64_t>* places_ = nullptr;
  std::int64_t field_stride_ = 0;
  CountedVector<double> factors_;
  CountedVector<int> pivots_;
  std::vector<double> column_;
  std::int64_t failed_place_ = -1;
};

}  // namespace hindsight

// The linear systems of implicit steps of models that read no neighbours: one small dense matrix at every cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/time/step_time.hpp"

namespace hindsight {

/// The longest kernels that are compiled (KernelLibrary) for models that are solved so: beside the n^3 operations of a
/// factorisation it matters little how fast long kernels are.
inline constexpr std::size_t longest_beside_systems = 2000;

/// F(u) with its Jacobian J, derived from the model's graph: one kernel writes both, but for entries of J that are
/// constants. Systems are I - a J. Memory per cell: the entries of J that are neither zero nor constant and, where
/// all are factored, n^2 doubles and n ints for n fields. Blocks are states of the model's fields.
class CellSystems {
 public:
  /// @param model, active outlive it.
  CellSystems(const Model& model, const Active& active);
  /// Whether J does not depend on the state.
  bool is_linear() const { return is_linear_; }
  /// Number of fields.
  int size() const { return size_; }
  const KernelSet& kernels() const { return kernels_; }

  /// @param factors whether factorise() will be called. Collective.
  void prepare(const Grid& grid, Tables& tables, bool factors);
  /// Writes F(u) to `slope` and keeps J(u).
  void evaluate(Tables& tables, const SeriesData& series, StepTime at, double* u, double* slope);

  /// Offsets of the owned cells in the array of a field.
  std::span<const std::int64_t> places() const { return places_; }
  /// From a field to the next one.
  std::int64_t field_stride() const { return field_stride_; }
  /// I - a J at a cell, with the J that was kept last.
  void matrix(std::int64_t place, double a, double* out) const;

  /// Factors I - a J at every cell, with the J that was kept last.
  void factorise(double a);
  /// Why that could not be done at a cell of this rank, in words; empty: all were factored.
  std::string failure() const;
  /// At every cell x becomes (I - a J)^-1 x, or its transpose; not a number where there are no factors.
  void solve(double* x);
  void solve_transposed(double* x);

 private:
  struct Entry {
    std::size_t at = 0;  ///< in a matrix by columns
    int symbol = -1;     ///< of its array; -1: it is constant
    double constant = 0.0;
    const double* cells = nullptr;
  };
  void derive(KernelRequest& request);
  template <class Solve>
  void at_every_cell(double* x, Solve solve_at);

  const Model& model_;
  int size_;
  bool is_linear_ = true;
  KernelSet kernels_;
  std::optional<EvaluationTime> time_;
  std::vector<int> state_, slope_;  // symbols
  int length_ = -1;
  std::vector<Entry> entries_;
  std::int64_t field_stride_ = 1;
  CountedVector<std::int64_t> places_;
  CountedVector<double> factors_;
  CountedVector<int> pivots_;
  std::vector<double> column_;
  std::int64_t failed_place_ = -1;
};

}  // namespace hindsight

// The entries of a model's Jacobian, cell by cell.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "solvers/equations/graph.hpp"
#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/time/step_time.hpp"

namespace hindsight {

/// The longest kernels that are compiled (KernelLibrary) for models that are solved implicitly: beside the operations
/// of a factorisation it matters little how fast long kernels are.
inline constexpr std::size_t longest_beside_systems = 2000;

/// J = dF/du, derived from the model's graph: entry by entry, what an equation depends on of a field in a cell or in a
/// neighbour of it. One kernel writes F and all entries but constants. Memory per cell: an array per such entry.
class JacobianEntries {
 public:
  /// d(equation `row`)/d(field `column` of the cell at `offset`).
  struct Entry {
    int row = 0, column = 0;
    Offset offset{0, 0, 0};
    int symbol = -1;  ///< of its array; -1: it is constant
    double constant = 0.0;
    const double* cells = nullptr;  ///< its array, from the begin of its layout
    /// At an owned cell, by its offset in the array of a field.
    double at(std::int64_t place) const { return cells != nullptr ? cells[place] : constant; }
  };

  /// @param model, active outlive it.
  JacobianEntries(const Model& model, const Active& active);
  /// By columns, then offsets, then rows; those that are zero everywhere are left out.
  const std::vector<Entry>& all() const { return entries_; }
  /// Whether F is linear in the state: neither J nor any condition depends on it.
  bool is_linear() const { return is_linear_; }
  /// Whether it depends on parameters and places alone.
  bool is_fixed() const { return is_fixed_; }
  const KernelSet& kernels() const { return kernels_; }

  /// Collective.
  void prepare(const Grid& grid, Tables& tables);
  /// Writes F(u) to `slope` and keeps J(u).
  void evaluate(Tables& tables, const SeriesData& series, StepTime at, double* u, double* slope);

 private:
  std::vector<Expr> derive(const KernelRequest& request);
  void find_dependence(const std::vector<Expr>& slopes, const std::vector<Expr>& partials);

  const Model& model_;
  bool is_linear_ = true, is_fixed_ = true;
  KernelSet kernels_;
  std::optional<EvaluationTime> time_;
  std::vector<int> state_, slope_;  // symbols
  int length_ = -1;
  std::vector<Entry> entries_;
};

}  // namespace hindsight

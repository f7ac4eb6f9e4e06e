// The entries of a model's Jacobian, cell by cell.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "solvers/equations/graph.hpp"
#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/time/step_time.hpp"

namespace hindsight {

/// The longest kernels that are compiled (KernelLibrary) for models that are solved implicitly: beside the operations
/// of a factorisation it matters little how fast long kernels are.
inline constexpr std::size_t longest_beside_systems = 2000;

/// What a system of equations is solved for: a field of the model, by its own equation. The mass is the factor of its
/// derivative in time: 1, or 0 where the equation is a constraint.
struct SystemVariable {
  std::size_t field = 0;
  double mass = 1.0;
};
/// All fields of a model; those that constraints fix.
std::vector<SystemVariable> all_variables(const Model& model);
std::vector<SystemVariable> constrained_variables(const Model& model);

/// J = dF/du, derived from the model's graph: entry by entry, what the equation of a variable depends on of a variable
/// in a cell or in a neighbour of it. One kernel writes F and all entries but those that are the same everywhere, as
/// constants and scalar parameters make them. Memory per cell: an array per entry that the kernel writes.
class JacobianEntries {
 public:
  /// d(equation of variable `row`)/d(variable `column` of the cell at `offset`).
  struct Entry {
    int row = 0, column = 0;
    Offset offset{0, 0, 0};
    int symbol = -1;                ///< of its array; -1: it is the same everywhere
    double everywhere = 0.0;        ///< its value where it has no array
    const double* cells = nullptr;  ///< its array, from the begin of its layout
    /// At an owned cell, by its offset in the array of a field.
    double at(std::int64_t place) const { return cells != nullptr ? cells[place] : everywhere; }
  };

  /// @param model, active outlive it. @param prefix distinguishes its arrays from those of others.
  JacobianEntries(const Model& model, const Active& active, std::vector<SystemVariable> variables,
                  const std::string& prefix);
  const std::vector<SystemVariable>& variables() const { return variables_; }
  /// By columns, then offsets, then rows; those that are zero everywhere are left out.
  const std::vector<Entry>& all() const { return entries_; }
  /// Whether F is linear in the variables: neither J nor any condition depends on them.
  bool is_linear() const { return is_linear_; }
  /// Whether J depends on parameters and places alone.
  bool is_fixed() const { return is_fixed_; }
  /// Whether it depends on any; on any that are unknown.
  bool depends_on_parameters() const { return depends_on_parameters_; }
  bool depends_on_unknowns() const { return depends_on_unknowns_; }
  KernelSet& kernels() { return kernels_; }
  const KernelSet& kernels() const { return kernels_; }

  /// Collective.
  void prepare(const Grid& grid, Tables& tables);
  /// Writes F(u) to `slope`, where that has the variables, and keeps J(u).
  void evaluate(Tables& tables, const SeriesData& series, StepTime at, double* u, double* slope);

 private:
  /// An entry that scalar parameters alone change.
  struct Uniform {
    std::size_t entry = 0;
    Expr value;
  };
  void derive(const KernelRequest& request, const std::string& prefix);
  void add(Entry entry, Expr partial, const std::string& prefix);
  void find_parameters();
  void evaluate_uniform(Tables& tables);
  void find_dependence(const std::vector<Expr>& slopes);

  const Model& model_;
  const Active& active_;
  std::vector<SystemVariable> variables_;
  bool is_linear_ = true, is_fixed_ = true, depends_on_parameters_ = false, depends_on_unknowns_ = false;
  KernelSet kernels_;
  std::optional<EvaluationTime> time_;
  std::vector<int> state_, slope_;  // symbols
  int length_ = -1;
  std::vector<Entry> entries_;
  std::vector<Expr> written_;  // values of those that have arrays
  std::vector<Uniform> uniform_;
  std::vector<int> parameters_;  // that uniform ones read, and their values when they were evaluated last
  std::vector<double> parameter_values_;
};

}  // namespace hindsight

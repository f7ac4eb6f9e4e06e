// The kernels of a Runge-Kutta method: its evaluations of the equations, fused with its linear combinations.
#pragma once

#include <string>
#include <vector>

#include "solvers/equations/kernel.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/steppers/explicit/tableau.hpp"
#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {

/// Names of arrays that its kernels alone refer to. u@1 is the old state itself.
struct RungeKuttaNames : StageNames {
  static std::string next(const std::string& field) { return field + "@next"; }
  static std::string slope(const std::string& field, int i) { return "k" + std::to_string(i) + "(" + field + ")"; }
  static std::string lambda_next(const std::string& field) { return "lambda_next(" + field + ")"; }
  static std::string mu(const std::string& field, int i) { return "mu" + std::to_string(i) + "(" + field + ")"; }
  static std::string ybar(const std::string& field, int i) { return "ybar" + std::to_string(i) + "(" + field + ")"; }
};

class RungeKuttaKernels {
 public:
  RungeKuttaKernels(const Model& model, const Tableau& tableau, const Active& active);

  /// Adds one kernel per stage; for pointwise models one for the whole step.
  void add_to(KernelSet& kernels) const;

  bool is_pointwise() const { return pointwise_; }
  /// The length of the step, by which kernels multiply slopes.
  Expr h() const { return h_; }
  /// The first of the sums (Tables) of a stage's series.
  int first_sum(int stage) const;
  /// Whether slopes (forward, tangent) and stage adjoints follow from what is kept anyway.
  bool eliminates_slopes() const { return forward_elimination_.useful; }
  bool eliminates_adjoints() const { return reverse_elimination_.useful; }

 private:
  KernelRequest stage(int i) const;
  Epilogue combinations(int i) const;
  std::vector<KernelSpec::Output> forward_outputs(int i, const std::vector<Expr>& slopes, bool is_tangent) const;
  Expr combine_forward(int i, const std::string& field, Expr slope, bool is_tangent) const;
  /// Where stage i's gather goes: to the multiplier of the stage before.
  std::string reverse_target(int i, const std::string& field) const;
  std::vector<KernelSpec::Output> reverse_outputs(int i, const std::string& field, Expr gather) const;
  std::vector<KernelSpec::Output> outputs_with_ghosts(int i, const std::string& field, Expr ghost) const;
  /// Pointwise models: the new state as one expression of the old one.
  KernelRequest step() const;
  std::vector<Expr> whole_step() const;

  const Model& model_;
  const Tableau& tableau_;
  const Active& active_;
  Graph& graph_;
  Expr h_;
  bool pointwise_;
  std::vector<std::vector<double>> forward_rows_, reverse_rows_;
  Elimination forward_elimination_, reverse_elimination_;
};

}  // namespace hindsight

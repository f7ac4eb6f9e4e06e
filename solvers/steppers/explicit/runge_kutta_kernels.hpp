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
  /// Of trials: the square of the error by what is allowed, and the scalars of what is.
  static std::string ratio() { return "@ratio"; }
  static std::string relative() { return "@relative"; }
  static std::string absolute(const std::string& field) { return "@absolute(" + field + ")"; }
  static std::string ybar(const std::string& field, int i) { return "ybar" + std::to_string(i) + "(" + field + ")"; }
};

class RungeKuttaKernels {
 public:
  RungeKuttaKernels(const Model& model, const Tableau& tableau, const Active& active, const PointSources& sources);

  /// Adds one kernel per stage; for pointwise models one for the whole step.
  void add_to(KernelSet& kernels) const;

  /// Writes to RungeKuttaNames::ratio() the mean over the fields of the squares of (error / what is allowed), of a
  /// tableau with an embedded method. For pointwise models it takes the step, bit for bit, and writes the new state
  /// too; for others it is run after the stages. Numbered stages() + 1, it reads F at the new state where the estimate
  /// does.
  KernelRequest trial() const;

  int stages() const { return tableau_.stages(); }
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
  KernelSpec::Output reverse_output(int i, const std::string& field, Expr value) const;
  std::vector<KernelSpec::Output> reverse_outputs(int i, const std::string& field, Expr gather) const;
  std::vector<KernelSpec::Output> outputs_with_ghosts(int i, const std::string& field, Expr ghost) const;
  /// Pointwise models: slopes [stage][field] and the new state as expressions of the old one.
  struct WholeStep {
    std::vector<std::vector<Expr>> slopes;
    std::vector<Expr> next;
  };
  WholeStep whole_step() const;
  KernelRequest step() const;
  KernelRequest whole_trial() const;
  KernelRequest trial_of_stages() const;
  bool reads_last_slope() const { return std::ssize(tableau_.error) > stages(); }
  /// The error without the slope at the new state, from the arrays that the stages have left.
  Expr error_of_stages(const std::string& field) const;
  void put_ratio(KernelSpec& kernel, const std::vector<Expr>& errors, const std::vector<Expr>& next) const;

  const Model& model_;
  const Tableau& tableau_;
  const Active& active_;
  const PointSources& sources_;
  Graph& graph_;
  Expr h_;
  bool pointwise_;
  std::vector<std::vector<double>> forward_rows_, reverse_rows_;
  Elimination forward_elimination_, reverse_elimination_;
};

}  // namespace hindsight

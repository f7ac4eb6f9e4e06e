// The kernels of a Runge-Kutta method as graphs: what each pass reads and writes, before anything is compiled.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "solvers/equations/derive.hpp"
#include "solvers/equations/kernel.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/steppers/explicit/tableau.hpp"
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

/// Indices of the sums that the reverse kernels accumulate.
struct SumNumbers {
  int scalars = 0, series = 0, stages = 0;
  int scalar(int p) const { return p; }
  int knot(int q, int i, int knot) const { return scalars + ((q * stages + i - 1) * 2 + knot); }
  int count() const { return scalars + series * stages * 2; }
};

/// Reverse kernels of one stage. ring and add exist on models with walls (pass.hpp, WallGather); border takes the place
/// of main near walls where derivatives may be not finite in ghost cells, which the multiplier's zeros there do not
/// undo.
struct ReverseStage {
  int stage = 0;
  KernelSpec main, border, ring, add;
};

class RungeKuttaKernels {
 public:
  RungeKuttaKernels(const Model& model, const Tableau& tableau, const Active& active);

  /// One kernel per stage; for pointwise models one for the whole step.
  std::vector<KernelSpec> forward() const;
  /// Stages s to 1; for pointwise models one kernel, stage 0.
  std::vector<ReverseStage> reverse() const;
  /// One kernel per stage, after the stage inputs are known; for pointwise models one.
  std::vector<KernelSpec> tangent() const;

  bool is_pointwise() const { return pointwise_; }
  SumNumbers sum_numbers() const;
  /// Whether slopes (forward, tangent) and stage adjoints follow from what is kept anyway.
  bool eliminates_slopes() const { return forward_elimination_.useful; }
  bool eliminates_adjoints() const { return reverse_elimination_.useful; }

 private:
  Expr combine_forward(int i, const std::string& field, Expr slope, bool is_tangent) const;
  KernelSpec reverse_main(int row, const Adjoint& gather) const;
  void reverse_walls(ReverseStage& stage, int row, const Adjoint& gather) const;
  Adjoint gather(int i, const std::vector<Expr>& seeds, const Mask& mask = {}) const;
  void add_sums(KernelSpec& kernel, int i, const Adjoint& gather) const;
  /// Pointwise models: the new state as one expression of the old one, and kernels of that map and its derivatives.
  std::vector<Expr> whole_step() const;
  KernelSpec step_pointwise() const;
  KernelSpec reverse_pointwise() const;
  KernelSpec tangent_pointwise() const;
  std::vector<Seed> tangent_seeds(const std::vector<int>& stages) const;

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

// The bare operators of a model, for families of steppers that do not fuse them with combinations of their own.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "solvers/equations/model.hpp"
#include "solvers/steppers/kernels/equation_kernels.hpp"
#include "solvers/time/step_time.hpp"

namespace hindsight {

/// F(u, p, t), the right-hand sides of a model; its derivative J v + dF/dp pdot; and the transpose of that. States,
/// directions and multipliers are blocks of state_doubles() whose ghost cells are scratch; parameters, their directions
/// and the arrays of their derivatives are bound in Tables under their names, as for a Stepper, and so are the sums:
/// first those of the active scalars, then those of series.
/// Every call fills the ghosts that it reads. No two arrays of a call may be the same: J^T w and the others are
/// gathered from neighbours. What a Stepper has to answer maps to it so: halo, sums and prepare to those of the same
/// name; bind_series_sums, set_series and set_series_directions to series().bind_sums, set_values and set_directions;
/// clear_sums, save_sums, restore_sums, add_sums, describe and libraries to kernels(); parameters_changed to nothing,
/// since walls are evaluated at every call. The input of an evaluation lies in the arrays that are named stage 1
/// (StageNames), for Stepper::Evaluation::input. Memory per cell of a call: each field that it reads once, each output
/// once.
class ModelOperators {
 public:
  /// Derives F and what is wanted; only that is compiled. @param model, active outlive it. @param name of its kernels,
  /// where there are those of other models on the same graph.
  ModelOperators(const Model& model, const Active& active, const Derivatives& wanted, const std::string& name = "rhs");

  std::array<int, 3> halo() const { return kernels().halo(); }
  /// Sums (Tables) that it takes, those of the active scalars included.
  int sums() const { return equations_.sums(); }
  /// Compiles and allocates. @param series run parallel to model.series. @param longest of the kernels that are
  /// compiled (KernelLibrary). Collective.
  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series,
               std::size_t longest = longest_compiled);
  /// Where series get new values, directions and sums from.
  SeriesData& series() { return series_; }
  /// What it has compiled, and what has been summed up through walls.
  KernelSet& kernels() { return equations_.kernels(); }
  const KernelSet& kernels() const { return equations_.kernels(); }

  // `at` is the time of the evaluation, with the length and the number of the step that it belongs to. Collective.
  /// Writes F to `slope`.
  void rhs(Tables& tables, StepTime at, double* u, double* slope);
  /// Writes J v + dF/dp pdot to `product`.
  void tangent(Tables& tables, StepTime at, double* u, double* v, double* product);
  /// Writes J^T w to `product`, and adds w dF/dp to the sums and to the arrays of parameter fields' derivatives.
  void adjoint(Tables& tables, StepTime at, double* u, double* w, double* product);

 private:
  EquationKernels equations_;
  SeriesData series_;
};

}  // namespace hindsight

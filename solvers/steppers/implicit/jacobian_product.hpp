// The product of a model's Jacobian with a vector, as a function of the state: with its derivatives.
#pragma once

#include <array>
#include <string>

#include "solvers/steppers/kernels/equation_kernels.hpp"

namespace hindsight {

/// P(u, p; v, s) = J v + s dF/dt, where J is dF/du and dF/dt holds what series and the values of walls change, with the
/// derivatives of P with respect to u and p: what linearly implicit methods need, whose steps contain J itself. Beyond
/// walls, v is what the derivatives of their rules make of it and of s: on a wall where u = E, v = s dE/dt. Blocks are
/// states of the model's fields; arrays and sums are bound as for ModelOperators.
class JacobianProduct {
 public:
  /// @param model, active outlive it.
  JacobianProduct(const Model& model, const Active& active, const Derivatives& wanted);

  /// Sums (Tables): those of ModelOperators, and more behind them.
  int sums() const { return equations_.sums(); }
  std::array<int, 3> halo() const { return kernels().halo(); }
  /// Whether dF/dt is not zero.
  bool depends_on_time() const { return depends_on_time_; }
  KernelSet& kernels() { return equations_.kernels(); }
  const KernelSet& kernels() const { return equations_.kernels(); }
  /// Collective.
  void prepare(const Grid& grid, Tables& tables, const SeriesData& series);

  /// Where P is taken.
  struct At {
    StepTime time;
    double* u;
    double* v;
    double s;
  };
  // Collective.
  void value(Tables& tables, const SeriesData& series, const At& at, double* product);
  /// Writes (dP/du) du + (dP/dp) pdot.
  void tangent(Tables& tables, const SeriesData& series, const At& at, double* du, double* product);
  /// Writes (dP/du)^T w, and adds w dP/dp to the sums and to the arrays of parameter fields' derivatives.
  void adjoint(Tables& tables, const SeriesData& series, const At& at, double* w, double* product);

 private:
  void set_part(Tables& tables, double s) const {
    if (s_ >= 0) tables.scalar(s_) = s;
  }

  Model product_;  // whose equations are P, of the fields u and, held, v
  bool depends_on_time_;
  EquationKernels equations_;
  int s_;  // symbol; -1: nobody reads it
};

}  // namespace hindsight

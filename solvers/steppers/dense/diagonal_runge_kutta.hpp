// Diagonally implicit Runge-Kutta steps, their tangents and their adjoints.
//
// Y_i = base_i + h a_ii F(Y_i), base_i = u + h sum_{j<i} a_ij K_j, K_i = (Y_i - base_i) / (h a_ii), u' = Y_s.
// Adjoint, stage i = s..1, with A_i = I - h a_ii J(Y_i) and lambda that of u': beta_s = A_s^-T lambda and
// w_s = h a_ss beta_s; for the others w_i = A_i^-T r_i with r_i = h sum_{j>i} a_ji beta_j, and beta_i = J(Y_i)^T w_i,
// which is (w_i - r_i) / (h a_ii): that has no rounding of the size of J. Then lambda' = sum_i beta_i and pbar += w_i
// dF/dp(Y_i). Tangents follow the same formulas as K_i. (The discrete adjoint of Hager 2000, Sandu 2006, in these
// terms.)
#pragma once

#include <string>
#include <vector>

#include "solvers/steppers/dense/dense_stepper.hpp"
#include "solvers/steppers/tableau.hpp"

namespace hindsight {

/// Steps by a tableau whose first stage may be explicit, and whose last one is the new state (b is the last row of a):
/// stiffly accurate. Evaluates J and factors systems anew at every iteration, and once per stage in reverse.
class DiagonalRungeKutta final : public DenseStepper {
 public:
  DiagonalRungeKutta(const Model& model, Tableau tableau, const Active& active, Wants wants);

  /// The implicit stages Y_i.
  int record_states() const override { return stages() - first_implicit(); }
  void step(Tables& tables, StepTime time, double* u, double* next) override;
  void record(Tables& tables, StepTime time, double* u, double* next, double* const* stages) override;
  int error_order() const override { return tableau_.error.empty() ? 0 : tableau_.embedded_order + 1; }
  double try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) override;
  void reverse(Tables& tables, StepTime time, double* u, double* const* stages, double* lambda,
               double* lambda_next) override;
  void tangent(Tables& tables, StepTime time, double* u, double* const* stages, double* du, double* dnext) override;
  std::string describe_memory() const override;

 private:
  int stages() const { return tableau_.stages(); }
  int first_implicit() const { return tableau_.a[0][0] == 0.0 ? 1 : 0; }
  double a(int i, int j) const { return tableau_.a[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]; }
  StepTime at_stage(StepTime time, int i) const;
  void forward(Tables& tables, StepTime time, double* u, double* next, double* const* stages);
  /// base_i, or its tangent, of slopes in scratch.
  void add_up_base(StepTime time, int i, const double* u, double* base) const;
  /// Evaluates J at a recorded stage and factors its system.
  void factorise(Tables& tables, StepTime time, int i, double* y);

  Tableau tableau_;
};

}  // namespace hindsight

// Diagonally implicit Runge-Kutta steps, their tangents and their adjoints.
//
// Y_i = base_i + h a_ii F(Y_i), base_i = u + h sum_{j<i} a_ij K_j, K_i = (Y_i - base_i) / (h a_ii), u' = Y_s.
// Adjoint, stage i = s..1, with A_i = I - h a_ii J(Y_i) and lambda that of u': beta_s = A_s^-T lambda and
// w_s = h a_ss beta_s; for the others w_i = A_i^-T r_i with r_i = h sum_{j>i} a_ji beta_j, and beta_i = J(Y_i)^T w_i,
// which is (w_i - r_i) / (h a_ii): that has no rounding of the size of J. Then lambda' = sum_i beta_i and pbar += w_i
// dF/dp(Y_i). Tangents follow the same formulas as K_i. (The discrete adjoint of Hager 2000, Sandu 2006, in these
// terms.)
//
// Where the first stage is explicit, its slope K_1 = F(u) is the last one of the step before, as that was solved for:
// F(u) itself, and J(u)^T w, have a rounding of the size of J. With K' = K_s a part of the new state and lambda_K its
// adjoint: w_s = A_s^-T (h a_ss lambda + lambda_K), beta_s = (w_s - lambda_K) / (h a_ss), and r_1 is the adjoint of K.
#pragma once

#include <string>
#include <vector>

#include "solvers/steppers/implicit/implicit_stepper.hpp"
#include "solvers/steppers/tableau.hpp"

namespace hindsight {

/// Steps by a tableau whose first stage may be explicit, and whose last one is the new state (b is the last row of a):
/// stiffly accurate. Evaluates J and factors systems anew at every iteration, and once per stage in reverse. With an
/// explicit first stage a state holds the fields, the slope that its step begins with, and the length of the step that
/// this comes from: 0 at the begin and after events and switches, where F is evaluated. So it is by steps much longer
/// than that, as a slope has the rounding of the state over that length; and where equations read noise or the length
/// of the step, which are others in the next step.
class DiagonalRungeKutta final : public ImplicitStepper {
 public:
  DiagonalRungeKutta(const Model& model, Tableau tableau, const Active& active, Wants wants);

  StateShape state(const Grid& grid) const override;
  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) override;
  void begin(Tables& tables, StepTime at, double* state) override;
  void begin_tangent(Tables& tables, StepTime at, double* state, double* direction) override;
  /// The implicit stages Y_i.
  int record_states() const override { return stages() - first_implicit(); }
  void step(Tables& tables, StepTime time, StateBlocks u, double* next) override;
  void record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) override;
  int error_order() const override { return tableau_.error.empty() ? 0 : tableau_.embedded_order + 1; }
  double try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) override;
  void reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
               StateBlocks lambda_next) override;
  void tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
               double* dnext) override;
  std::string describe_memory() const override;

 protected:
  double implicit_share() const override { return a(first_implicit(), first_implicit()); }

 private:
  int stages() const { return tableau_.stages(); }
  int first_implicit() const { return tableau_.a[0][0] == 0.0 ? 1 : 0; }
  double a(int i, int j) const { return tableau_.a[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]; }
  StepTime at_stage(StepTime time, int i) const;
  /// The slope that a step of this length begins with is in its state.
  bool has_slope(const double* state, double h) const;
  void set_length(double* state, double h) const;
  void forget(double* state) const;
  double* slope_of(double* state) const { return state + fields_doubles_; }
  void forward(Tables& tables, StepTime time, double* u, double* next, double* const* stages);
  /// base_i, or its tangent, of slopes in scratch.
  void add_up_base(StepTime time, int i, const double* u, double* base) const;
  void reverse_slope(Tables& tables, StepTime time, double* u, double* w, double* lambda_next);
  /// Evaluates J at a recorded stage and factors its system.
  void factorise(Tables& tables, StepTime time, int i, double* y);

  Tableau tableau_;
  bool keeps_slope_;                 // with states: not where it depends on the step itself
  std::int64_t fields_doubles_ = 0;  // from a state's fields to its slope
};

}  // namespace hindsight

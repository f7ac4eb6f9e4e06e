// Runge-Kutta steps of equations in two parts, one taken explicitly and one implicitly, and explicit steps of equations
// with constraints; their tangents and their adjoints, of bare operators.
//
// Y_i = u + h sum_{j<i} (e_ij E_j + a_ij I_j) + h a_ii I_i with E_j = E(Y_j), I_j = I(Y_j), u' = u + h sum_i b_i (E_i +
// I_i): Kennedy and Carpenter 2003. Where a_ii is zero, what constraints fix in Y_i is solved for, and in u'. Adjoint,
// i = s..1, with lambda that of u' and A_i = M - h a_ii J(Y_i): ebar_i = h (b_i lambda + sum_{j>i} e_ji beta_j), ibar_i
// likewise with a, w_i = A_i^-T (ibar_i + h a_ii E'(Y_i)^T ebar_i), beta_i = (w_i - ibar_i) / (h a_ii), which is the
// adjoint of u + h sum_{j<i}; lambda' = lambda + sum_i beta_i.
#pragma once

#include <optional>
#include <string>

#include "solvers/steppers/implicit/implicit_stepper.hpp"
#include "solvers/steppers/implicit/tableaux.hpp"

namespace hindsight {

class AdditiveRungeKutta final : public ImplicitStepper {
 public:
  /// With an implicit tableau of a model whose equations tell their parts (Model::implicit_parts); else of all of F,
  /// explicitly.
  AdditiveRungeKutta(const Model& model, AdditiveTableau tableau, const Active& active, Wants wants);

  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) override;
  /// Y_2 to Y_s; and u' where constraints are solved there.
  int record_states() const override { return stages() - 1 + (constraints_ ? 1 : 0); }
  void step(Tables& tables, StepTime time, StateBlocks u, double* next) override;
  void record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) override;
  int error_order() const override { return explicit_.error.empty() ? 0 : explicit_.embedded_order + 1; }
  double try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) override;
  void reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
               StateBlocks lambda_next) override;
  void tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
               double* dnext) override;
  std::string describe_memory() const override;

 protected:
  double implicit_share() const override { return is_split() ? a(1, 1) : 1.0; }

 private:
  int stages() const { return explicit_.stages(); }
  bool is_split() const { return implicit_.has_value(); }
  double e(int i, int j) const { return explicit_.a[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]; }
  double a(int i, int j) const { return implicit_->a[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]; }
  double b(int i) const { return explicit_.b[static_cast<std::size_t>(i)]; }
  StepTime at_stage(StepTime time, int i) const { return time.stage(explicit_.c[static_cast<std::size_t>(i)]); }
  ModelOperators& explicit_operators() { return own_explicit_ ? *own_explicit_ : operators_; }
  // Blocks, by stage: of E_i, or its tangent or the adjoint of the input; and of I_i.
  double* explicit_slope(int i) const { return scratch(i); }
  double* implicit_slope(int i) const { return scratch(stages() + i); }
  double* work(int i) const { return scratch((is_split() ? 2 : 1) * stages() + i); }

  void forward(Tables& tables, StepTime time, double* u, double* next, double* const* stages);
  void solve_stage(Tables& tables, StepTime time, int i, const double* u, double* y);
  void evaluate(Tables& tables, StepTime time, int i, double* y);
  void add_slopes(StepTime time, int i, double* out) const;
  void add_all_slopes(StepTime time, double* out) const;
  void factorise(Tables& tables, StepTime time, int i, double* y);
  void reverse_stage(Tables& tables, StepTime time, int i, double* y, const double* lambda);
  void add_weights(StepTime time, int i, const double* lambda, double* of_explicit, double* of_implicit) const;
  void tangent_stage(Tables& tables, StepTime time, int i, double* y, const double* du);
  void tangent_slopes(Tables& tables, StepTime time, int i, double* y, double* dy);

  Tableau explicit_;
  std::optional<Tableau> implicit_;
  std::optional<Model> explicit_model_;
  std::optional<ModelOperators> own_explicit_;  // of that, where equations have two parts
};

}  // namespace hindsight

// Rosenbrock steps, their tangents and their adjoints: linear systems alone, with the Jacobian at the state itself.
//
// With A = M - h gamma J(u), M as for StageSystems: A U_i = h gamma (F(Y_i) + M sum_{j<i} (c_ij/h) U_j + gamma_i h
// F_t(u)), Y_i = u + sum a_ij U_j, u' = u + sum m_i U_i. (Hairer, Wanner, Solving ODEs II, IV.7 and VI.3.) Adjoint, i =
// s..1: z_i = A^-T (m_i lambda + sum_{j>i} (a_ji ybar_j + gamma c_ji M z_j)), w_i = h gamma z_i, ybar_i = J(Y_i)^T w_i;
// then lambda' = lambda + sum_i (ybar_i + the derivative of w_i (J U_i + gamma_i h F_t) with respect to u), and
// parameters likewise.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "solvers/steppers/implicit/implicit_stepper.hpp"
#include "solvers/steppers/implicit/jacobian_product.hpp"
#include "solvers/steppers/implicit/tableaux.hpp"

namespace hindsight {

class Rosenbrock final : public ImplicitStepper {
 public:
  Rosenbrock(const Model& model, RosenbrockTableau tableau, const Active& active, Wants wants);

  int sums() const override { return product_.sums(); }
  /// All U_i, and the factors where they are kept.
  int record_states() const override { return stages() + (keeps_factors_ ? factor_states() : 0); }
  int factor_states() const override { return systems_->factor_states(); }
  void keep_factors(bool wanted) override { keeps_factors_ = wanted && factor_states() > 0; }
  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) override;
  void parameters_changed(Tables& tables, bool tangent) override;
  void step(Tables& tables, StepTime time, StateBlocks u, double* next) override;
  void record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) override;
  int error_order() const override { return tableau_.embedded_order + 1; }
  double try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) override;
  void reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
               StateBlocks lambda_next) override;
  void tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
               double* dnext) override;

  std::string describe_memory() const override;
  /// The state before the step: an overflow in it is what a step that is not finite usually begins with. None where
  /// equations read neighbours, whose values are not kept.
  std::vector<Evaluation> evaluations(StepTime time) const override {
    return model_.is_pointwise() ? std::vector<Evaluation>{{time.at(0.0), {}}} : std::vector<Evaluation>();
  }

 protected:
  double implicit_share() const override { return tableau_.gamma; }

 private:
  int stages() const { return tableau_.stages(); }
  StepTime at_stage(StepTime time, int i) const;
  double* const* own_stages() const { return own_stages_.data(); }
  void forward(Tables& tables, StepTime time, double* u, double* next, double* const* stages);
  void find_error(Tables& tables, StepTime time, double* u, double* next, double* const* stages, double* error);
  void add_up_input(int i, const double* u, double* const* stages, double* out) const;
  void factorise(Tables& tables, StepTime time, double* u, double* const* record, bool needs_slope);
  void factorise_recorded(Tables& tables, StepTime time, double* u, double* const* record);

  /// The recorded step that the factors belong to, by the first of its stages; until parameters change.
  struct Factored {
    const double* record = nullptr;
    double t = 0.0, h = 0.0;
    bool operator==(const Factored&) const = default;
  };

  RosenbrockTableau tableau_;
  Factored factored_;
  bool keeps_factors_ = false;
  JacobianProduct product_;
  std::vector<double*> own_stages_;
};

}  // namespace hindsight

// Steps by the backward differentiation formula of order 2 with variable lengths, their tangents and their adjoints.
//
// With r = h / (the length of the step before): u' - (1+r)^2/(1+2r) u + r^2/(1+2r) u_before = h (1+r)/(1+2r) F(u').
// (Hairer, Norsett, Wanner, Solving ODEs I, III.5; stable for r < 1 + sqrt(2).)
#pragma once

#include <string>

#include "solvers/steppers/implicit/implicit_stepper.hpp"

namespace hindsight {

/// A state holds the fields, the fields before the last step, and the length of that step: 0 where there was none, or
/// rates changed at once after it. Then, and where r would exceed its bound, a step is one of backward Euler.
class Bdf2 final : public ImplicitStepper {
 public:
  Bdf2(const Model& model, const Active& active, Wants wants);

  StateShape state(const Grid& grid) const override { return shape_of_fields(grid, 2 * model_.fields.size() + 1); }
  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) override;
  void begin(Tables& tables, StepTime at, double* state) override;
  void begin_tangent(Tables& tables, StepTime at, double* state, double* direction) override;

  /// The new fields.
  int record_states() const override { return 1; }
  void step(Tables& tables, StepTime time, StateBlocks u, double* next) override;
  void record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) override;
  /// The estimate is that of backward Euler: half the second difference. It overestimates.
  int error_order() const override { return 2; }
  double try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) override;
  void reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
               StateBlocks lambda_next) override;
  void tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
               double* dnext) override;
  std::string describe_memory() const override;

 protected:
  double implicit_share() const override { return 1.0; }

 private:
  /// u' = now u - before u_before + slope F(u').
  struct Formula {
    double now = 1.0, before = 0.0, slope = 0.0;
    double ratio = 0.0;  ///< r; 0: backward Euler
  };
  Formula formula(StepTime time, const double* u) const;
  double* fields_before(double* state) const { return state + fields_doubles_; }
  const double* fields_before(const double* state) const { return state + fields_doubles_; }
  /// The array of the length of the step before, from the begin of a state.
  std::int64_t length_at(std::int64_t place) const { return 2 * fields_doubles_ + place; }
  void set_length(double* state, double length) const;
  void forget(double* state) const;
  void solve(Tables& tables, StepTime time, const double* u, double* y);
  void complete(StepTime time, const double* u, double* next) const;

  std::int64_t fields_doubles_ = 0;  // from a state's fields to those before
};

}  // namespace hindsight

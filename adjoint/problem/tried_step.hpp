// The step that was tried last: where it is accepted it need not be taken again.
#pragma once

#include "adjoint/problem/divergence.hpp"
#include "adjoint/problem/states.hpp"
#include "solvers/steppers/methods.hpp"

namespace hindsight {

class TriedStep final : public StepTrial {
 public:
  /// Both must outlive it.
  TriedStep(Discretisation& problem, States& states) : problem_(problem), states_(states) {}

  /// Steps are tried from this state from now on. @param keeps_record whether the step, if it is taken, is recorded.
  void begin(const Buffer& from, bool keeps_record);
  /// @throws NumericsError where the step begins with a jump that is not finite.
  double error(StepTime step) override;
  int order() const override { return problem_.stepper().error_order(); }
  std::string failure() const override { return problem_.stepper().failure().why; }
  std::string cause() override;
  std::string advice() const override { return methods().find(problem_.spec().method).advice_on_many_steps; }

  /// Whether it is step k from this state, as the time line has it.
  bool is(std::int64_t k, const Buffer& state) const;
  /// Whether take() gives away all that its reversal needs.
  bool is_recorded() const { return is_recorded_ || states_.record_states() == 0; }
  /// Gives away the state after the step, and what was kept of it for its reversal: of a recorded one the stages.
  Buffer take(StepRecord* record);
  /// Gives back the memory.
  void forget();

 private:
  double try_step();
  DivergenceFinder finder() const;

  Discretisation& problem_;
  States& states_;
  StepTime step_{0.0, 0.0, -1};
  bool is_recorded_ = false;
  StepRecord record_;
  Buffer next_;
};

}  // namespace hindsight

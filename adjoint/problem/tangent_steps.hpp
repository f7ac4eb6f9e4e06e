// Steps that carry the derivative of the state in a direction along.
#pragma once

#include "adjoint/problem/simulated_steps.hpp"

namespace hindsight {

/// The tangent model: d(state)/d(unknowns) times a direction, and the objective's derivative with it.
class TangentSteps final : public ForwardSteps {
 public:
  /// All but the machine's memory is the caller's and must outlive it; so must the direction. The objective's value and
  /// derivative are in problem.objective() after the sweep and finish(). Collective.
  TangentSteps(Discretisation& problem, Parameters& parameters, States& states, SimulatedSteps& steps,
               const UnknownValues& direction);
  /// After the sweep's last step. Collective.
  void finish(const Buffer& last) { differentiate(problem_.time().steps(), last); }

  Buffer initial_state() override;
  Buffer advance(std::int64_t k, std::int64_t steps, Buffer state, bool first) override;
  bool is_last(std::int64_t k) const override { return steps_.is_last(k); }
  void save(BlockWriter& to, bool turned) const override;
  void restore(BlockReader& from, bool turned) override;
  void save_state(BlockWriter& to, std::int64_t k, const Buffer& state) override { steps_.save_state(to, k, state); }
  Buffer restore_state(BlockReader& from, std::int64_t k) override { return steps_.restore_state(from, k); }

 private:
  void differentiate(std::int64_t k, const Buffer& state);

  Discretisation& problem_;
  Parameters& parameters_;
  States& states_;
  SimulatedSteps& steps_;
  Pool dots_;
  Buffer dot_;  // of the state that is reached
};

}  // namespace hindsight

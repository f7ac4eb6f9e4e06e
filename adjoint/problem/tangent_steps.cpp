#include "adjoint/problem/tangent_steps.hpp"

namespace hindsight {

TangentSteps::TangentSteps(Discretisation& problem, Parameters& parameters, States& states, SimulatedSteps& steps,
                           const UnknownValues& direction)
    : problem_(problem),
      parameters_(parameters),
      states_(states),
      steps_(steps),
      dots_(1 + problem.shape().levels, problem.block_doubles(), problem.machine()),
      dot_(dots_.acquire_levels(problem.shape().levels)) {
  parameters_.set_direction(direction);
  problem_.stepper().parameters_changed(problem_.tables(), true);
}

Buffer TangentSteps::initial_state() {
  Buffer state = steps_.initial_state();
  parameters_.write_initial_direction(state.blocks(), dot_.blocks());
  return state;
}

void TangentSteps::differentiate(std::int64_t k, const Buffer& state) {
  Tables& tables = problem_.tables();
  const auto differentiate = [&](const Moment& moment, StateBlocks u, StateBlocks du) {
    tables.bind_state(problem_.symbols().between, u);
    tables.bind_state(problem_.symbols().dot_between, du);
    parameters_.bind_directions_at(moment.reads_at);
    problem_.objective().tangent(moment);
  };
  const Moment moment = problem_.time().moment(k);
  JumpingStepper* const jumping = problem_.jumping();
  const bool jumps = jumping != nullptr && !moment.is_last && jumping->jumps_at(k);
  const StateBlocks u = state.blocks(), du = dot_.blocks();
  if (!jumps && !moment.is_switch) return differentiate(moment, u, du);
  differentiate(moment.before_break(), u, du);
  if (moment.is_last) return;
  if (!jumps) return differentiate(moment.after_break(), u, du);
  const StepTime step = problem_.time().step(k);
  double* const after = jumping->after(tables, step, u);
  differentiate(moment.after_break(), after, jumping->tangent_after(tables, step, u, du));
}

Buffer TangentSteps::advance(std::int64_t k, std::int64_t /*steps*/, Buffer state, bool first) {
  StepRecord record;
  Buffer next = steps_.record(k, state, first, true, record);
  differentiate(k, state);
  Buffer next_dot = dots_.acquire();
  if (dot_.has_before()) next_dot.set_before(dot_);
  steps_.batched([&] {
    problem_.stepper().tangent(problem_.tables(), problem_.time().step(k), record.base.blocks(),
                               states_.stages_of(record), dot_.blocks(), next_dot.data());
  });
  dot_ = next_dot;
  return next;
}

void TangentSteps::save(BlockWriter& to, bool turned) const {
  steps_.save(to, turned);
  states_.save(to, dot_.blocks());
}

void TangentSteps::restore(BlockReader& from, bool turned) {
  steps_.restore(from, turned);
  states_.restore(from, dot_.blocks());
}

}  // namespace hindsight

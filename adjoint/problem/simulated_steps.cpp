#include "adjoint/problem/simulated_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {

SimulatedSteps::SimulatedSteps(Discretisation& problem, Parameters& parameters, States& states)
    : problem_(problem),
      stepper_(problem.stepper()),
      tables_(problem.tables()),
      time_(problem.time()),
      objective_(problem.objective()),
      parameters_(parameters),
      states_(states),
      watch_(problem, states),
      tried_(problem, states),
      adjoints_(problem.differentiates() ? 2 * problem.shape().levels : 0, problem.block_doubles(), problem.machine()),
      is_batched_(gains_by_batches()),
      drift_(problem),
      tape_(problem) {
  if (problem.jumping() != nullptr)
    problem.jumping()->add_to_adjoints([this](StepTime step, double* after, double* lambda) {
      if (objective_.may_count_at(step.index, time_))
        add_objective_adjoint(time_.moment(step.index).after_break(), after, lambda);
    });
}

/// On a device, where launches take long beside what they do and no messages come between them.
bool SimulatedSteps::gains_by_batches() const {
  const Grid& grid = problem_.grid();
  const bool is_whole = grid.communicator().size() == 1 || grid.dimensions() == 0;
  return !problem_.machine().is_host() && is_whole && problem_.shape().doubles() < written_in_a_launch;
}

void SimulatedSteps::begin(bool walks_back) {
  parameters_.clear_sums();
  objective_.reset();
  stepper_.clear_sums();
  drift_.clear();
  let_go();
  tape_.begin(walks_back);
  if (!has_fixed_end_) time_.reopen();
}

bool SimulatedSteps::end_is_open() const {
  return !has_fixed_end_ && (problem_.has_end_condition() || !time_.is_known());
}

void SimulatedSteps::reserve_adjoints() {
  for (Buffer* lambda : {&lambda_, &lambda_next_})
    if (!*lambda) *lambda = adjoints_.acquire_levels(problem_.shape().levels);
}

Buffer SimulatedSteps::initial_state() {
  if (const std::string unstable = problem_.instability(); !unstable.empty()) throw NumericsError(unstable);
  return first_state();
}

Buffer SimulatedSteps::first_state() {
  Buffer state = states_.acquire();
  parameters_.write_initial(state.blocks());
  return state;
}

void SimulatedSteps::decide(std::int64_t k, const Buffer& state, bool recorded) {
  if (!time_.tries_steps()) return problem_.reach(k, state.data(), nullptr);
  tried_.begin(state, recorded);
  problem_.reach(k, state.data(), &tried_);
}

void SimulatedSteps::observe(std::int64_t k, const Buffer& state, bool recorded) {
  if (k == 0 && time_.tries_steps()) watch_.look_at(k, state);  // it is not the first step that fails then
  if (!has_fixed_end_) decide(k, state, recorded);
  watch_.look_at(k, state);
  show_objective(k, state.blocks());
  if (observer_ != nullptr) (*observer_)(k, time_.time(k), state.blocks());
}

void SimulatedSteps::show_objective(std::int64_t k, StateBlocks state) {
  if (!objective_.may_count_at(k, time_)) return;
  const auto show = [&](const Moment& moment, StateBlocks seen) {
    objective_.observe(moment, [&] { tables_.bind_state(problem_.symbols().between, seen); });
  };
  const Moment moment = time_.moment(k);
  const bool jumps = jumps_at(k), breaks = jumps || moment.is_switch;
  show(breaks ? moment.before_break() : moment, state);
  if (breaks && !moment.is_last)
    show(moment.after_break(),
         jumps ? StateBlocks(problem_.jumping()->after(tables_, time_.step(k), state.now)) : state);
}

void SimulatedSteps::take_steps(std::int64_t k, std::int64_t steps, const Buffer& state, const Buffer& next) {
  if (spans_ != nullptr) return stepper_.spans()->step(tables_, span(k), state.data(), next.data());
  if (steps > 1) return stepper_.step_through(tables_, time_.step(k), steps, state.blocks(), next.data());
  if (tape_.is_in_use()) stepper_.leave_behind(tape_.written_by(k));
  stepper_.step(tables_, time_.step(k), state.blocks(), next.data());
}

/// A state that nobody will look at again.
bool SimulatedSteps::may_overwrite(const Buffer& state, std::int64_t steps) const {
  return state.is_alone() && spans_ == nullptr && !tape_.is_in_use() && stepper_.may_overwrite(steps);
}

/// Nobody will look at either level again.
bool SimulatedSteps::may_step_in_place(std::int64_t k, const Buffer& state) const {
  return spans_ == nullptr && !tape_.is_in_use() && state.has_before() && state.is_alone() &&
         state.is_level_before_alone() && stepper_.steps_in_place(time_.step(k)) > 0;
}

/// Of states of one level. Those in between are not there for anybody.
std::int64_t SimulatedSteps::steps_through(std::int64_t k, std::int64_t most, bool first) const {
  const StepTime begin = time_.step(k);
  const std::int64_t steps = stepper_.steps_through(begin, most);
  if (steps == 1 || spans_ != nullptr || tape_.is_in_use() || k + steps > time_.recorded()) return 1;
  std::int64_t free = 1;
  while (free < steps && time_.step(k + free).h == begin.h && !(first && objective_.counts_at(k + free, time_))) ++free;
  return free == steps ? steps : stepper_.steps_through(begin, free);
}

std::int64_t SimulatedSteps::steps_at_once(std::int64_t k, std::int64_t to, const Buffer& state, bool first) const {
  if (first && (observer_ != nullptr || end_is_open())) return 1;
  if (stepper_.levels() == 1) return steps_through(k, std::min(Stepper::most_at_once, to - k), first);
  const std::int64_t most = std::min<std::int64_t>(stepper_.steps_in_place(time_.step(k)), to - k);
  // Ranks look together: a state that a slow tier still writes is alone on some of them alone.
  if (most <= 1 || problem_.communicator().any(!may_step_in_place(k, state))) return 1;
  // Of the states that are reached, the last but one is there afterwards, without its level before.
  std::int64_t steps = 1;
  while (steps < most && !(first && objective_.counts_at(k + steps, time_))) ++steps;
  return std::min(most, steps + (objective_.reads_level_before() ? 0 : 1));
}

bool SimulatedSteps::takes_several(std::int64_t steps) const {
  if (stepper_.levels() == 1) {
    // The first ones may be of other lengths, or begin with jumps.
    constexpr std::int64_t looked_at = 1000;
    for (std::int64_t k = 0; k < std::min(steps, looked_at); ++k)
      if (steps_through(k, std::min(Stepper::most_at_once, steps - k), false) > 1) return true;
    return false;
  }
  return stepper_.steps_in_place(time_.step(steps - 1)) > 1;
}

Buffer SimulatedSteps::step_in_place(std::int64_t k, std::int64_t steps, Buffer state) {
  std::array<StepTime, Stepper::most_at_once> times;
  for (std::int64_t i = 0; i < steps; ++i) times.at(static_cast<std::size_t>(i)) = time_.step(k + i);
  stepper_.step_in_place(tables_, std::span(times).first(static_cast<std::size_t>(steps)), state.blocks());
  if (steps % 2 != 0) state.exchange_levels();
  return state;
}

Buffer SimulatedSteps::advance(std::int64_t k, std::int64_t steps, Buffer state, bool first) {
  if (first && k == 0) observe(0, state, false);
  Buffer next;
  if (first && tried_.is(k, state)) {
    next = tried_.take(nullptr);
  } else if (may_step_in_place(k, state)) {
    next = step_in_place(k, steps, std::move(state));
    if (first && steps > 1) show_objective(k + steps - 1, next.blocks().before);
  } else {
    next = may_overwrite(state, steps) ? state : states_.acquire_after(state);
    batched([&] { take_steps(k, steps, state, next); });
  }
  if (first) observe(state_at(k + steps), next, false);
  return next;
}

Buffer SimulatedSteps::record_step(std::int64_t k, const Buffer& state, bool wanted, StepRecord& record) {
  Buffer next;
  if (wanted || spans_ != nullptr) next = states_.acquire_after(state);
  record.reset();  // before the next is taken
  record.base = state;
  if (spans_ != nullptr) {
    stepper_.spans()->record(tables_, span(k), state.data(), next.data());
    return wanted ? std::move(next) : Buffer();
  }
  if (!wanted && reverses_from_state_) return next;
  states_.acquire_stages(record);
  if (tape_.is_in_use()) stepper_.leave_behind(tape_.written_by(k));
  batched([&] {
    stepper_.record(tables_, time_.step(k), state.blocks(), next ? next.data() : nullptr, states_.stages_of(record));
  });
  return next;
}

Buffer SimulatedSteps::record(std::int64_t k, const Buffer& state, bool first, bool wanted, StepRecord& record) {
  if (first && k == 0) observe(0, state, true);
  Buffer next;
  if (first && tried_.is(k, state) && tried_.is_recorded()) {
    next = tried_.take(&record);
  } else {
    next = record_step(k, state, first || wanted, record);
  }
  if (first) observe(state_at(k + 1), next, true);
  return next;
}

void SimulatedSteps::look_at_parameters(bool with_adjoint) {
  Moment end;
  end.is_last = true;
  const Buffer state = first_state();
  objective_.observe(end, [&] { tables_.bind_state(problem_.symbols().between, state.blocks()); });
  if (!with_adjoint) return;
  reserve_adjoints();
  problem_.clear(lambda_.blocks());
  add_objective_adjoint(end, state.blocks(), lambda_.blocks());
}

void SimulatedSteps::add_objective_adjoint(std::int64_t k, const Buffer& state) {
  if (!objective_.may_count_at(k, time_)) return;
  const Moment moment = time_.moment(k);
  const bool jumps = jumps_at(k), breaks = jumps || moment.is_switch;
  const StateBlocks seen = state.blocks(), lambda = lambda_.blocks();
  if (breaks && !jumps && !moment.is_last) add_objective_adjoint(moment.after_break(), seen, lambda);
  add_objective_adjoint(breaks ? moment.before_break() : moment, seen, lambda);
}

void SimulatedSteps::add_objective_adjoint(const Moment& moment, StateBlocks state, StateBlocks lambda) {
  const auto bind = [&] {
    tables_.bind_state(problem_.symbols().between, state);
    tables_.bind_state(problem_.symbols().lambda, lambda);
  };
  objective_.add_adjoint(moment, bind, [&](const char* kind, const auto& work) { contribute(kind, work); });
}

void SimulatedSteps::turn(std::int64_t steps, const Buffer& last) {
  problem_.clear(lambda_.blocks());
  add_objective_adjoint(state_at(steps), last);
  if (steps == 0) complete_initial_adjoint(last.data());
}

/// Whether the adjoint of the state before the step takes the place of the one after it.
bool SimulatedSteps::overwrites_adjoint(const StepRecord& record) const {
  return spans_ == nullptr && reverses_from_state_ && !record.stages && stepper_.may_overwrite_adjoint();
}

bool SimulatedSteps::reverse_step(std::int64_t k, const StepRecord& record) {
  if (spans_ != nullptr) {
    stepper_.spans()->reverse(tables_, span(k), record.base.data(), lambda_.data(), lambda_next_.data());
    return false;
  }
  if (states_.levels() > 1) {
    lambda_next_.reset();
    lambda_next_ = adjoints_.acquire_levels(stepper_.hands_on_adjoint(time_.step(k)) ? 1 : states_.levels());
    if (!lambda_next_.has_before()) lambda_next_.set_before(lambda_);
  }
  if (tape_.is_in_use()) stepper_.leave_behind(tape_.of(k));
  const bool is_in_place = overwrites_adjoint(record);
  Buffer& next = is_in_place ? lambda_ : lambda_next_;
  stepper_.reverse(tables_, time_.step(k), record.base.blocks(), states_.stages_of(record), lambda_.blocks(),
                   next.blocks());
  tape_.forget_from(k);
  return is_in_place;
}

void SimulatedSteps::reverse(std::int64_t k, const StepRecord& record) {
  batched([&] {
    contribute("steps", [&] {
      if (!reverse_step(k, record)) std::swap(lambda_, lambda_next_);
    });
    add_objective_adjoint(state_at(k), record.base);
    if (k == 0) complete_initial_adjoint(record.base.data());
  });
}

Buffer SimulatedSteps::retreat(std::int64_t k, const Buffer& state) {
  if (!state.has_before()) throw Error(ExitCode::bug, "a state of one level is walked back");
  if (!drift_.has_begun()) drift_.begin(state.blocks());
  Buffer earlier = state.level_before();
  if (k == 1) return earlier;  // the level before it is no level of the run
  const Buffer before = states_.pool().acquire();
  if (tape_.is_in_use()) stepper_.leave_behind(tape_.of(k - 1));
  batched([&] { stepper_.retreat(tables_, time_.step(k - 1), state.blocks(), before.data()); });
  earlier.set_before(before);
  return earlier;
}

/// Here, where the state is at hand.
void SimulatedSteps::complete_initial_adjoint(double* state) {
  contribute("initial", [&] { parameters_.complete_initial_adjoint(state, lambda_.data()); });
}

/// Everything that a sweep backwards adds to.
AdjointMemory SimulatedSteps::adjoint_memory() const {
  AdjointMemory memory{problem_.grid(), states_.fields_of(lambda_.data()), parameters_.row_sums()};
  for (const CellArray bar : parameters_.bars()) memory.cells.push_back(bar);
  return memory;
}

void SimulatedSteps::save(BlockWriter& to, bool turned) const {
  to.archive().begin("sums");
  time_.save(to);
  objective_.save(to);
  to.archive().write(stepper_.sizes_seen());
  to.archive().end();
  if (!turned) return;
  to.archive().begin("adjoint");
  drift_.save(to.archive());
  parameters_.save_sums(to);
  stepper_.save_sums(to);
  states_.save(to, lambda_.blocks());
  to.archive().end();
}

void SimulatedSteps::restore(BlockReader& from, bool turned) {
  from.begin("sums");
  time_.restore(from);
  objective_.restore(from);
  stepper_.set_sizes_seen(from.get<std::vector<double>>());
  from.end();
  if (!turned) return;
  from.begin("adjoint");
  drift_.restore(from);
  parameters_.restore_sums(from);
  stepper_.restore_sums(from);
  states_.restore(from, lambda_.blocks());
  from.end();
}

/// What a run goes on with is looked at first: it would fail again.
void SimulatedSteps::save_state(BlockWriter& to, std::int64_t k, const Buffer& state) {
  watch_.look_now(state_at(k), state);
  states_.save(to, state.blocks());
}

Buffer SimulatedSteps::restore_state(BlockReader& from, std::int64_t k) {
  Buffer state = states_.acquire();
  states_.restore(from, state.blocks());
  watch_.go_on(k >= 0 ? state_at(k) : k, k >= 0 ? state : Buffer());
  return state;
}

DerivativeSums SimulatedSteps::add_up() const {
  DerivativeSums sums = parameters_.sums();
  const auto add = [&](const char* part, const auto& summed_by) {
    const DerivativeSums before = sums;
    summed_by.add_sums(sums.scalars, sums.knots);
    broken_.scale_increments(part, before, sums);
  };
  add("walls", stepper_);
  for (const auto& term : objective_.terms()) add(term->kind(), *term);
  return sums;
}

UnknownValues SimulatedSteps::collect_gradient() {
  tables_.bind_state(problem_.symbols().lambda, lambda_.blocks());
  contribute("initial", [&] { parameters_.add_initial_adjoint(); });
  const DerivativeSums sums = add_up();
  const std::vector<Unknown>& unknowns = problem_.spec().unknowns;
  UnknownValues gradient;
  for (std::size_t i = 0; i < unknowns.size(); ++i) {
    gradient.push_back(parameters_.derivative(i, sums));
    broken_.scale(unknowns[i], gradient.back());
  }
  require_finite(gradient);
  return gradient;
}

void SimulatedSteps::require_finite(const UnknownValues& gradient) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const bool is_finite =
        std::all_of(gradient[i].begin(), gradient[i].end(), [](double g) { return std::isfinite(g); });
    if (problem_.communicator().any(!is_finite)) names.push_back("'" + problem_.spec().unknowns[i].label() + "'");
  }
  if (names.empty()) return;
  throw NumericsError("the gradient is not finite in " + join(names) +
                      ": at these values the objective has no derivative, as sqrt(x) has none at x = 0, or one that is "
                      "too large for a number");
}

}  // namespace hindsight

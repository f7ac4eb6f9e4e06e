#include "adjoint/problem/simulation.hpp"

#include <algorithm>
#include <cmath>

#include "adjoint/problem/least_memory.hpp"
#include "adjoint/problem/measurements.hpp"
#include "adjoint/problem/tangent_steps.hpp"
#include "adjoint/store/memory_tier.hpp"

namespace hindsight {

Simulation::Simulation(SimulationSpec spec, const Communicator& comm, Wants wants) : spec_(std::move(spec)) {
  const CountMemory counted(memory_);
  require_memory_of_steps(spec_.steps, spec_.rules, comm, wants.node);
  problem_ = std::make_unique<Discretisation>(
      spec_, comm, Stepper::Wants{.adjoint = wants.adjoint, .tangent = wants.tangent, .changes = wants.changes},
      *wants.machine);
  parameters_ = std::make_unique<Parameters>(*problem_);
  require_memory(least_memory(), spec_.axes, comm, machine(), wants.node);
  problem_->make_grid();
  parameters_->prepare();
  problem_->prepare(parameters_->knot_sums());
  states_ = std::make_unique<States>(*problem_);
  comm.together([&] {
    steps_ = std::make_unique<SimulatedSteps>(*problem_, *parameters_, *states_);
    states_->reserve(0);
  });
  {
    const Buffer first = states_->acquire();
    parameters_->begin(first.blocks());
    const std::string unstable = wants.may_start_unstable ? "" : problem_->instability();
    if (!unstable.empty()) throw InputError(spec_.time_place, unstable);
    problem_->stepper().warm_up(problem_->tables(), {spec_.from, spec_.step, 0}, expected_steps(), first.data());
  }
  find_spans();
}

/// Lengths that solvers may meet: where steps are tried, some from the longest on, as solvers differ with them.
std::vector<double> Simulation::expected_steps() const {
  constexpr double between = 0.03, little = 1e-4;
  const double most = spec_.rules.most > 0.0 ? spec_.rules.most : spec_.to - spec_.from;
  if (!time().tries_steps() || !std::isfinite(most)) return {spec_.step};
  std::vector<double> lengths;
  for (double h = most; h > std::max(spec_.step, little * most); h *= between) lengths.push_back(h);
  lengths.push_back(spec_.step);
  return lengths;
}

/// Where a state is small, nothing looks at every one, and there are few landings.
void Simulation::find_spans() {
  constexpr std::int64_t most_steps = 64, most_bytes = 16 << 10;
  const std::int64_t most = std::min(most_steps, most_bytes / std::max<std::int64_t>(1, state_bytes()));
  if (most < 2 || problem_->stepper().spans() == nullptr || !time().is_known() || problem_->has_end_condition() ||
      objective().counts_everywhere())
    return;
  auto spans = std::make_unique<const Spans>(time(), most);
  if (spans->count() <= time().steps() / 2) spans_ = std::move(spans);
}

std::int64_t Simulation::span_bytes() const {
  if (!spans_) return 0;
  const std::int64_t buffers = States::buffers(*problem_, spans_->count());
  return Memory::bytes_of(buffers * spans_->longest() * problem_->block_doubles()) + Memory::most_stagger +
         buffers * state_table_bytes;
}

bool Simulation::use_spans(bool wanted) {
  const CountMemory counted(memory_);
  spans_in_gradients_ = wanted ? spans_.get() : nullptr;
  states_->set_span(spans_in_gradients_ != nullptr ? spans_->longest() : 1);
  grid().communicator().together([&] { reserve(0); });
  return spans_in_gradients_ != nullptr;
}

bool Simulation::keep_first_levels(bool wanted) {
  if (!may_keep_first_levels()) return false;
  const CountMemory counted(memory_);
  states_->set_first_levels(wanted);
  grid().communicator().together([&] { reserve(0); });
  return wanted;
}

void Simulation::keep_factors(bool wanted) {
  if (factor_units() == 0) return;
  const CountMemory counted(memory_);
  problem_->stepper().keep_factors(wanted);
  states_->set_record();
  grid().communicator().together([&] { reserve(0); });
}

Simulation::~Simulation() {
  checkpoints_.reset();  // its buffers go back to the pool before that is destroyed
}

LeastMemory Simulation::least_memory() const {
  LeastMemory least;
  const int adjoints = problem_->differentiates() ? 2 * stepper().levels() : 0;
  least.states = States::buffers(*problem_, 0) + stepper().working_states() + adjoints;
  least.state_fields = std::ssize(spec_.model.fields);
  least.other_fields = parameters_->arrays() + std::ssize(spec_.model.graph->noises());
  least.element = problem_->element();
  return least;
}

std::vector<const KernelLibrary*> Simulation::libraries() const {
  std::vector<const KernelLibrary*> all = problem_->libraries();
  for (const KernelLibrary* library : parameters_->libraries()) all.push_back(library);
  std::erase_if(all, [](const KernelLibrary* library) { return library->specs().empty(); });
  return all;
}

WorkingBytes Simulation::working_bytes() const {
  const bool is_host = machine().is_host();
  std::int64_t lacking = states_->lacking_bytes();
  if (problem_->wants().tangent) lacking += Memory::bytes_of((1 + states_->levels()) * problem_->block_doubles());
  std::int64_t passing = std::max(grid_sum_bytes(grid()), parameters_->summed_fields() == 0 ? 0 : cells_bytes());
  const Layout& layout = grid().layout();
  for (std::size_t a = 0; a < 3 && !is_host && !spec_.model.walls.empty(); ++a)  // a wall's sums
    passing = std::max(passing, layout.size / (grid().cells()[a] + 2 * layout.halo[a]) * std::int64_t{sizeof(double)});
  passing =
      std::max({passing, objective().passing_bytes(), stepper().passing_bytes(), steps_->drift().passing_bytes()});
  passing += Memory::most_stagger;  // of a pool that becomes large
  WorkingBytes bytes;
  bytes.host = memory_->used() + passing + (is_host ? lacking : 0);
  const std::int64_t own = machine().account() ? machine().account()->used() : memory_->used();
  bytes.machine = is_host ? bytes.host : own + lacking + Memory::most_stagger;
  return bytes;
}

/// Of the owned cells of a field without padding.
std::int64_t Simulation::cells_bytes() const {
  return grid().interior().cells() * static_cast<std::int64_t>(sizeof(double));
}

std::int64_t Simulation::kept_bytes() const {
  const std::int64_t fields = std::ssize(spec_.model.fields) + parameters_->summed_fields();
  return (2 * fields + 1) * cells_bytes() + parameters_->sum_bytes() + objective().kept_bytes();
}

/// Never shrinks the pool to less than what steps need.
void Simulation::reserve(std::int64_t of_checkpoints) {
  const CountMemory counted(memory_);
  steps_->let_go();
  if (states_->must_remake(of_checkpoints)) checkpoints_.reset();
  states_->reserve(of_checkpoints);
}

double Simulation::stability_ratio() const {
  const double most = largest_step();
  return std::isfinite(most) ? std::max(1.0, most / time().shortest().step) : 1.0;
}

void Simulation::accept_drift(std::optional<double> most) {
  const CountMemory counted(memory_);
  steps_->drift().accept(most);
  problem_->stepper().prepare_left_behind(grid());
}

void Simulation::reserve_checkpoints(std::int64_t units, const std::array<SlotTier*, tier_count>& tiers,
                                     bool walks_back) {
  const Tier memory = memory_tier(machine());
  std::int64_t buffers = tiers[index_of(memory)] == nullptr ? units * states_->unit_buffers() : 0;
  for (const SlotTier* tier : tiers) buffers += tier != nullptr ? tier->buffers() * states_->levels() : 0;
  grid().communicator().together([&] { reserve(buffers); });
  const CountMemory counted(memory_);
  grid().communicator().together([&] { steps_->tape().reserve(walks_back ? steps_->count() : 0); });
  checkpoints_ = std::make_unique<Checkpoints>(memory, units, record_units(), states_->pool(), tiers,
                                               grid().communicator(), record_kind());
  steps_->reserve_adjoints();
}

Checkpoints::RecordKind Simulation::record_kind() const {
  using enum Checkpoints::RecordKind;
  return spans_in_gradients_ != nullptr ? trail : states_->unit_buffers() < states_->levels() ? first_level : state;
}

void Simulation::free_checkpoints() {
  const CountMemory counted(memory_);
  steps_->let_go();
  checkpoints_.reset();
  steps_->tape().reserve(0);
  states_->shrink();
}

std::int64_t Simulation::steps_of(std::int64_t sweep_steps) const {
  return in_steps(sweep_steps, this->sweep_steps());
}

/// Of `count` equal parts that all steps are divided into, so many.
std::int64_t Simulation::in_steps(std::int64_t parts, std::int64_t count) const {
  const std::int64_t all = time().steps();
  if (count == all) return parts;
  return std::llround(static_cast<double>(all) / static_cast<double>(count) * static_cast<double>(parts));
}

/// What an observer is told of sweeps that take spans.
ProgressObserver Simulation::progress_in_steps(const SweepOptions& options) const {
  const std::int64_t count = steps_->count();
  if (count == time().steps() || !options.progress) return options.progress;
  return [this, count, progress = options.progress](std::int64_t forward, std::int64_t reversed) {
    progress(in_steps(forward, count), in_steps(reversed, count));
  };
}

/// All steps once. @returns the last state.
Buffer Simulation::sweep_forward(ForwardSteps& steps, const SweepOptions& options) {
  const SimulatedSteps::Shown shown(*steps_, options.observer);
  steps_->begin();
  return drive_forward(steps_->count(), steps,
                       {.is_online = steps_->end_is_open(),
                        .keeper = options.keeper,
                        .kept = options.kept,
                        .progress = progress_in_steps(options)});
}

double Simulation::run(const SweepOptions& options) {
  const CountMemory counted(memory_);
  steps_->take(spans_.get());
  sweep_forward(*steps_, options);
  steps_->let_go();
  return objective().value();
}

/// What can be told wrong before anything runs; the driver tells the rest.
void Simulation::require_reserved(const Schedule& schedule) const {
  if (!problem_->wants().adjoint)
    throw Error(ExitCode::bug, "a gradient is asked of a simulation that was made without: Simulation::Wants::adjoint");
  if (!checkpoints_)
    throw Error(ExitCode::bug, "no memory is reserved for checkpoints: Simulation::reserve_checkpoints()");
  for (std::size_t t = 0; t < tier_count; ++t) {
    const auto tier = static_cast<Tier>(t);
    if (schedule.predicted.peak[t] > checkpoints_->slots(tier))
      throw Error(ExitCode::bug, "the checkpoint schedule needs " + std::to_string(schedule.predicted.peak[t]) +
                                     " slots in the tier '" + to_text(tier) + "', " +
                                     std::to_string(checkpoints_->slots(tier)) +
                                     " are reserved: Simulation::reserve_checkpoints()");
  }
}

GradientResult Simulation::gradient(const Schedule& schedule, bool is_online, const SweepOptions& options) {
  require_reserved(schedule);
  const CountMemory counted(memory_);
  const SimulatedSteps::Shown shown(*steps_, options.observer);
  steps_->take(spans_in_gradients_);
  steps_->begin(schedule.predicted.retreated > 0);
  GradientResult result;
  result.counts = drive(schedule, *steps_, *checkpoints_,
                        {.is_online = is_online,
                         .steps = is_online ? -1 : steps_->count(),
                         .keeper = options.keeper,
                         .kept = options.kept,
                         .progress = progress_in_steps(options)});
  steps_->let_go();
  DriverCounts& counts = result.counts;
  for (std::int64_t* const count : {&counts.plain, &counts.recorded, &counts.reversed, &counts.repairing_steps})
    *count = steps_of(*count);
  result.objective = objective().value();
  result.gradient = steps_->collect_gradient();
  result.drift = steps_->drift().largest();
  return result;
}

std::pair<double, double> Simulation::tangent(const UnknownValues& direction, const SweepOptions& options) {
  if (!problem_->wants().tangent)
    throw Error(ExitCode::bug, "a tangent is asked of a simulation that was made without: Simulation::Wants::tangent");
  reserve(0);
  const CountMemory counted(memory_);
  steps_->take(nullptr);
  TangentSteps steps(*problem_, *parameters_, *states_, *steps_, direction);
  steps.finish(sweep_forward(steps, options));
  steps_->let_go();
  const double derivative = objective().tangent_value();
  return {objective().value(), derivative};
}

void Simulation::give(const GivenValues& given) {
  const CountMemory counted(memory_);
  const Buffer room = states_->acquire();
  parameters_->give(given, room.data());
}

GradientResult Simulation::of_parameters() {
  const CountMemory counted(memory_);
  count(Objective::Which::of_parameters);
  steps_->take(nullptr);
  steps_->begin();
  steps_->look_at_parameters(problem_->wants().adjoint);
  GradientResult result;
  result.objective = objective().value();
  if (problem_->wants().adjoint) result.gradient = steps_->collect_gradient();
  count(Objective::Which::of_states);
  return result;
}

void Simulation::walk(const std::function<bool(std::int64_t k, StateBlocks state)>& visit) {
  TimeLine& time = problem_->time();
  steps_->take(nullptr);
  Buffer state = steps_->initial_state();
  time.reopen();
  for (std::int64_t k = 0; visit(k, state.blocks()) && k < time.steps(); ++k) {
    steps_->reach(k, state);
    state = steps_->advance(k, 1, std::move(state), false);
  }
}

void Simulation::save_observed(BlockWriter& to) const {
  time().save(to);
  objective().save_observed(to);
}

void Simulation::restore_observed(BlockReader& from) {
  problem_->time().restore(from);
  problem_->objective().restore_observed(from);
}

StepSeconds Simulation::measure(int repeats, double batch, std::int64_t units, bool rehearses) {
  const CountMemory counted(memory_);
  steps_->take(spans_in_gradients_);
  Measurements measurements(*problem_, *states_, *steps_);
  units = measurements.units(units);
  grid().communicator().together([&] { reserve(units * states_->unit_buffers()); });
  steps_->reserve_adjoints();
  StepSeconds seconds = measurements.steps(repeats, batch, units, rehearses);
  if (rehearses) measurements.rehearse(seconds, repeats, batch, units);
  return seconds;
}

TransferSeconds Simulation::measure(SlotTier& tier, std::int64_t slots) {
  grid().communicator().together([&] { reserve(tier.buffers() * states_->levels()); });
  steps_->take(nullptr);
  return Measurements(*problem_, *states_, *steps_).transfers(tier, slots);
}

}  // namespace hindsight

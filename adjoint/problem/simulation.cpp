#include "adjoint/problem/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

#include "adjoint/problem/divergence.hpp"
#include "adjoint/schedule/roles.hpp"
#include "runtime/cores.hpp"
#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"
#include "runtime/stop_request.hpp"
#include "solvers/equations/derive.hpp"
#include "solvers/steppers/methods.hpp"
#include "solvers/steppers/reads.hpp"
#include "solvers/steppers/stage_names.hpp"
#include "solvers/time/step_sources.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t finite_check_interval = 32;  // steps between two looks for values that are not finite

using Kind = Unknown::Kind;

std::vector<std::string> names_of(const std::vector<Unknown>& unknowns, Kind kind) {
  std::vector<std::string> names;
  for (const Unknown& u : unknowns)
    if (u.kind == kind) names.push_back(u.name);
  return names;
}

std::size_t index_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

/// Where the host evaluates initial states and parameter fields for a device, whose exp and sin have other bits.
struct Simulation::HostSide {
  HostSide(const SimulationSpec& spec, const Communicator& comm, const std::array<int, 3>& halo)
      : grid(spec.axes, comm, halo),
        tables(*spec.model.graph, grid, 0),
        state(state_doubles(grid, spec.model.fields.size())) {}
  Grid grid;
  Tables tables;
  Memory state;
};

/// Indices of what is bound again and again, and the kernels of initial states and parameter fields.
struct Simulation::Symbols {
  std::vector<int> first, dot_first, objective, dot_objective, lambda;
  std::vector<int> parameter_fields, bars, dot_parameter_fields;
  int ones = 0;
  KernelSpec initial{"initial", {}, {}}, adjoint{"initial_adjoint", {}, {}}, tangent{"initial_tangent", {}, {}};
  std::vector<KernelSpec> fields;  // one per parameter field that is an expression
  std::vector<int> field_kernel;   // parallel to parameter fields: index in the library, or -1
  int adjoint_kernel = -1, tangent_kernel = -1;
};

Simulation::Simulation(SimulationSpec spec, const Communicator& comm, Wants wants)
    : spec_(std::move(spec)), wants_(wants), comm_(comm), symbols_(std::make_unique<Symbols>()) {
  const CountMemory counted(memory_);
  const Model& model = spec_.model;
  Graph& graph = *model.graph;
  active_ = {names_of(spec_.unknowns, Kind::scalar), names_of(spec_.unknowns, Kind::series),
             names_of(spec_.unknowns, Kind::field)};
  stepper_ = find_method(spec_.method).make(model, active_, {wants.adjoint, wants.tangent});
  int sums = stepper_->sums();
  std::array<int, 3> halo = stepper_->halo();
  objective_ = std::make_unique<Objective>(spec_.terms, TermPlace{model, active_, 0, sums});
  sums += objective_->sums();
  halo = deeper(halo, objective_->halo());
  if (spec_.until) {
    const int number = static_cast<int>(spec_.terms.size());
    stop_.emplace(*spec_.until, TermPlace{model, active_, number, sums});
    sums += stop_->sums();
    halo = deeper(halo, stop_->halo());
  }
  TimeSpan span{spec_.from, spec_.to, spec_.step, spec_.landings};
  for (const auto& term : spec_.terms)
    for (const double t : term->landings()) span.landings.push_back(t);

  Symbols& s = *symbols_;
  const auto field = [&](const std::string& name) { return int{graph.field(name).node().symbol}; };
  for (const std::string& name : model.fields) {
    s.first.push_back(field(StageNames::stage(name, 1)));
    s.dot_first.push_back(field(StageNames::dot(StageNames::stage(name, 1))));
    s.objective.push_back(field(StageNames::stage(name, 0)));
    s.dot_objective.push_back(field(StageNames::dot(StageNames::stage(name, 0))));
    s.lambda.push_back(field(StageNames::lambda(name)));
  }
  for (const std::string& name : model.parameter_fields) s.parameter_fields.push_back(field(name));
  for (const std::string& name : active_.parameter_fields) {
    s.bars.push_back(field(StageNames::bar(name)));
    s.dot_parameter_fields.push_back(field(StageNames::dot(name)));
  }
  s.ones = field("@ones");
  build_parameters();

  time_ = std::make_unique<TimeLine>(span, find_step_source(spec_.steps).make());
  require_memory(least_memory(), spec_.axes, comm, machine());
  grid_ = std::make_unique<Grid>(spec_.axes, comm, halo, machine());
  tables_ = std::make_unique<Tables>(graph, *grid_, sums);
  comm_.together([&] {
    for (const std::vector<int>& fields : {s.parameter_fields, s.bars, s.dot_parameter_fields, {s.ones}})
      tables_->allocate(fields);
  });
  padded(std::vector<double>(static_cast<std::size_t>(grid_->interior().cells()), 1.0), tables_->field(s.ones));
  std::vector<KernelSpec> kernels{s.initial};
  for (const KernelSpec& k : s.fields) kernels.push_back(k);
  first_library_ = KernelLibrary(kernels, boxes_of(grid_->dimensions()), comm);
  if (!machine().is_host()) {
    host_side_ = std::make_unique<HostSide>(spec_, comm, halo);
    host_side_->tables.allocate(s.parameter_fields);
  }
  kernels.clear();
  if (!s.adjoint.roots().empty()) {
    s.adjoint_kernel = static_cast<int>(kernels.size());
    kernels.push_back(s.adjoint);
  }
  if (!s.tangent.roots().empty()) {
    s.tangent_kernel = static_cast<int>(kernels.size());
    kernels.push_back(s.tangent);
  }
  initial_library_ = KernelLibrary(kernels, boxes_of(grid_->dimensions()), comm, machine());
  mirror_walls_ = plain_walls(1, WallRule::slope);
  if (grid_->dimensions() > 0 && !s.parameter_fields.empty())
    parameter_exchange_ = std::make_unique<HaloExchange>(*grid_, 1, halo, true);

  stepper_->prepare(*grid_, *tables_, spec_.series);
  for (std::size_t p = 0; p < active_.scalars.size(); ++p) {
    scalar_sums_.emplace_back(grid_->local_rows(), machine());
    tables_->bind_sum(static_cast<int>(p), scalar_sums_.back().data());
  }
  std::vector<double*> knots;
  for (std::size_t q = 0; q < active_.series.size(); ++q) {
    const Series& series = spec_.series[index_of(model.series, active_.series[q])];
    series_sums_.emplace_back(grid_->local_rows() * static_cast<std::int64_t>(series.values.size()), machine());
    knots.push_back(series_sums_.back().data());
    stepper_->bind_series_sums(q, knots.back());
  }
  const TermSetting setting{*grid_, *time_, *tables_, spec_.series, knots};
  objective_->prepare(setting);
  if (stop_) stop_->prepare(setting);
  comm_.together([&] {
    adjoint_pool_ = std::make_unique<Pool>(wants.adjoint || wants.tangent ? 2 : 0,
                                           state_doubles(*grid_, model.fields.size()), machine());
  });

  // First values: parameters as given, unknown initial states from their expressions.
  for (std::size_t i = 0; i < model.scalars.size(); ++i)
    if (const int symbol = graph.scalar_index(model.scalars[i]); symbol >= 0)
      tables_->scalar(symbol) = spec_.scalar_values[i];
  for (std::size_t i = 0; i < model.parameter_fields.size(); ++i) {
    fill_parameter_field(i);
    exchange_parameter_field(s.parameter_fields[i]);
  }
  stages_.resize(static_cast<std::size_t>(stepper_->record_states()), nullptr);
  is_batched_ = gains_by_batches();
  comm_.together([&] { reserve(0); });
  const Buffer start = initial_state();
  tables_->bind_state(s.first, start.data());
  for (const Unknown& u : spec_.unknowns) {
    switch (u.kind) {
      case Kind::scalar:
        values_.push_back({spec_.scalar_values[index_of(model.scalars, u.name)]});
        break;
      case Kind::series:
        values_.push_back(spec_.series[index_of(model.series, u.name)].values);
        break;
      case Kind::field:
        values_.push_back(unpadded(tables_->field(s.parameter_fields[index_of(model.parameter_fields, u.name)])));
        break;
      case Kind::initial:
        values_.push_back(unpadded(tables_->field(s.first[index_of(model.fields, u.name)])));
        initial_fields_.emplace_back(grid_->interior().cells());
        std::copy(values_.back().begin(), values_.back().end(), initial_fields_.back().data());
        break;
    }
  }
  stepper_->parameters_changed(*tables_, false);
}

LeastMemory Simulation::least_memory() const {
  const Model& model = spec_.model;
  const bool differentiates = wants_.adjoint || wants_.tangent;
  const auto active = static_cast<std::int64_t>(active_.parameter_fields.size());
  LeastMemory least;
  least.states = pool_states(0) + stepper_->working_states() + (differentiates ? 2 : 0);
  least.state_fields = static_cast<std::int64_t>(model.fields.size());
  least.other_fields = static_cast<std::int64_t>(model.parameter_fields.size() + model.graph->noises().size()) +
                       2 * active + 1;  // and the ones
  return least;
}

Simulation::~Simulation() {
  // Buffers go back to their pools before these are destroyed.
  lambda_.reset();
  lambda_next_.reset();
  last_good_.reset();
  checkpoints_.reset();
}

void Simulation::build_parameters() {
  const Model& model = spec_.model;
  Graph& graph = *model.graph;
  Symbols& s = *symbols_;
  for (const ParameterField& p : spec_.parameter_fields) {
    s.field_kernel.push_back(-1);
    if (!p.expression.is_valid()) continue;
    s.field_kernel.back() = 1 + static_cast<int>(s.fields.size());
    s.fields.push_back({fmt::format("parameter_field{}", s.fields.size()), {{p.name, p.expression}}, {}});
  }
  std::vector<Expr> free, multipliers;
  for (std::size_t f = 0; f < model.fields.size(); ++f) {
    s.initial.outputs.push_back({StageNames::stage(model.fields[f], 1), spec_.initial[f]});
    const bool unknown = std::any_of(spec_.unknowns.begin(), spec_.unknowns.end(), [&](const Unknown& u) {
      return u.kind == Kind::initial && u.name == model.fields[f];
    });
    free.push_back(unknown ? graph.constant(0.0) : spec_.initial[f]);
    multipliers.push_back(graph.field(StageNames::lambda(model.fields[f])));
  }
  const Adjoint own = adjoint(free, multipliers, active_.parameter_fields, active_.scalars);
  for (std::size_t p = 0; p < active_.scalars.size(); ++p)
    if (!own.scalars[p].is_constant(0.0)) s.adjoint.sums.push_back({static_cast<int>(p), own.scalars[p]});
  for (std::size_t k = 0; k < active_.parameter_fields.size(); ++k) {
    const std::string bar = StageNames::bar(active_.parameter_fields[k]);
    if (!own.fields[k].is_constant(0.0)) s.adjoint.outputs.push_back({bar, graph.field(bar) + own.fields[k]});
  }
  std::vector<Seed> seeds;
  for (const std::string& name : active_.scalars) seeds.push_back({false, name, StageNames::dot(name)});
  for (const std::string& name : active_.parameter_fields) seeds.push_back({true, name, StageNames::dot(name)});
  const std::vector<Expr> dots = hindsight::tangent(free, seeds);
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    s.tangent.outputs.push_back({StageNames::dot(StageNames::stage(model.fields[f], 1)), dots[f]});
  s.initial = fused(s.initial);
  s.adjoint = fused(s.adjoint);
  s.tangent = fused(s.tangent);
}

/// Its owned cells, by the host, from an expression or a function.
void Simulation::fill_parameter_field(std::size_t i) {
  const int symbol = symbols_->parameter_fields[i], kernel = symbols_->field_kernel[i];
  const Tables& tables = host_side_ ? host_side_->tables : *tables_;
  double* const cells = tables.field(symbol);
  if (kernel >= 0) {
    tables.launch(first_library_[static_cast<std::size_t>(kernel)], grid_->interior());
  } else {
    spec_.parameter_fields[i].fill(tables.grid(), cells);
  }
  const Layout& layout = grid_->layout();
  if (host_side_) machine().copy(tables_->field(symbol) - layout.origin, cells - layout.origin, layout.size);
}

void Simulation::exchange_parameter_field(int symbol) {
  if (!parameter_exchange_) return;
  const std::vector<double*> cells{tables_->field(symbol)};
  parameter_exchange_->start(cells, mirror_walls_);
  parameter_exchange_->finish(cells, mirror_walls_);
}

std::vector<double> Simulation::unpadded(const double* cell) const {
  std::vector<double> values(static_cast<std::size_t>(grid_->interior().cells()));
  pack_cells(*grid_, cell, values.data());
  return values;
}

void Simulation::padded(const std::vector<double>& values, double* cell) const {
  unpack_cells(*grid_, values.data(), cell);
}

const double* Simulation::parameter_field(std::size_t i) const {
  return tables_->field(symbols_->parameter_fields[i]);
}

void Simulation::set_values(const UnknownValues& values) {
  const Model& model = spec_.model;
  values_ = values;
  std::size_t initial = 0;
  for (std::size_t i = 0; i < spec_.unknowns.size(); ++i) {
    const Unknown& u = spec_.unknowns[i];
    switch (u.kind) {
      case Kind::scalar:
        if (const int symbol = model.graph->scalar_index(u.name); symbol >= 0) tables_->scalar(symbol) = values[i][0];
        break;
      case Kind::series: {
        const std::size_t q = index_of(model.series, u.name);
        spec_.series[q].values = values[i];
        stepper_->set_series(q, values[i]);
        objective_->set_series(q, values[i]);
        if (stop_) stop_->set_series(q, values[i]);
        break;
      }
      case Kind::field: {
        const int symbol = symbols_->parameter_fields[index_of(model.parameter_fields, u.name)];
        padded(values[i], tables_->field(symbol));
        exchange_parameter_field(symbol);
        break;
      }
      case Kind::initial:
        std::copy(values[i].begin(), values[i].end(), initial_fields_[initial++].data());
        break;
    }
  }
  stepper_->parameters_changed(*tables_, false);
}

std::int64_t Simulation::state_bytes() const {
  return state_doubles(*grid_, spec_.model.fields.size()) * static_cast<std::int64_t>(sizeof(double));
}
std::int64_t Simulation::record_bytes() const {
  return state_bytes() * (1 + stepper_->record_states());
}
StateShape Simulation::shape() const {
  const Layout& layout = grid_->layout();
  return {static_cast<std::int64_t>(spec_.model.fields.size()),
          grid_->cells(),
          layout.origin,
          layout.stride_y,
          layout.stride_z,
          layout.field_stride};
}

/// All that is in use but for states, and what gradients and tangents will add, if only for a moment.
std::int64_t Simulation::working_bytes(Tier tier) const {
  std::int64_t bytes = tier == Tier::host ? memory_->used() : 0;
  if (tier == memory_tier()) {
    const std::int64_t doubles = state_bytes() / static_cast<std::int64_t>(sizeof(double));
    if (machine().account()) bytes = machine().account()->used();
    bytes += Memory::bytes_of(pool_states(0) * doubles) - states_->bytes();
    if (tier == Tier::host) bytes += Pool::table_bytes * (pool_states(0) - state_count_);
    if (wants_.tangent) bytes += Memory::bytes_of(2 * doubles);
  }
  if (tier != Tier::host) return bytes + Memory::most_stagger;
  std::int64_t passing = std::max(grid_sum_bytes(*grid_), symbols_->bars.empty() ? 0 : cells_bytes());
  const Layout& layout = grid_->layout();
  for (std::size_t a = 0; a < 3 && !machine().is_host() && !spec_.model.walls.empty(); ++a)  // a wall's sums
    passing = std::max(passing, layout.size / (grid_->cells()[a] + 2 * layout.halo[a]) * std::int64_t{sizeof(double)});
  passing = std::max(passing, objective_->passing_bytes());
  return bytes + passing + Memory::most_stagger;  // of a pool that becomes large
}

/// Buffers of the pool: the states at work, one record's stages, and `units` of checkpoints.
std::int64_t Simulation::pool_states(std::int64_t units) const {
  return live_states + (wants_.adjoint || wants_.tangent ? stepper_->record_states() : 0) + units;
}

/// Never shrinks to less than what steps need.
void Simulation::reserve(std::int64_t units) {
  const std::int64_t count = pool_states(units);
  last_good_.reset();
  if (state_count_ == count || (units == 0 && state_count_ > count)) return;
  checkpoints_.reset();
  make_pool(count);
}

void Simulation::make_pool(std::int64_t count) {
  const CountMemory counted(memory_);
  states_.reset();
  states_ = std::make_unique<Pool>(count, state_doubles(*grid_, spec_.model.fields.size()), machine());
  state_count_ = count;
}

void Simulation::reserve_adjoints() {
  if (!lambda_) lambda_ = adjoint_pool_->acquire();
  if (!lambda_next_) lambda_next_ = adjoint_pool_->acquire();
}

double* const* Simulation::stages_of(const StepRecord& record) {
  if (!record.stages) return nullptr;
  record.stages.data(stages_.data());
  return stages_.data();
}

Buffer Simulation::initial_state() {
  Buffer state = states_->acquire();
  tables_->bind_state(symbols_->first, state.data());
  if (host_side_) {
    const Layout& layout = grid_->layout();
    Tables& tables = host_side_->tables;
    for (const std::string& name : spec_.model.scalars)
      if (const int symbol = spec_.model.graph->scalar_index(name); symbol >= 0)
        tables.scalar(symbol) = tables_->scalar(symbol);
    for (const int symbol : symbols_->parameter_fields)
      machine().copy(tables.field(symbol) - layout.origin, tables_->field(symbol) - layout.origin, layout.size);
    tables.bind_state(symbols_->first, host_side_->state.data());
    tables.launch(first_library_[0], grid_->interior());
    machine().copy(state.data(), host_side_->state.data(), host_side_->state.size());
  } else {
    tables_->launch(first_library_[0], grid_->interior());
  }
  std::size_t initial = 0;
  for (const Unknown& u : spec_.unknowns) {
    if (u.kind != Kind::initial || initial >= initial_fields_.size()) continue;
    unpack_cells(*grid_, initial_fields_[initial++].data(),
                 tables_->field(symbols_->first[index_of(spec_.model.fields, u.name)]));
  }
  return state;
}

/// Decides what follows state k: the next step, or the end.
void Simulation::reach(std::int64_t k, const Buffer& state) {
  if (has_fixed_end_) return;
  time_->reach(k, {*grid_, state.data()});
  if (!stop_ || k == 0) return;
  const CountMemory counted(memory_);
  tables_->bind_state(symbols_->objective, state.data());
  if (stop_->is_met(time_->moment(k))) time_->end_at(k);
}

void Simulation::observe(std::int64_t k, const Buffer& state) {
  reach(k, state);
  if (k % finite_check_interval == 0 || k == time_->steps()) check_finite(k, state);
  if (objective_->may_count_at(k, *time_))
    objective_->observe(time_->moment(k), [&] { tables_->bind_state(symbols_->objective, state.data()); });
  if (observer_ != nullptr && *observer_) (*observer_)(k, time_->time(k), state.data());
}

/// On a device, where launches take long beside what they do and no messages come between them.
bool Simulation::gains_by_batches() const {
  constexpr std::int64_t small = 1 << 18;  // values of a state: a device has them written in a launch's time
  const bool is_whole = grid_->communicator().size() == 1 || grid_->dimensions() == 0;
  return !machine().is_host() && is_whole && shape().doubles() < small;
}

template <class Work>
void Simulation::batched(Work work) {
  if (!is_batched_) return work();
  machine().batch(work);
}

Buffer Simulation::advance(std::int64_t k, const Buffer& state, bool first) {
  if (first && k == 0) observe(0, state);
  Buffer next = states_->acquire();
  batched([&] { stepper_->step(*tables_, time_->step(k), state.data(), next.data()); });
  if (first) observe(k + 1, next);
  return next;
}

Buffer Simulation::record(std::int64_t k, const Buffer& state, bool first, bool wanted, StepRecord& record) {
  if (first && k == 0) observe(0, state);
  Buffer next = first || wanted ? states_->acquire() : Buffer();
  record.reset();  // before the next is taken
  record.base = state;
  if (!stages_.empty()) record.stages = states_->acquire(static_cast<int>(stages_.size()));
  batched([&] {
    stepper_->record(*tables_, time_->step(k), state.data(), next ? next.data() : nullptr, stages_of(record));
  });
  if (first) observe(k + 1, next);
  return next;
}

/// Symbols of the derivatives with respect to the active parameter fields.
const std::vector<int>& Simulation::gradient_fields() const {
  return symbols_->bars;
}

/// Runs work that adds to the adjoint.
template <class Work>
void Simulation::contribute(const char* part, Work work) {
  if (broken_ && broken_->what == part) return contribute_broken(work);
  work();
}

/// Runs work that adds to sums of the adjoint on the host.
template <class Work>
void Simulation::contribute(const char* part, Sums& sums, Work work) {
  const Sums before = broken_ ? sums : Sums();
  work();
  if (broken_ && broken_->what == part) broken_->scale_increments(before, sums);
}

void Simulation::add_objective_adjoint(std::int64_t k, double* state) {
  if (!objective_->may_count_at(k, *time_)) return;
  const auto bind = [&] {
    tables_->bind_state(symbols_->objective, state);
    tables_->bind_state(symbols_->lambda, lambda_.data());
  };
  objective_->add_adjoint(time_->moment(k), bind, [&](const char* kind, const auto& work) { contribute(kind, work); });
}

void Simulation::turn(std::int64_t steps, const Buffer& last) {
  machine().clear(lambda_.data(), state_doubles(*grid_, spec_.model.fields.size()));
  add_objective_adjoint(steps, last.data());
}

void Simulation::reverse(std::int64_t k, const StepRecord& record) {
  batched([&] {
    contribute("steps", [&] {
      stepper_->reverse(*tables_, time_->step(k), record.base.data(), stages_of(record), lambda_.data(),
                        lambda_next_.data());
      std::swap(lambda_, lambda_next_);
    });
    add_objective_adjoint(k, record.base.data());
  });
}

void Simulation::reset_sums() {
  for (Memory& m : scalar_sums_) m.clear();
  for (Memory& m : series_sums_) m.clear();
  const CountMemory counted(memory_);
  const CountedVector<double> zeros(symbols_->bars.empty() ? 0 : static_cast<std::size_t>(grid_->interior().cells()));
  for (const int bar : symbols_->bars) unpack_cells(*grid_, zeros.data(), tables_->field(bar));
  objective_->reset();
  stepper_->clear_sums();
  last_good_.reset();
  if (!has_fixed_end_) time_->reopen();
}

namespace {

/// Sets an observer for as long as it lives.
class Observed {
 public:
  Observed(const StateObserver*& place, const StateObserver& observer) : place_(place) { place_ = &observer; }
  ~Observed() { place_ = nullptr; }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

 private:
  const StateObserver*& place_;
};

}  // namespace

double Simulation::run(const SweepOptions& options) {
  const Observed observed(observer_, options.observer);
  reset_sums();
  Buffer state;
  std::int64_t k = 0;
  if (options.kept != nullptr) {
    k = options.kept->get<std::int64_t>();
    restore(*options.kept, false);
    state = restore_state(*options.kept, k);
    options.keeper->resumed();
  } else {
    state = initial_state();
  }
  for (; k < time_->steps(); ++k) {
    if (options.keeper != nullptr && options.keeper->is_due())
      options.keeper->keep([&](BlockWriter& to) {
        to.archive().write(k);
        save(to, false);
        save_state(to, state);
      });
    state = advance(k, state, true);
    if (options.progress) options.progress(k + 1, 0);
  }
  last_good_.reset();
  const CountMemory counted(memory_);
  return objective_->value();
}

void Simulation::save_observed(BlockWriter& to) const {
  time_->save(to);
  objective_->save_observed(to);
}

void Simulation::restore_observed(BlockReader& from) {
  time_->restore(from);
  objective_->restore_observed(from);
}

void Simulation::save(BlockWriter& to, bool turned) const {
  to.archive().begin("sums");
  time_->save(to);
  objective_->save(to);
  to.archive().end();
  if (!turned) return;
  to.archive().begin("adjoint");
  for (const Memory& rows : scalar_sums_) to.rows(rows.data());
  for (const Memory& sums : series_sums_) to.rows(sums.data(), sums.size() / grid_->local_rows());
  for (const int bar : symbols_->bars) to.cells(tables_->field(bar));
  stepper_->save_sums(to);
  save_state(to, lambda_);
  to.archive().end();
}

void Simulation::restore(BlockReader& from, bool turned) {
  from.begin("sums");
  time_->restore(from);
  objective_->restore(from);
  from.end();
  if (!turned) return;
  from.begin("adjoint");
  for (Memory& rows : scalar_sums_) from.rows(rows.data());
  for (Memory& sums : series_sums_) from.rows(sums.data(), sums.size() / grid_->local_rows());
  for (const int bar : symbols_->bars) from.cells(tables_->field(bar));
  stepper_->restore_sums(from);
  read_cells(from, lambda_.data());
  from.end();
}

void Simulation::write_cells(BlockWriter& to, const double* state) const {
  const Layout& layout = grid_->layout();
  for (std::size_t f = 0; f < spec_.model.fields.size(); ++f)
    to.cells(state + layout.origin + layout.field_stride * static_cast<std::int64_t>(f));
}

void Simulation::read_cells(BlockReader& from, double* state) const {
  const Layout& layout = grid_->layout();
  for (std::size_t f = 0; f < spec_.model.fields.size(); ++f)
    from.cells(state + layout.origin + layout.field_stride * static_cast<std::int64_t>(f));
}

void Simulation::save_state(BlockWriter& to, const Buffer& state) const {
  write_cells(to, state.data());
}

Buffer Simulation::restore_state(BlockReader& from, std::int64_t k) {
  Buffer state = states_->acquire();
  read_cells(from, state.data());
  if (k >= 0) last_good_ = state;
  last_good_step_ = k;
  return state;
}

namespace {

/// The states that records hold.
std::vector<double*> buffers_of(std::span<const StepRecord> records, std::size_t stages) {
  std::vector<double*> all;
  for (const StepRecord& record : records) {
    if (record.base) all.push_back(record.base.data());
    if (!record.stages) continue;
    all.resize(all.size() + stages);
    record.stages.data(all.data() + all.size() - stages);
  }
  return all;
}

/// Of arrays of `length` doubles each, one behind the other, what lies in [begin, end): visit(array, from, doubles).
template <class Visit>
void visit_arrays(std::int64_t begin, std::int64_t end, std::int64_t length, Visit visit) {
  for (std::int64_t at = begin, next = 0; at < end; at = next) {
    next = std::min(end, (at / length + 1) * length);
    visit(static_cast<std::size_t>(at / length), at % length, next - at);
  }
}

constexpr std::int64_t piece_of_records = 8192;  // doubles that an epoch is given at once

}  // namespace

/// With the ghosts, which the step that made a record has filled and its reversal reads.
void Simulation::save_records(const KeepPiece& keep, std::span<const StepRecord> records) const {
  const std::int64_t length = state_doubles(*grid_, spec_.model.fields.size());
  const std::vector<double*> buffers = buffers_of(records, stages_.size());
  const std::int64_t all = length * std::ssize(buffers);
  for (std::int64_t begin = 0; begin == 0 || begin < all; begin += piece_of_records)
    keep([&](BlockWriter& to) {
      for (const StepRecord& record : records) {
        if (begin > 0) break;  // the first piece says what there is
        to.archive().write(static_cast<bool>(record.base));
        to.archive().write(static_cast<bool>(record.stages));
      }
      visit_arrays(begin, std::min(all, begin + piece_of_records), length,
                   [&](std::size_t i, std::int64_t from, std::int64_t doubles) {
                     const HostView view(machine(), buffers[i] + from, doubles);
                     to.archive().write(std::span(view.data(), static_cast<std::size_t>(doubles)));
                   });
    });
}

void Simulation::restore_records(const ReadPiece& read, std::span<StepRecord> records) {
  const std::int64_t length = state_doubles(*grid_, spec_.model.fields.size());
  std::vector<double*> buffers;
  for (std::int64_t begin = 0, all = 0; begin == 0 || begin < all; begin += piece_of_records)
    read([&](BlockReader& from) {
      if (begin == 0) {
        for (StepRecord& record : records) {
          if (from.get<bool>()) record.base = states_->acquire();
          if (from.get<bool>()) record.stages = states_->acquire(static_cast<int>(stages_.size()));
        }
        buffers = buffers_of(records, stages_.size());
        all = length * std::ssize(buffers);
      }
      visit_arrays(begin, std::min(all, begin + piece_of_records), length,
                   [&](std::size_t i, std::int64_t to, std::int64_t doubles) {
                     const std::vector<double> values = from.all<std::vector<double>>().front();
                     if (std::ssize(values) != doubles)
                       throw ResourceError("a checkpoint in the file of checkpoints has another size");
                     machine().copy(buffers[i] + to, values.data(), doubles);
                   });
    });
}

/// Of the owned cells of a field without padding.
std::int64_t Simulation::cells_bytes() const {
  return grid_->interior().cells() * static_cast<std::int64_t>(sizeof(double));
}

std::int64_t Simulation::kept_bytes() const {
  const std::int64_t cells = cells_bytes();
  const auto fields = static_cast<std::int64_t>(spec_.model.fields.size() + symbols_->bars.size());
  std::int64_t sums = 0;
  for (const auto* all : {&scalar_sums_, &series_sums_})
    for (const Memory& m : *all) sums += m.bytes();
  sums += objective_->kept_bytes();
  return (2 * fields + 1) * cells + sums;
}

std::int64_t Simulation::gradient_bytes() const {
  std::size_t numbers = 0;
  for (const std::vector<double>& values : values_) numbers += values.size();
  return static_cast<std::int64_t>(numbers * sizeof(double));
}

void Simulation::reserve_checkpoints(std::int64_t units, const std::array<SlotTier*, tier_count>& tiers) {
  std::int64_t buffers = tiers[static_cast<std::size_t>(memory_tier())] == nullptr ? units : 0;
  for (const SlotTier* tier : tiers) buffers += tier != nullptr ? tier->buffers() : 0;
  comm_.together([&] { reserve(buffers); });
  const CountMemory counted(memory_);
  checkpoints_ = std::make_unique<Checkpoints>(memory_tier(), units, record_units(), *states_, tiers, comm_);
  reserve_adjoints();
}

void Simulation::free_checkpoints() {
  last_good_.reset();
  checkpoints_.reset();
  if (state_count_ != pool_states(0)) make_pool(pool_states(0));
}

GradientResult Simulation::gradient(const Schedule& schedule, bool is_online, const SweepOptions& options) {
  const Observed observed(observer_, options.observer);
  const CountMemory counted(memory_);
  reset_sums();
  GradientResult result;
  result.counts = drive(schedule, *this, *checkpoints_, {is_online, options.keeper, options.kept, options.progress});
  last_good_.reset();
  result.objective = objective_->value();
  result.gradient = collect_gradient();
  return result;
}

namespace {

using Clock = std::chrono::steady_clock;

/// Seconds of one call of `work`: the median of `repeats` batches of about `enough` seconds, of fewer where calls take
/// long. The first call, which touches memory for the first time, counts only where it takes so long that this does not
/// matter. Collective.
double seconds_of(const Communicator& comm, Machine& machine, int repeats, double enough,
                  const std::function<void()>& work) {
  const auto seconds_of_batch = [&](std::int64_t calls) {
    stop_if_asked(comm);
    machine.finish();
    const Clock::time_point begin = Clock::now();
    for (std::int64_t k = 0; k < calls; ++k) work();
    machine.finish();
    return comm.max(std::chrono::duration<double>(Clock::now() - begin).count());
  };
  constexpr double very_long = 0.5;
  constexpr std::int64_t largest = 1 << 20;
  if (const double first = seconds_of_batch(1); first > very_long) return first;
  std::int64_t batch = 1;
  double seconds = seconds_of_batch(batch);
  while (seconds < enough && batch < largest) {
    const double wanted = 1.2 * static_cast<double>(batch) * enough / std::max(seconds, 1e-9);
    batch = std::clamp(static_cast<std::int64_t>(std::min(wanted, 4.0 * largest)), batch + 1, 4 * batch);
    seconds = seconds_of_batch(batch);
  }
  const double most = std::max(0.1, 1.5 * enough * repeats);
  std::vector<double> samples{seconds / static_cast<double>(batch)};
  for (double all = seconds; static_cast<int>(samples.size()) < repeats && all < most; all += seconds) {
    seconds = seconds_of_batch(batch);
    samples.push_back(seconds / static_cast<double>(batch));
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

}  // namespace

StepSeconds Simulation::measure(int repeats, double batch, std::int64_t units) {
  const CountMemory counted(memory_);
  // As much as no cache holds, but no more steps than a few per cent of the run; the same on all ranks.
  constexpr std::int64_t cold = std::int64_t{96} << 20, most = 4096;
  units = std::min({units, cold / state_bytes(), most, std::max<std::int64_t>(8, time_->steps() / 20)});
  units = -comm_.max(-units);
  comm_.together([&] { reserve(units); });
  reserve_adjoints();
  StepSeconds seconds = measure_operations(repeats, batch, units);
  seconds.aside = measure_aside(seconds, repeats, batch, units);
  return seconds;
}

StepSeconds Simulation::measure_operations(int repeats, double batch, std::int64_t units) {
  const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  tables_->bind_state(symbols_->lambda, lambda_.data());
  const Buffer state = initial_state();
  machine().copy(lambda_.data(), state.data(), state_doubles(*grid_, spec_.model.fields.size()));
  StepRecord live;
  // Two steps in turn: random numbers that are there already would cost nothing.
  time_->reach(0, {*grid_, state.data()});
  const std::int64_t steps = std::min<std::int64_t>(2, time_->recorded());
  std::int64_t step = 0;
  const auto other = [&] { return step = (step + 1) % steps; };
  std::size_t next = 0;
  const auto turn = [&](const auto& ring) { return next = (next + 1) % ring.size(); };
  const auto reverse_one = [&](const StepRecord& record, std::int64_t k) {
    batched([&] {
      stepper_->reverse(*tables_, time_->step(k), record.base.data(), stages_of(record), lambda_.data(),
                        lambda_next_.data());
    });
  };
  const auto measured = [&](const std::function<void()>& work) {
    return seconds_of(comm_, machine(), repeats, batch, work);
  };

  StepSeconds seconds;
  seconds.forward = measured([&] { const Buffer end = advance(other(), state, false); });
  seconds.record_last = measured([&] { record(other(), state, false, false, live); });
  seconds.reverse = measured([&] { reverse_one(live, 0); });
  live = {};
  units = std::min(units, static_cast<std::int64_t>(std::min(1e9, 0.5 / seconds.forward)));
  CountedVector<StepRecord> records(count(units / record_units()));
  seconds.record = seconds.forward;
  seconds.reverse_kept = seconds.reverse;
  if (records.empty()) return seconds;  // nothing can be kept
  seconds.record = measured([&] { const Buffer end = record(other(), state, false, true, records[turn(records)]); });
  for (StepRecord& r : records) record(0, state, false, false, r);
  seconds.reverse_kept = measured([&] { reverse_one(records[turn(records)], other()); });
  CountedVector<StepRecord>().swap(records);  // = {} would keep the memory
  CountedVector<Buffer> states(count(units));
  seconds.save =
      std::max(0.0, measured([&] { states[turn(states)] = advance(other(), state, false); }) - seconds.forward);
  for (Buffer& s : states) s = advance(0, state, false);
  seconds.load = std::max(
      0.0, measured([&] { const Buffer end = advance(other(), states[turn(states)], false); }) - seconds.forward);
  return seconds;
}

/// By gradients over the first steps of the run, of two lengths, so that what comes once in a gradient does not count.
double Simulation::measure_aside(const StepSeconds& seconds, int repeats, double batch, std::int64_t units) {
  // These steps could be found to be the last ones; and a device would learn to expect what comes but once.
  if (stop_ || !time_->is_known() || !machine().is_host()) return 0.0;
  const double each = seconds.record + seconds.reverse_kept;
  const std::int64_t most = std::min(time_->steps(), units / record_units() + 1) / 3;
  const std::int64_t length = std::min(most, 1 + static_cast<std::int64_t>(std::min(1e6, batch / each)));
  const std::int64_t steps = -comm_.max(-length);
  if (steps < 1) return 0.0;
  Checkpoints checkpoints(memory_tier(), (3 * steps - 1) * record_units(), record_units(), *states_, {}, comm_);
  const auto seconds_over = [&](std::int64_t n) {
    ScheduleRequest request;
    request.steps = n;
    request.content = Content::record;
    request.record_units = record_units();
    request.capacities[memory_tier()] = (n - 1) * record_units();
    request.roles.memory = memory_tier();
    const Schedule schedule = make_schedule(schedule_kind("store-all"), request);
    const double taken = seconds_of(comm_, machine(), repeats, batch, [&] { drive(schedule, *this, checkpoints, {}); });
    last_good_.reset();
    return taken;
  };
  try {
    reset_sums();
    const double longer = seconds_over(3 * steps), shorter = seconds_over(steps);
    return std::max(-0.5 * each, (longer - shorter) / static_cast<double>(2 * steps) - each);
  } catch (const NumericsError&) {  // the run itself will say it
    return 0.0;
  }
}

TransferSeconds Simulation::measure(SlotTier& tier, std::int64_t slots) {
  comm_.together([&] { reserve(tier.buffers()); });
  // Of the steps' processor time; a device's steps take none.
  const double taken = machine().is_host() ? 1.0 - std::min(1.0, spare_cores(comm_)) : 0.0;
  const auto per_slot = [&](double seconds) { return comm_.max(seconds / static_cast<double>(slots)); };
  auto elapsed = [this, begin = Clock::now()]() mutable {
    machine().finish();
    const Clock::time_point before = std::exchange(begin, Clock::now());
    return std::chrono::duration<double>(begin - before).count();
  };
  tier.clear();
  Buffer state = initial_state();
  elapsed();
  for (std::int64_t i = 0; i < slots; ++i) {
    stop_if_asked(comm_);
    state = advance(0, state, false);
    tier.save(i, state, i);
  }
  tier.finish();
  TransferSeconds seconds;
  // At most what its thread was busy: where that is less than a step, transfers wait for steps.
  seconds.write = per_slot(std::min(elapsed(), tier.traffic().write_busy));
  seconds.write_delay = taken * per_slot(tier.traffic().write_cpu);
  for (std::int64_t i = 0, next = 0; i < slots; ++i) {
    stop_if_asked(comm_);
    while (next < slots && tier.prefetch(next, *states_)) ++next;
    next = std::max(next, i + 1);
    state.reset();
    state = tier.load(i, *states_);
    if (comm_.any(!state)) state = initial_state();
    state = advance(0, state, false);
    tier.release(i);
  }
  seconds.read = per_slot(std::min(elapsed(), tier.traffic().read_busy));
  seconds.read_delay = taken * per_slot(tier.traffic().read_cpu);
  tier.clear();
  return seconds;
}

void Simulation::walk(const std::function<bool(std::int64_t k, const double* state)>& visit) {
  Buffer state = initial_state();
  time_->reopen();
  for (std::int64_t k = 0; visit(k, state.data()) && k < time_->steps(); ++k) {
    time_->reach(k, {*grid_, state.data()});
    state = advance(k, state, false);
  }
}

/// Derivatives with respect to the active scalars and the knots of the active series.
Simulation::Sums Simulation::add_up() {
  Sums sums;
  for (const Memory& rows : scalar_sums_) sums.scalars.push_back(grid_sum(*grid_, rows.data()));
  for (const Memory& rows : series_sums_) {
    sums.knots.emplace_back();
    for (std::int64_t k = 0; k < rows.size() / grid_->local_rows(); ++k)
      sums.knots.back().push_back(grid_sum(*grid_, rows.data() + k * grid_->local_rows()));
  }
  contribute("walls", sums, [&] { stepper_->add_sums(sums.scalars, sums.knots); });
  for (const auto& term : objective_->terms())
    contribute(term->kind(), sums, [&] { term->add_sums(sums.scalars, sums.knots); });
  return sums;
}

UnknownValues Simulation::collect_gradient() {
  const CountMemory counted(memory_);
  const Model& model = spec_.model;
  tables_->bind_state(symbols_->lambda, lambda_.data());
  contribute("initial", [&] {
    if (symbols_->adjoint_kernel >= 0)
      tables_->launch(initial_library_[static_cast<std::size_t>(symbols_->adjoint_kernel)], grid_->interior());
  });
  const Sums sums = add_up();
  UnknownValues gradient;
  for (const Unknown& u : spec_.unknowns) {
    switch (u.kind) {
      case Kind::scalar:
        gradient.push_back({sums.scalars[index_of(active_.scalars, u.name)]});
        break;
      case Kind::series:
        gradient.push_back(sums.knots[index_of(active_.series, u.name)]);
        break;
      case Kind::field:
        gradient.push_back(unpadded(tables_->field(symbols_->bars[index_of(active_.parameter_fields, u.name)])));
        break;
      case Kind::initial:
        gradient.push_back(unpadded(tables_->field(symbols_->lambda[index_of(model.fields, u.name)])));
        break;
    }
    if (broken_) break_unknown(u, gradient.back());
  }
  require_finite(gradient);
  return gradient;
}

void Simulation::require_finite(const UnknownValues& gradient) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const bool is_finite =
        std::all_of(gradient[i].begin(), gradient[i].end(), [](double g) { return std::isfinite(g); });
    if (comm_.any(!is_finite)) names.push_back("'" + spec_.unknowns[i].label() + "'");
  }
  if (names.empty()) return;
  throw NumericsError("the gradient is not finite in " + join(names) +
                      ": at these values the objective has no derivative, as sqrt(x) has none at x = 0, or one that is "
                      "too large for a number");
}

void Simulation::set_directions(const UnknownValues& direction) {
  const Model& model = spec_.model;
  Graph& graph = *model.graph;
  std::vector<Series> series;
  for (std::size_t i = 0; i < spec_.unknowns.size(); ++i) {
    const Unknown& u = spec_.unknowns[i];
    if (u.kind == Kind::scalar) {
      if (const int symbol = graph.scalar_index(StageNames::dot(u.name)); symbol >= 0)
        tables_->scalar(symbol) = direction[i][0];
    } else if (u.kind == Kind::series) {
      Series own = spec_.series[index_of(model.series, u.name)];
      own.values = direction[i];
      series.push_back(own);
    } else if (u.kind == Kind::field) {
      const int symbol = symbols_->dot_parameter_fields[index_of(active_.parameter_fields, u.name)];
      padded(direction[i], tables_->field(symbol));
      exchange_parameter_field(symbol);
    }
  }
  series_directions_ = series;
  stepper_->set_series_directions(series);
}

void Simulation::initial_tangent(const UnknownValues& direction, double* state) {
  machine().clear(state, state_doubles(*grid_, spec_.model.fields.size()));
  tables_->bind_state(symbols_->dot_first, state);
  if (symbols_->tangent_kernel >= 0)
    tables_->launch(initial_library_[static_cast<std::size_t>(symbols_->tangent_kernel)], grid_->interior());
  for (std::size_t i = 0; i < spec_.unknowns.size(); ++i)
    if (spec_.unknowns[i].kind == Kind::initial)
      padded(direction[i], tables_->field(symbols_->dot_first[index_of(spec_.model.fields, spec_.unknowns[i].name)]));
}

std::pair<double, double> Simulation::tangent(const UnknownValues& direction, const SweepOptions& options) {
  reserve(0);
  const CountMemory counted(memory_);
  reset_sums();
  set_directions(direction);
  stepper_->parameters_changed(*tables_, true);
  Pool dots(2, state_doubles(*grid_, spec_.model.fields.size()), machine());
  Buffer state, dot = dots.acquire();
  std::int64_t k = 0;
  if (options.kept != nullptr) {
    k = options.kept->get<std::int64_t>();
    restore(*options.kept, false);
    state = restore_state(*options.kept, k);
    read_cells(*options.kept, dot.data());
    options.keeper->resumed();
  } else {
    state = initial_state();
    initial_tangent(direction, dot.data());
  }
  const auto differentiate = [&](std::int64_t at) {
    tables_->bind_state(symbols_->objective, state.data());
    tables_->bind_state(symbols_->dot_objective, dot.data());
    for (const Series& s : series_directions_)
      if (const int symbol = spec_.model.graph->scalar_index(StageNames::dot(StageNames::stage(s.name, 0)));
          symbol >= 0)
        tables_->scalar(symbol) = s.at(time_->time(at));
    objective_->tangent(time_->moment(at));
  };
  for (; k < time_->steps(); ++k) {
    if (options.keeper != nullptr && options.keeper->is_due())
      options.keeper->keep([&](BlockWriter& to) {
        to.archive().write(k);
        save(to, false);
        save_state(to, state);
        save_state(to, dot);
      });
    StepRecord record;
    Buffer next = this->record(k, state, true, true, record);
    differentiate(k);
    Buffer next_dot = dots.acquire();
    batched([&] {
      stepper_->tangent(*tables_, time_->step(k), record.base.data(), stages_of(record), dot.data(), next_dot.data());
    });
    state = next;
    dot = next_dot;
  }
  differentiate(time_->steps());
  const double derivative = objective_->tangent_value();
  last_good_.reset();
  return {objective_->value(), derivative};
}

std::vector<const KernelLibrary*> Simulation::libraries() const {
  std::vector<const KernelLibrary*> all = stepper_->libraries();
  const auto add = [&](const std::vector<const KernelLibrary*>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  add(objective_->libraries());
  if (stop_) add(stop_->libraries());
  all.push_back(&first_library_);
  all.push_back(&initial_library_);
  std::erase_if(all, [](const KernelLibrary* library) { return library->specs().empty(); });
  return all;
}

/// Local cell (0,0,0) of each field of a state.
const std::vector<double*>& Simulation::fields_of(const Buffer& state) {
  fields_.resize(spec_.model.fields.size());
  for (std::size_t f = 0; f < fields_.size(); ++f)
    fields_[f] = state.data() + grid_->layout().origin + grid_->layout().field_stride * static_cast<std::int64_t>(f);
  return fields_;
}

void Simulation::check_finite(std::int64_t k, const Buffer& state) {
  const BadValue bad = find_bad_value(*grid_, fields_of(state));
  if (comm_.any(bad.field >= 0)) {
    if (k > 0) report_divergence(k);
    comm_.agree(DivergenceFinder(spec_, *stepper_, *grid_, *tables_).initial(bad),
                static_cast<int>(ExitCode::numerics));
  }
  last_good_ = state;
  last_good_step_ = k;
}

/// Repeats the steps since the last good state to say where it began.
void Simulation::report_divergence(std::int64_t k) {
  Buffer before = last_good_;
  for (std::int64_t step = last_good_step_; before && step < k; ++step) {
    Buffer next = states_->acquire();
    stepper_->step(*tables_, time_->step(step), before.data(), next.data());
    const BadValue bad = find_bad_value(*grid_, fields_of(next));
    if (comm_.any(bad.field >= 0)) {
      const DivergenceFinder finder(spec_, *stepper_, *grid_, *tables_);
      comm_.agree(finder.step(time_->step(step), before.data(), time_->time(step + 1), bad),
                  static_cast<int>(ExitCode::numerics));
    }
    before = next;
  }
  throw NumericsError("diverged: the state is not finite at step " + std::to_string(k));
}

}  // namespace hindsight

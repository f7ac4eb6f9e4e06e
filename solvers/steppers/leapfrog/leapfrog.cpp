#include "solvers/steppers/leapfrog/leapfrog.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/error.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/steppers/leapfrog/leapfrog_kernels.hpp"
#include "solvers/steppers/leapfrog/leapfrog_walk.hpp"
#include "solvers/steppers/leapfrog/matched_layers.hpp"
#include "solvers/steppers/reads.hpp"

namespace hindsight {
namespace {

constexpr std::array both{LeapfrogStep::later, LeapfrogStep::first};  // in the order of their evaluations

}  // namespace

struct Leapfrog::Parts {
  Parts(const Model& model, const Active& active, Wants wants);

  /// One kind of step.
  struct Kind {
    LevelSymbols state, direction;
    EvaluationTime time;
  };
  Kind& kind(StepTime step) { return kinds[step.index == 0 ? 1 : 0]; }
  DifferentiatedKernel& kernel(StepTime step) { return kernels.kernels()[step.index == 0 ? 1 : 0]; }

  PointSources sources;
  LeapfrogKernels scheme;
  KernelSet kernels;
  MatchedLayers layers;
  SeriesData series;
  std::vector<Kind> kinds;  // as in `both`
  bool time_dependent_walls, time_dependent;
  bool one_by_one;  // what kernels read, beside states and sources, changes from step to step
  int is_first;     // symbol of LeapfrogKernels::is_first()
  int h, length;    // symbols: of the step, as a factor and as a value; -1: nobody reads it
  LevelSymbols next, dot_next, lambda, lambda_next;
  KernelSpec frequency{"frequency", {}, {}};  // without outputs where it is not known
  int frequency_array = -1;
  KernelLibrary frequency_library;
  std::optional<double> largest_step;    // with the present parameters
  std::optional<LeapfrogWalk> in_place;  // on hosts
};

Leapfrog::Parts::Parts(const Model& model, const Active& active, Wants wants)
    : sources(model, active),
      scheme(model, active, sources),
      kernels(model, active, ""),
      layers(model, active, scheme, {wants.adjoint, wants.tangent}),
      series(model, active),
      time_dependent_walls(depends_on_time(model, wall_values(model))),
      time_dependent(time_dependent_walls || depends_on_time(model, model.right_hand_sides) ||
                     depends_on_time(model, model.damping)) {
  for (const LeapfrogStep which : both) kernels.add(scheme.request(which));
  kernels.derive({wants.adjoint, wants.tangent});
  Graph& graph = *model.graph;
  one_by_one = time_dependent || !noises_read(graph, {&kernels.kernels().front().value()}).empty();
  const auto symbol = [&](const std::string& array) { return int{graph.field(array).node().symbol}; };
  for (const LeapfrogStep which : both) {
    const int stage = static_cast<int>(which);
    kinds.push_back({{}, {}, EvaluationTime(model, active, stage, scheme.first_sum(which))});
    for (const std::string& field : model.fields) {
      const std::string now = StageNames::stage(field, stage), before = StageNames::before(now);
      kinds.back().state.now.push_back(symbol(now));
      kinds.back().state.before.push_back(symbol(before));
      kinds.back().direction.now.push_back(symbol(StageNames::dot(now)));
      kinds.back().direction.before.push_back(symbol(StageNames::dot(before)));
    }
  }
  for (const std::string& field : model.fields) {
    next.now.push_back(symbol(LeapfrogNames::next(field)));
    dot_next.now.push_back(symbol(StageNames::dot(LeapfrogNames::next(field))));
    lambda.now.push_back(symbol(StageNames::lambda(field)));
    lambda.before.push_back(symbol(LeapfrogNames::lambda_before(field)));
    lambda_next.now.push_back(symbol(LeapfrogNames::lambda_next(field)));
    lambda_next.before.push_back(symbol(LeapfrogNames::lambda_next_before(field)));
  }
  is_first = scheme.is_first().node().symbol;
  h = scheme.h().node().symbol;
  length = graph.scalar_index(step_length);
  if (const Expr squared = scheme.squared_frequency(); squared.is_valid()) {
    frequency_array = symbol("@frequency");
    frequency.outputs.push_back({"@frequency", squared});
    frequency = fused(frequency);
  }
}

Leapfrog::Leapfrog(const Model& model, const Active& active, Wants wants)
    : model_(model), active_(active), wants_(wants), parts_(std::make_unique<Parts>(model, active_, wants)) {}

Leapfrog::~Leapfrog() = default;

/// Where no derivative of a step reads the level before: nothing unknown, and no state, is in what damps.
bool Leapfrog::reverses_first_level() const {
  const DifferentiatedKernel& later = parts_->kernels.kernels().front();
  return !deepest(later.gather().all(), parts_->kinds.front().state.before).read;
}

bool Leapfrog::hands_on_adjoint(StepTime step) const {
  return step.index > 0 && !parts_->scheme.is_damped();
}

std::string Leapfrog::why_it_cannot_retreat() const {
  return parts_->scheme.is_damped() ? "its equations are damped, by dt(...) or by a sponge" : "";
}

std::array<int, 3> Leapfrog::halo() const {
  return deeper(parts_->kernels.halo(), parts_->layers.halo());
}

std::vector<WalkHalo> Leapfrog::halos_of_step() const {
  if (parts_->sources.are_any() || parts_->layers.are_any() || parts_->one_by_one) return {};
  return LeapfrogWalk::halos(parts_->kernels.kernels().front());
}

int Leapfrog::sums() const {
  return parts_->scheme.sums();
}

StateShape Leapfrog::state(const Grid& grid) const {
  StateShape shape = shape_of_fields(grid, model_.fields.size(), model_.graph->element());
  parts_->layers.add_arrays(shape, grid);
  return with_level_before(shape, model_.fields.size());
}

std::vector<Leapfrog::Described> Leapfrog::describe() const {
  std::vector<Described> all = parts_->kernels.describe();
  for (const Described& layer : parts_->layers.describe()) all.push_back(layer);
  return all;
}

std::string Leapfrog::describe_memory() const {
  std::string text = reverses_first_level()
                         ? "states: two levels; records: the first of them"
                         : "states and records: two levels, because derivatives of what damps read both";
  if (parts_->in_place && parts_->in_place->steps() > 1) text += "\n  steps: " + parts_->in_place->describe();
  return text;
}

/// Of several steps in one walk, a step's share. What layers and sources add, of few cells, is not counted.
std::optional<std::pair<int, int>> Leapfrog::traffic_of_step() const {
  auto [read, written] = traffic(parts_->kernels.kernels().front().value());
  const int at_once = parts_->in_place ? static_cast<int>(parts_->in_place->steps()) : 1;
  return std::pair((read + at_once - 1) / at_once, (written + at_once - 1) / at_once);
}

std::vector<const KernelLibrary*> Leapfrog::libraries() const {
  std::vector<const KernelLibrary*> all = parts_->kernels.libraries();
  for (const KernelLibrary* library : parts_->layers.libraries()) all.push_back(library);
  all.push_back(&parts_->frequency_library);
  return all;
}

std::vector<Stepper::Evaluation> Leapfrog::evaluations(StepTime time) const {
  return {{time.t, parts_->kind(time).state.now}};
}

void Leapfrog::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  Parts& p = *parts_;
  p.series.prepare(grid, series);
  p.sources.prepare(grid, tables, p.series, wants_.adjoint);
  p.kernels.prepare(grid, tables, p.series.knots(), KernelSet::Libraries::one_per_direction, longest_compiled,
                    &p.sources.rows());
  p.layers.prepare(state(grid), tables, p.series.knots());
  if (grid.machine().is_host())
    p.in_place.emplace(LeapfrogWalk::Parts{p.kernels.kernels().front(), p.sources, p.layers, p.series,
                                           p.kinds.front().state, p.next.now},
                       tables, p.one_by_one);
  if (p.frequency.outputs.empty()) return;
  grid.communicator().together([&] { tables.allocate({p.frequency_array}); });
  p.frequency_library = KernelLibrary({p.frequency}, boxes_of(grid.dimensions()), grid.communicator(), grid.machine());
}

void Leapfrog::parameters_changed(Tables& tables, bool with_tangent) {
  Parts& p = *parts_;
  p.largest_step.reset();
  if (p.time_dependent_walls) return;
  p.kernels.evaluate_walls(tables);
  if (with_tangent) p.kernels.evaluate_wall_tangents(tables);
}

/// h omega = 2 is the bound of stability for each frequency omega (Hairer, Lubich, Wanner 2003, 4.2).
double Leapfrog::largest_step(Tables& tables) {
  Parts& p = *parts_;
  if (p.frequency.outputs.empty()) return std::numeric_limits<double>::infinity();
  if (p.largest_step) return *p.largest_step;
  const Grid& grid = tables.grid();
  tables.launch(p.frequency_library[0], grid.interior());
  std::vector<double> cells(static_cast<std::size_t>(grid.interior().cells()));
  pack_cells(grid, tables.cells(p.frequency_array), cells.data());
  double highest = 0.0;
  for (const double squared : cells) highest = std::max(highest, squared);
  highest = std::sqrt(grid.communicator().max(highest));
  p.largest_step = highest > 0.0 ? 2.0 / highest : std::numeric_limits<double>::infinity();
  return *p.largest_step;
}

void Leapfrog::values_given(Tables& tables, double* state) {
  parts_->layers.find_speeds(tables, state);
}

bool Leapfrog::keeps_first_values() const {
  return parts_->layers.have_speeds_to_find();
}

void Leapfrog::begin(Tables& tables, StepTime, double* state) {
  parts_->layers.clear_memories(tables.grid(), state);
}

void Leapfrog::begin_tangent(Tables& tables, StepTime, double*, double* direction) {
  parts_->layers.clear_memories(tables.grid(), direction);
}

void Leapfrog::begin_step(Tables& tables, StepTime time, StateBlocks u) {
  Parts& p = *parts_;
  tables.scalar(p.h) = time.h;
  tables.scalar(p.is_first) = time.index == 0 ? 1.0 : 0.0;
  if (p.length >= 0) tables.scalar(p.length) = time.h;
  if (p.time_dependent) p.kind(time).time.set(tables, p.series, time.t);
  tables.bind_state(p.kind(time).state, u);
  if (!p.layers.are_any() || time.index > 0) return;
  if (p.time_dependent) p.kinds.front().time.set(tables, p.series, time.t);
  tables.bind_state(p.kinds.front().state, u);
}

void Leapfrog::set_sources(const SourcePoints& points) {
  parts_->sources.set_points(points);
  if (parts_->in_place) parts_->in_place->sources_changed();
}

void Leapfrog::step(Tables& tables, StepTime time, StateBlocks u, double* next) {
  step_without_layers(tables, time, u, next);
  parts_->layers.step(tables, u.now, next);
}

void Leapfrog::step_without_layers(Tables& tables, StepTime time, StateBlocks u, double* next) {
  Parts& p = *parts_;
  begin_step(tables, time, u);
  tables.fill_noise(p.kernels.noise(Direction::forward), time.index);
  if (p.time_dependent_walls) p.kernels.evaluate_walls(tables);
  p.sources.fill(tables, p.series, time.t);
  tables.bind_state(p.next, next);
  p.kernel(time).run_value(tables);
}

int Leapfrog::steps_in_place(StepTime time) const {
  return time.index > 0 && parts_->in_place ? static_cast<int>(parts_->in_place->steps()) : 0;
}

void Leapfrog::step_in_place(Tables& tables, std::span<const StepTime> times, StateBlocks u) {
  Parts& p = *parts_;
  begin_step(tables, times.front(), u);
  tables.fill_noise(p.kernels.noise(Direction::forward), times.front().index);
  if (p.time_dependent_walls) p.kernels.evaluate_walls(tables);
  p.in_place->run(tables, times, u);
}

void Leapfrog::retreat(Tables& tables, StepTime time, StateBlocks u, double* before) {
  step_without_layers(tables, time, {u.before, u.now}, before);
  parts_->layers.retreat(tables);
}

StateShape Leapfrog::left_behind(const Grid& grid) const {
  return parts_->layers.left_behind(grid);
}

void Leapfrog::prepare_left_behind(const Grid& grid) {
  parts_->layers.prepare_left_behind(grid);
}

void Leapfrog::leave_behind(double* memory) {
  parts_->layers.leave_behind(memory);
}

void Leapfrog::record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const*) {
  Parts& p = *parts_;
  begin_step(tables, time, u);
  tables.fill_noise(p.kernels.noise(Direction::forward), time.index);
  if (p.time_dependent_walls) p.kernels.evaluate_walls(tables);
  if (next == nullptr) return p.kernel(time).fill_recorded_ghosts(tables);
  p.sources.fill(tables, p.series, time.t);
  tables.bind_state(p.next, next);
  p.kernel(time).run_recorded(tables);
  p.layers.step(tables, u.now, next);
}

void Leapfrog::reverse(Tables& tables, StepTime time, StateBlocks u, double* const*, StateBlocks lambda,
                       StateBlocks lambda_next) {
  Parts& p = *parts_;
  begin_step(tables, time, u);
  tables.fill_noise(p.kernels.noise(Direction::reverse), time.index);
  if (!active_.series.empty()) p.kind(time).time.bind_knots(tables, p.series, time.t);
  tables.bind_state(p.lambda, lambda);
  tables.bind_state(p.lambda_next, lambda_next);
  if (p.scheme.differentiates_by_sources()) p.sources.fill(tables, p.series, time.t);
  p.kernels.run_gather(time.index == 0 ? 1 : 0, tables, p.kind(time).time.places());
  if (p.layers.are_any()) {
    EvaluationTime& of_layers = p.kinds.front().time;
    if (!active_.series.empty() && time.index == 0) of_layers.bind_knots(tables, p.series, time.t);
    p.layers.reverse(tables, u.now, lambda.now, lambda_next.now, of_layers.places());
  }
  if (!p.sources.are_any() || active_.series.empty()) return;
  p.kernel(time).run_source_adjoint(tables);
  p.sources.add_adjoint(tables, p.series, time.t);
}

void Leapfrog::tangent(Tables& tables, StepTime time, StateBlocks u, double* const*, StateBlocks du, double* dnext) {
  Parts& p = *parts_;
  begin_step(tables, time, u);
  tables.fill_noise(p.kernels.noise(Direction::tangent), time.index);
  if (!active_.series.empty()) p.kind(time).time.set_directions(tables, p.series, time.t);
  tables.bind_state(p.kind(time).direction, du);
  tables.bind_state(p.dot_next, dnext);
  if (p.time_dependent_walls) p.kernels.evaluate_wall_tangents(tables);
  if (p.scheme.differentiates_by_sources()) p.sources.fill(tables, p.series, time.t);
  p.sources.fill_directions(tables, p.series, time.t);
  p.kernel(time).run_tangent(tables);
  if (!p.layers.are_any()) return;
  if (time.index == 0) {
    tables.bind_state(p.kinds.front().direction, du);
    if (!active_.series.empty()) p.kinds.front().time.set_directions(tables, p.series, time.t);
  }
  p.layers.tangent(tables, u.now, du.now, dnext);
}

void Leapfrog::clear_sums() {
  parts_->kernels.clear_sums();
  parts_->layers.clear_sums();
  parts_->sources.clear_sums();
}

void Leapfrog::save_sums(BlockWriter& to) const {
  parts_->kernels.save_sums(to);
  parts_->layers.save_sums(to);
  parts_->sources.save_sums(to);
}

void Leapfrog::restore_sums(BlockReader& from) {
  parts_->kernels.restore_sums(from);
  parts_->layers.restore_sums(from);
  parts_->sources.restore_sums(from);
}

void Leapfrog::add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const {
  parts_->kernels.add_sums(scalars, knots);
  parts_->layers.add_sums(scalars, knots);
  parts_->sources.add_sums(knots);
}

void Leapfrog::bind_series_sums(std::size_t active_series, double* knots) {
  parts_->series.bind_sums(active_series, knots);
}

void Leapfrog::set_series(std::size_t series, const std::vector<double>& values) {
  parts_->series.set_values(series, values);
}

void Leapfrog::set_series_directions(std::vector<Series> directions) {
  parts_->series.set_directions(std::move(directions));
}

}  // namespace hindsight

#include "solvers/steppers/explicit/runge_kutta.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/rounding.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/explicit/error_estimate.hpp"
#include "solvers/steppers/explicit/runge_kutta_kernels.hpp"
#include "solvers/steppers/explicit/runge_kutta_walks.hpp"
#include "solvers/steppers/explicit/several_steps.hpp"
#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/steppers/reads.hpp"

namespace hindsight {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

struct RungeKutta::Parts {
  Parts(const Model& model, const Tableau& tableau, const Active& active, Wants wants);
  void name_arrays(const Model& model, int stages);
  std::vector<const KernelSpec*> values() {
    std::vector<const KernelSpec*> all;
    for (const DifferentiatedKernel& kernel : kernels.kernels()) all.push_back(&kernel.value());
    return all;
  }

  PointSources sources;
  RungeKuttaKernels scheme;
  KernelSet kernels;
  std::optional<ErrorEstimate> estimate;
  SeriesData series;
  std::vector<EvaluationTime> times;  // per stage
  bool time_dependent_walls, time_dependent;
  int h, length;  // symbols: of the step, as a factor and as a value; -1: nobody reads it
  std::vector<std::vector<int>> stage, dot_stage;  // symbols [stage][field]; the last entry is the new state
  std::vector<int> lambda, lambda_next;            // symbols
  std::vector<Memory> stage_memory, dot_memory;
  bool takes_spans = false;
  bool watches_stages = false;  // their inputs are looked at after a step
  std::int64_t state_doubles = 0;
  std::optional<RungeKuttaWalks> walks;  // once prepared
  std::optional<SeveralSteps> several;   // where steps differ in nothing but their states
};

RungeKutta::Parts::Parts(const Model& model, const Tableau& tableau, const Active& active, Wants wants)
    : sources(model, active),
      scheme(model, tableau, active, sources),
      kernels(model, active, ""),
      series(model, active),
      time_dependent_walls(depends_on_time(model, wall_values(model))),
      time_dependent(time_dependent_walls || depends_on_time(model, model.right_hand_sides)) {
  scheme.add_to(kernels);
  kernels.derive({wants.adjoint, wants.tangent});
  if (wants.tolerances && !tableau.error.empty()) estimate.emplace(model, active, scheme, *wants.tolerances);
  name_arrays(model, tableau.stages());
  h = scheme.h().node().symbol;
  length = model.graph->scalar_index(step_length);
  for (int i = 1; i <= tableau.stages(); ++i) times.emplace_back(model, active, i, scheme.first_sum(i));
  const bool are_alike = !time_dependent && !sources.are_any() && noises_read(*model.graph, values()).empty();
  if (model.dimensions == 2 && !scheme.is_pointwise() && are_alike && !estimate &&
      SeveralSteps::are_possible(tableau.stages()))
    several.emplace(model, stage);
}

RungeKutta::RungeKutta(const Model& model, Tableau tableau, const Active& active, Wants wants)
    : model_(model),
      tableau_(std::move(tableau)),
      active_(active),
      wants_(wants),
      parts_(std::make_unique<Parts>(model, tableau_, active_, wants)) {}

void RungeKutta::Parts::name_arrays(const Model& model, int stages) {
  Graph& graph = *model.graph;
  const auto field = [&](const std::string& name) { return int{graph.field(name).node().symbol}; };
  for (int i = 1; i <= stages + 1; ++i) {
    std::vector<int> own, dot;
    for (const std::string& name : model.fields) {
      const std::string array = i <= stages ? StageNames::stage(name, i) : RungeKuttaNames::next(name);
      own.push_back(field(array));
      dot.push_back(field(StageNames::dot(array)));
    }
    stage.push_back(own);
    dot_stage.push_back(dot);
  }
  for (const std::string& name : model.fields) {
    lambda.push_back(field(StageNames::lambda(name)));
    lambda_next.push_back(field(RungeKuttaNames::lambda_next(name)));
  }
}

RungeKutta::~RungeKutta() = default;

int RungeKutta::sums() const {
  return parts_->scheme.first_sum(stages() + 1);
}

int RungeKutta::record_states() const {
  return parts_->scheme.is_pointwise() ? 0 : stages() - 1;
}

bool RungeKutta::reverses_from_state() const {
  return parts_->walks->reversed.has_value();
}

bool RungeKutta::may_overwrite_adjoint() const {
  return parts_->walks->reversed && parts_->walks->reversed->may_overwrite();
}

std::int64_t RungeKutta::working_states() const {
  const std::int64_t inputs = record_states();
  return inputs * (1 + (wants_.tangent ? 1 : 0) + (keeps_slopes() ? 1 : 0));
}

bool RungeKutta::keeps_slopes() const {
  return !parts_->scheme.is_pointwise() && !parts_->scheme.eliminates_slopes();
}
bool RungeKutta::keeps_stage_adjoints() const {
  return !parts_->scheme.is_pointwise() && !parts_->scheme.eliminates_adjoints();
}

std::vector<RungeKutta::Described> RungeKutta::describe() const {
  std::vector<Described> all = parts_->kernels.describe();
  if (parts_->estimate) std::ranges::copy(parts_->estimate->describe(), std::back_inserter(all));
  return all;
}

std::string RungeKutta::describe_memory() const {
  const char* const slopes = keeps_slopes() ? "stored" : "not stored, recomputed from stage inputs";
  const char* const adjoints = keeps_stage_adjoints() ? "stored" : "not stored, recomputed from multipliers";
  std::string text = fmt::format("slopes: {}; stage adjoints: {}", slopes, adjoints);
  if (const auto& several = parts_->several; several && !several->describe().empty())
    text += fmt::format("\n  steps: {}", several->describe());
  if (parts_->walks->values) text += fmt::format("\n  a step: {}", parts_->walks->values->describe());
  if (const auto& launch = parts_->walks->on_device; launch && !launch->describe().empty())
    text += fmt::format("\n  a step: {}", launch->describe());
  if (parts_->walks->reversed)
    text += fmt::format("\n  a step reversed from its state alone: {}", parts_->walks->reversed->describe());
  return text;
}

std::optional<std::pair<int, int>> RungeKutta::traffic_of_step() const {
  std::vector<const KernelSpec*> all;
  std::set<int> within;
  std::pair<int, int> one_by_one{0, 0};
  for (const DifferentiatedKernel& kernel : parts_->kernels.kernels()) {
    const std::vector<int> handed_on = RungeKuttaWalks::handed_on(model_, parts_->stage, all.size(), false);
    all.push_back(&kernel.value());
    within.insert(handed_on.begin(), handed_on.end());
    const auto [read, written] = traffic(kernel.value());
    one_by_one = {one_by_one.first + read, one_by_one.second + written};
  }
  const RungeKuttaWalks& walks = *parts_->walks;
  if (walks.on_device && walks.on_device->is_chosen()) return traffic(all, within);
  if (const std::int64_t at_once = steps_through({}, most_at_once); at_once > 1) {
    const auto [read, written] = traffic(all, within);
    const auto share = [at_once](int bytes) {
      return static_cast<int>(rounded_up<std::int64_t>(bytes, at_once) / at_once);
    };
    return std::pair(share(read), share(written));
  }
  if (!walks.values) return one_by_one;
  return traffic(all, walks.values->keeps_rows() ? within : std::set<int>());
}

double RungeKutta::stage_time(StepTime time, int i) const {
  return time.at(tableau_.c[at(i)]);
}

std::vector<Stepper::Evaluation> RungeKutta::evaluations(StepTime time) const {
  std::vector<Evaluation> all;
  for (int i = 0; i < stages(); ++i) {
    all.push_back({stage_time(time, i), {}});
    if (!parts_->scheme.is_pointwise()) all.back().input = parts_->stage[at(i)];
  }
  return all;
}

std::vector<double> RungeKutta::input_at_cell(std::size_t i, StepTime time, const std::vector<double>& start,
                                              const std::vector<std::vector<double>>& slopes) const {
  std::vector<double> input = start;
  for (std::size_t j = 0; j < i; ++j)
    for (std::size_t f = 0; f < input.size(); ++f) input[f] += time.h * tableau_.a[i][j] * slopes[j][f];
  return input;
}

std::array<int, 3> RungeKutta::halo() const {
  const std::array<int, 3> halo = parts_->kernels.halo();
  return parts_->estimate ? deeper(halo, parts_->estimate->halo()) : halo;
}

std::vector<WalkHalo> RungeKutta::halos_of_step() const {
  const std::vector<DifferentiatedKernel>& kernels = parts_->kernels.kernels();
  const auto all = [&](auto is_walked) { return std::ranges::all_of(kernels, is_walked); };
  if (parts_->scheme.is_pointwise() || parts_->sources.are_any()) return {};
  std::vector<WalkHalo> halos{{parts_->kernels.halo_one_after_another(), kernels.size()}};
  if (parts_->several) std::ranges::copy(parts_->several->halos(parts_->kernels), std::back_inserter(halos));
  if (wants_.adjoint && kernels.size() > 1 &&
      all([](const DifferentiatedKernel& kernel) { return kernel.gathers_by_rows(); }))
    halos.push_back({parts_->kernels.halo_there_and_back(), RungeKuttaWalks::passes_there(kernels) + kernels.size()});
  const auto layers = [](const WalkHalo& halo) { return halo.layers[0] + halo.layers[1] + halo.layers[2]; };
  std::ranges::stable_sort(halos, std::ranges::greater(), layers);
  return halos;
}

std::array<int, 3> RungeKutta::halo_of_launch() const {
  Parts& p = *parts_;
  if (model_.dimensions != 2 || p.scheme.is_pointwise() || p.sources.are_any() || p.estimate) return {0, 0, 0};
  return DeviceWalk::layers(RungeKuttaWalks::stages_of_launch(model_, p.kernels, p.stage), p.stage.front());
}

bool RungeKutta::tries_ways(bool of_reversals) const {
  const RungeKuttaWalks& walks = *parts_->walks;
  if (of_reversals) return walks.reversed && walks.reversed->tries_ways();
  return (walks.values && walks.values->tries_ways()) || (walks.on_device && walks.on_device->tries_ways());
}

void RungeKutta::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  Parts& p = *parts_;
  p.series.prepare(grid, series);
  p.sources.prepare(grid, tables, p.series, wants_.adjoint);
  p.kernels.prepare(grid, tables, p.series.knots(), KernelSet::Libraries::one_per_direction, longest_compiled,
                    &p.sources.rows());
  if (p.estimate) p.estimate->prepare(grid, tables);
  allocate(grid, tables);
  p.walks.emplace(model_, active_, tables, p.kernels,
                  RungeKuttaWalks::Stages{p.stage, p.dot_stage, p.estimate.has_value()},
                  RungeKuttaWalks::Sources{p.sources, p.series});
  if (p.several) p.several->prepare(tables, p.kernels.kernels());
  p.takes_spans = p.kernels.kernels().front().repeats() && grid.dimensions() == 0 && !p.time_dependent &&
                  p.kernels.noise(Direction::forward).empty();
  p.state_doubles = state_doubles(grid, model_.fields.size(), model_.graph->element());
}

/// Arrays that kernels name and nobody else provides: slopes, stage adjoints; and the stages' inputs.
void RungeKutta::allocate(const Grid& grid, Tables& tables) {
  Parts& p = *parts_;
  const int s = stages();
  std::vector<int> scratch;
  for (const std::string& name : model_.fields)
    for (int i = 1; i < s; ++i) {
      const std::string slope = RungeKuttaNames::slope(name, i);
      for (const std::string& array :
           {slope, StageNames::dot(slope), RungeKuttaNames::mu(name, i), RungeKuttaNames::ybar(name, i + 1)})
        if (const int symbol = model_.graph->field_index(array); symbol >= 0) scratch.push_back(symbol);
    }
  grid.communicator().together([&] {
    tables.allocate(scratch);
    const std::int64_t state = state_doubles(grid, model_.fields.size(), model_.graph->element());
    for (int i = 0; i < record_states(); ++i) p.stage_memory.emplace_back(state, grid.machine());
    for (int i = 0; i < record_states() && wants_.tangent; ++i) p.dot_memory.emplace_back(state, grid.machine());
  });
}

std::vector<const KernelLibrary*> RungeKutta::libraries() const {
  std::vector<const KernelLibrary*> all = parts_->kernels.libraries();
  if (parts_->estimate) std::ranges::copy(parts_->estimate->libraries(), std::back_inserter(all));
  return all;
}

void RungeKutta::parameters_changed(Tables& tables, bool with_tangent) {
  Parts& p = *parts_;
  if (p.time_dependent_walls) return;
  p.kernels.evaluate_walls(tables);
  if (with_tangent) p.kernels.evaluate_wall_tangents(tables);
}

void RungeKutta::set_stage_scalars(Tables& tables, StepTime time) {
  Parts& p = *parts_;
  tables.scalar(p.h) = time.h;
  if (p.length >= 0) tables.scalar(p.length) = time.h;
  for (int i = 0; i < stages() && p.time_dependent; ++i) p.times[at(i)].set(tables, p.series, stage_time(time, i));
  for (int i = 0; i < stages() && p.sources.are_any(); ++i) p.walks->times[at(i)] = stage_time(time, i);
}

void RungeKutta::bind_stages(Tables& tables, double* u, double* const* stages) {
  const Parts& p = *parts_;
  tables.bind_state(p.stage.front(), u);
  for (int i = 1; i <= static_cast<int>(p.stage_memory.size()); ++i)
    tables.bind_state(p.stage[at(i)], stages ? stages[i - 1] : p.stage_memory[at(i - 1)].data());
}

void RungeKutta::set_sources(const SourcePoints& points) {
  parts_->sources.set_points(points);
}

void RungeKutta::fill_sources(Tables& tables, StepTime time, std::size_t stage) {
  if (parts_->sources.are_any())
    parts_->sources.fill(tables, parts_->series, stage_time(time, static_cast<int>(stage)));
}

void RungeKutta::begin_forward(Tables& tables, StepTime time) {
  Parts& p = *parts_;
  set_stage_scalars(tables, time);
  tables.fill_noise(p.kernels.noise(Direction::forward), time.index);
  if (p.time_dependent_walls) p.kernels.evaluate_walls(tables);
}

void RungeKutta::step(Tables& tables, StepTime time, StateBlocks u, double* next) {
  Parts& p = *parts_;
  begin_forward(tables, time);
  bind_stages(tables, u, nullptr);
  tables.bind_state(p.stage.back(), next);
  const auto by_passes = [&] {
    for (std::size_t i = 0; i < p.kernels.kernels().size(); ++i) {
      fill_sources(tables, time, i);
      p.kernels.kernels()[i].run_value(tables);
    }
  };
  if (p.watches_stages) return by_passes();
  if (p.walks->values) return p.walks->values->run(tables);
  if (p.walks->on_device) return p.walks->on_device->run(tables, by_passes);
  by_passes();
}

std::int64_t RungeKutta::steps_through(StepTime /*first*/, std::int64_t most) const {
  return parts_->several && !parts_->watches_stages ? parts_->several->steps(most) : 1;
}

void RungeKutta::step_through(Tables& tables, StepTime first, std::int64_t steps, StateBlocks u, double* next) {
  begin_forward(tables, first);
  parts_->several->run(tables, steps, u.now, next);
}

bool RungeKutta::may_overwrite(std::int64_t steps) const {
  const Parts& p = *parts_;
  if (steps > 1) return p.several && p.several->may_overwrite(steps);
  // Around sources the last stage reads the state once more.
  return p.walks->values && !p.watches_stages && !p.sources.are_any() && p.walks->values->may_overwrite();
}

void RungeKutta::record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) {
  Parts& p = *parts_;
  if (p.scheme.is_pointwise()) {
    if (next) step(tables, time, u, next);
    return;
  }
  begin_forward(tables, time);
  bind_stages(tables, u, stages);
  std::vector<DifferentiatedKernel>& all = p.kernels.kernels();
  if (p.walks->recorded && next) {
    tables.bind_state(p.stage.back(), next);
    return p.walks->recorded->run(tables);
  }
  if (p.walks->recorded) return p.walks->recorded->run(tables, all.size() - 1);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    fill_sources(tables, time, i);
    all[i].run_recorded(tables);
  }
  if (next) {
    fill_sources(tables, time, all.size() - 1);
    tables.bind_state(p.stage.back(), next);
    all.back().run_recorded(tables);
  } else {
    all.back().fill_recorded_ghosts(tables);
  }
}

SpanStepper* RungeKutta::spans() {
  return parts_->takes_spans ? this : nullptr;
}

void RungeKutta::step(Tables& tables, const StepSpan& span, double* u, double* next) {
  Parts& p = *parts_;
  begin_forward(tables, span.first);
  bind_stages(tables, u, nullptr);
  tables.bind_state(p.stage.back(), next);
  p.kernels.kernels().front().run_value(tables, span.count);
}

void RungeKutta::record(Tables& tables, const StepSpan& span, double* u, double* next) {
  Parts& p = *parts_;
  begin_forward(tables, span.first);
  bind_stages(tables, u, nullptr);
  tables.bind_state(p.stage.back(), next);
  p.kernels.kernels().front().run_trail(tables, span.count, p.state_doubles);
}

void RungeKutta::reverse(Tables& tables, const StepSpan& span, double* u, double* lambda, double* lambda_next) {
  Parts& p = *parts_;
  set_stage_scalars(tables, span.first);
  bind_stages(tables, u, nullptr);
  tables.bind_state(p.lambda, lambda);
  tables.bind_state(p.lambda_next, lambda_next);
  p.kernels.kernels().front().run_gather(tables, span.count, p.state_doubles);
}

double RungeKutta::try_step(Tables& tables, StepTime time, double* u, double* next, double* const* stages) {
  Parts& p = *parts_;
  if (p.scheme.is_pointwise()) {
    begin_forward(tables, time);
  } else if (stages != nullptr) {
    record(tables, time, u, next, stages);
  } else {
    step(tables, time, u, next);
  }
  return p.estimate->ratio(tables, p.series, time, u, next);
}

void RungeKutta::watch_slopes(bool wanted) {
  parts_->watches_stages = wanted;
}

void RungeKutta::judge_by(Tables& tables, std::optional<std::size_t> field) {
  parts_->estimate->judge_by(tables, field);
}

Stepper::WorstError RungeKutta::worst_error(const Tables& tables) const {
  return parts_->estimate->worst(tables);
}

void RungeKutta::reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
                         StateBlocks lambda_next) {
  Parts& p = *parts_;
  const bool is_from_state = p.walks->reversed && stages == nullptr;
  if (is_from_state)
    begin_forward(tables, time);
  else
    set_stage_scalars(tables, time);
  tables.fill_noise(p.kernels.noise(Direction::reverse), time.index);
  for (int i = 0; i < this->stages() && !active_.series.empty(); ++i)
    p.times[at(i)].bind_knots(tables, p.series, stage_time(time, i));
  bind_stages(tables, u, stages);
  tables.bind_state(p.lambda, lambda);
  tables.bind_state(p.lambda_next, lambda_next);
  if (is_from_state) return p.walks->reversed->run(tables);
  if (p.walks->gathers) return p.walks->gathers->run(tables);
  for (std::size_t i = p.kernels.kernels().size(); i-- > 0;) {
    p.kernels.run_gather(i, tables, p.times[i].places());
    if (!p.sources.are_any() || active_.series.empty()) continue;
    p.kernels.kernels()[i].run_source_adjoint(tables);
    p.sources.add_adjoint(tables, p.series, stage_time(time, static_cast<int>(i)));
  }
}

void RungeKutta::tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
                         double* dnext) {
  Parts& p = *parts_;
  set_stage_scalars(tables, time);
  tables.fill_noise(p.kernels.noise(Direction::tangent), time.index);
  for (int i = 0; i < this->stages() && !active_.series.empty(); ++i)
    p.times[at(i)].set_directions(tables, p.series, stage_time(time, i));
  bind_stages(tables, u, stages);
  tables.bind_state(p.dot_stage.front(), du);
  tables.bind_state(p.dot_stage.back(), dnext);
  for (std::size_t i = 0; i < p.dot_memory.size(); ++i) tables.bind_state(p.dot_stage[i + 1], p.dot_memory[i].data());
  if (p.time_dependent_walls) p.kernels.evaluate_wall_tangents(tables);
  if (p.walks->tangents) return p.walks->tangents->run(tables);
  for (std::size_t i = 0; i < p.kernels.kernels().size(); ++i) {
    if (p.sources.are_any()) p.sources.fill_directions(tables, p.series, stage_time(time, static_cast<int>(i)));
    p.kernels.kernels()[i].run_tangent(tables);
  }
}

void RungeKutta::clear_sums() {
  parts_->kernels.clear_sums();
  parts_->sources.clear_sums();
}

void RungeKutta::save_sums(BlockWriter& to) const {
  parts_->kernels.save_sums(to);
  parts_->sources.save_sums(to);
}

void RungeKutta::restore_sums(BlockReader& from) {
  parts_->kernels.restore_sums(from);
  parts_->sources.restore_sums(from);
}

void RungeKutta::add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const {
  parts_->kernels.add_sums(scalars, knots);
  parts_->sources.add_sums(knots);
}

void RungeKutta::bind_series_sums(std::size_t active_series, double* knots) {
  parts_->series.bind_sums(active_series, knots);
}

void RungeKutta::set_series(std::size_t series, const std::vector<double>& values) {
  parts_->series.set_values(series, values);
}

void RungeKutta::set_series_directions(std::vector<Series> directions) {
  parts_->series.set_directions(std::move(directions));
}

}  // namespace hindsight

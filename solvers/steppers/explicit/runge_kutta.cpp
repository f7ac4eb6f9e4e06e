#include "solvers/steppers/explicit/runge_kutta.hpp"

#include <algorithm>
#include <numeric>

#include "solvers/equations/derive.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/explicit/runge_kutta_kernels.hpp"
#include "solvers/steppers/reads.hpp"
#include "solvers/steppers/wall_adjoint.hpp"

namespace hindsight {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// Or on the length of the step, which changes with time.
bool depends_on_time(const Model& model, const std::vector<Expr>& expressions) {
  for (const NodeId id : reachable(expressions)) {
    const Node& node = (*model.graph)[id];
    if (node.op != Op::scalar) continue;
    const std::string& name = model.graph->scalars()[node.symbol];
    if (name == "t" || name == step_length ||
        std::find(model.series.begin(), model.series.end(), name) != model.series.end())
      return true;
  }
  return false;
}

std::vector<Expr> all_wall_values(const Model& model) {
  std::vector<Expr> values;
  for (const auto& field : model.walls)
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t s = 0; s < 2 && model.has_walls[a]; ++s) values.push_back(field[a][s].value);
  return values;
}

}  // namespace

struct RungeKutta::Parts {
  Parts(const Model& model, const Tableau& tableau, const Active& active)
      : kernels(model, tableau, active),
        time_dependent_walls(depends_on_time(model, all_wall_values(model))),
        time_dependent(time_dependent_walls || depends_on_time(model, model.right_hand_sides)) {}

  void make_walls(const Model& model, const Active& active, int stages, Wants wants);
  void name_arrays(const Model& model, int stages);
  void name_scalars(const Model& model, const Active& active, int stages);

  RungeKuttaKernels kernels;
  bool time_dependent_walls, time_dependent;
  std::vector<KernelSpec> forward, tangent, wall_kernels;
  std::vector<ReverseStage> reverse;
  std::vector<WallValues> walls, dot_walls;  // per stage
  std::vector<FieldWalls> zero_walls, mirror_walls;
  std::unique_ptr<WallAdjoint> wall_adjoint;

  // symbols
  int h = 0, length = -1;                          // of the step, as a factor and as a value; -1: nobody reads it
  std::vector<int> t;                              // per stage
  std::vector<std::vector<int>> stage, dot_stage;  // [stage][field]; the last entry is the new state
  std::vector<int> lambda, lambda_next, work;
  std::vector<std::vector<int>> series, series_dot;            // [series][stage]
  std::vector<std::array<std::vector<int>, 2>> series_weight;  // [active series][knot][stage]
  std::vector<std::size_t> active_series;                      // index into model.series

  KernelLibrary forward_library, reverse_library, tangent_library, wall_library;
  std::vector<Pass> forward_passes, record_passes, reverse_passes, tangent_passes;
  std::vector<WallGather> wall_gathers;
  std::vector<Memory> stage_memory, dot_memory;
  Memory dummy_knot;
  std::vector<Series> values;
  std::vector<Series::Place> places;
  const Grid* grid = nullptr;
  std::int64_t state = 0, rows = 0;
  std::vector<std::size_t> forward_noise, reverse_noise, tangent_noise;

  std::vector<KernelSpec> reverse_specs() const {
    std::vector<KernelSpec> all;
    for (const ReverseStage& s : reverse) {
      all.push_back(s.main);
      if (!s.border.outputs.empty()) all.push_back(s.border);
      if (!s.ring.outputs.empty()) {
        all.push_back(s.ring);
        all.push_back(s.add);
      }
    }
    return all;
  }
};

RungeKutta::RungeKutta(const Model& model, const Tableau& tableau, const Active& active, Wants wants)
    : model_(model),
      tableau_(tableau),
      active_(active),
      wants_(wants),
      parts_(std::make_unique<Parts>(model, tableau_, active_)),
      series_sums_(active.series.size(), nullptr) {
  Parts& p = *parts_;
  p.forward = p.kernels.forward();
  if (wants.adjoint) p.reverse = p.kernels.reverse();
  if (wants.tangent) p.tangent = p.kernels.tangent();
  p.zero_walls = plain_walls(model.fields.size(), WallRule::zero);
  p.mirror_walls = plain_walls(1, WallRule::slope);
  p.make_walls(model, active_, stages(), wants);
  p.name_arrays(model, stages());
  p.name_scalars(model, active_, stages());
}

void RungeKutta::Parts::make_walls(const Model& model, const Active& active, int stages, Wants wants) {
  if (model.walls.empty()) return;
  for (int i = 1; i <= stages; ++i) {
    walls.emplace_back(model, wall_expressions(model, i, nullptr), "stage" + std::to_string(i) + "_", wall_kernels);
    if (!wants.tangent) continue;
    std::vector<Seed> seeds;
    for (const std::string& name : active.scalars) seeds.push_back({false, name, StageNames::dot(name)});
    for (const std::string& name : active.series)
      seeds.push_back({false, StageNames::stage(name, i), StageNames::dot(StageNames::stage(name, i))});
    dot_walls.emplace_back(model, wall_expressions(model, i, &seeds), "dot" + std::to_string(i) + "_", wall_kernels);
  }
  if (!wants.adjoint) return;
  std::vector<int> labels(at(stages));
  std::iota(labels.begin(), labels.end(), 1);
  wall_adjoint = std::make_unique<WallAdjoint>(model, active, labels, "", wall_kernels);
}

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

void RungeKutta::Parts::name_scalars(const Model& model, const Active& active, int stages) {
  Graph& graph = *model.graph;
  const auto scalar = [&](const std::string& name) { return int{graph.scalar(name).node().symbol}; };
  h = scalar(step_factor);
  length = graph.scalar_index(step_length);
  series.resize(model.series.size());
  series_dot.resize(active.series.size());
  series_weight.resize(active.series.size());
  for (const std::string& name : active.series)
    active_series.push_back(
        static_cast<std::size_t>(std::find(model.series.begin(), model.series.end(), name) - model.series.begin()));
  for (int i = 1; i <= stages; ++i) {
    t.push_back(scalar(StageNames::stage("t", i)));
    for (std::size_t q = 0; q < model.series.size(); ++q)
      series[q].push_back(scalar(StageNames::stage(model.series[q], i)));
    for (std::size_t q = 0; q < active.series.size(); ++q) {
      series_dot[q].push_back(scalar(StageNames::dot(StageNames::stage(active.series[q], i))));
      for (int knot = 0; knot < 2; ++knot)
        series_weight[q][at(knot)].push_back(scalar(StageNames::weight(active.series[q], i, knot)));
    }
  }
}

RungeKutta::~RungeKutta() = default;

int RungeKutta::sums() const {
  return parts_->kernels.sum_numbers().count();
}

int RungeKutta::record_states() const {
  return parts_->kernels.is_pointwise() ? 0 : tableau_.stages() - 1;
}

std::int64_t RungeKutta::working_states() const {
  const std::int64_t inputs = record_states();
  return inputs * (1 + (wants_.tangent ? 1 : 0) + (keeps_slopes() ? 1 : 0));
}

bool RungeKutta::keeps_slopes() const {
  return !parts_->kernels.is_pointwise() && !parts_->kernels.eliminates_slopes();
}
bool RungeKutta::keeps_stage_adjoints() const {
  return !parts_->kernels.is_pointwise() && !parts_->kernels.eliminates_adjoints();
}

std::vector<RungeKutta::Described> RungeKutta::describe() const {
  std::vector<Described> all;
  for (const KernelSpec& k : parts_->forward) all.push_back({"forward", &k});
  for (const ReverseStage& s : parts_->reverse) {
    all.push_back({"adjoint", &s.main});
    if (!s.border.outputs.empty()) all.push_back({"adjoint near walls", &s.border});
    if (!s.ring.outputs.empty()) all.push_back({"adjoint at walls", &s.ring});
  }
  for (const KernelSpec& k : parts_->tangent) all.push_back({"tangent", &k});
  return all;
}

std::string RungeKutta::describe_memory() const {
  const char* const slopes = keeps_slopes() ? "stored" : "not stored, recomputed from stage inputs";
  const char* const adjoints = keeps_stage_adjoints() ? "stored" : "not stored, recomputed from multipliers";
  return std::string("slopes: ") + slopes + "; stage adjoints: " + adjoints;
}

std::vector<Stepper::Evaluation> RungeKutta::evaluations(StepTime time) const {
  std::vector<Evaluation> all;
  for (int i = 0; i < stages(); ++i) {
    all.push_back({time.t + tableau_.c[at(i)] * time.h, {}});
    if (!parts_->kernels.is_pointwise()) all.back().input = parts_->stage[at(i)];
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
  const Parts& p = *parts_;
  std::array<int, 3> depth = deeper(deepest(pointers(p.forward), {}).depth, deepest(pointers(p.tangent), {}).depth);
  if (wants_.adjoint)
    depth =
        deeper(depth, add(deepest(pointers(p.reverse_specs()), {}).depth, ring_depth(model_, model_.right_hand_sides)));
  return depth;
}

void RungeKutta::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  Parts& p = *parts_;
  p.grid = &grid;
  p.values = series;
  p.places.resize(p.active_series.size());
  p.state = state_doubles(grid, model_.fields.size());
  p.rows = grid.local_rows();
  p.dummy_knot = Memory(std::max<std::int64_t>(p.rows, 1), grid.machine());
  make_libraries(grid, tables);
  allocate(grid, tables);
  make_forward_passes(grid);
  make_reverse_passes(grid, tables);
  make_tangent_passes(grid);
}

void RungeKutta::make_libraries(const Grid& grid, Tables& tables) {
  Parts& p = *parts_;
  const Graph& graph = *model_.graph;
  const Communicator& comm = grid.communicator();
  Machine& machine = grid.machine();
  const Boxes boxes = boxes_of(grid.dimensions());
  const std::vector<KernelSpec> reverse = p.reverse_specs();
  p.forward_library = KernelLibrary(p.forward, boxes, comm, machine);
  p.reverse_library = KernelLibrary(reverse, boxes, comm, machine);
  p.tangent_library = KernelLibrary(p.tangent, boxes, comm, machine);
  p.wall_library = KernelLibrary(p.wall_kernels, Boxes::line, comm, machine);
  for (WallValues& w : p.walls) w.prepare(p.wall_library, tables);
  for (WallValues& w : p.dot_walls) w.prepare(p.wall_library, tables);
  p.forward_noise = noises_read(graph, pointers(p.forward));
  p.reverse_noise = noises_read(graph, pointers(reverse));
  p.tangent_noise = noises_read(graph, pointers(p.tangent));
}

/// Arrays that kernels name and nobody else provides: slopes, stage adjoints, ghosts; and the stages' inputs.
void RungeKutta::allocate(const Grid& grid, Tables& tables) {
  Parts& p = *parts_;
  const int s = stages();
  std::vector<int> scratch;
  const auto wants_array = [&](const std::string& name) {
    if (const int symbol = model_.graph->field_index(name); symbol >= 0) scratch.push_back(symbol);
  };
  for (const std::string& name : model_.fields) {
    for (int i = 1; i < s; ++i) {
      const std::string slope = RungeKuttaNames::slope(name, i);
      for (const std::string& array :
           {slope, StageNames::dot(slope), RungeKuttaNames::mu(name, i), RungeKuttaNames::ybar(name, i + 1)})
        wants_array(array);
    }
    wants_array(StageNames::ghost(name));
  }
  for (const std::string& name : active_.parameter_fields) wants_array(StageNames::ghost(name));
  grid.communicator().together([&] {
    tables.allocate(scratch);
    if (p.kernels.is_pointwise()) return;
    for (int i = 2; i <= s; ++i) p.stage_memory.emplace_back(p.state, grid.machine());
    for (int i = 2; i <= s && wants_.tangent; ++i) p.dot_memory.emplace_back(p.state, grid.machine());
  });
}

const std::vector<FieldWalls>* RungeKutta::walls_of(const std::vector<WallValues>& sets, int stage) const {
  return sets.empty() ? &parts_->zero_walls : &sets[at(stage - 1)].walls();
}

void RungeKutta::make_forward_passes(const Grid& grid) {
  Parts& p = *parts_;
  const std::array<int, 3> ring = ring_depth(model_, model_.right_hand_sides);
  std::vector<KernelSpec> readers = p.reverse_specs();
  for (const KernelSpec& k : p.tangent) readers.push_back(k);
  for (std::size_t k = 0; k < p.forward.size(); ++k) {
    const int i = static_cast<int>(k) + 1;
    if (p.kernels.is_pointwise()) {
      p.forward_passes.emplace_back(grid, p.forward_library[k], std::vector<GhostGroup>{});
      break;
    }
    GhostGroup own = ghosts_for(p.forward[k], p.stage[k], walls_of(p.walls, i));
    p.forward_passes.emplace_back(grid, p.forward_library[k], std::vector<GhostGroup>{own});
    // When recorded, ghosts are filled as deep as the adjoint and the tangent will read them.
    const Reach later = deepest(pointers(readers), p.stage[k]);
    if (later.depth != std::array<int, 3>{0, 0, 0})
      own.depth = deeper(own.depth, wants_.adjoint ? add(later.depth, ring) : later.depth);
    own.corners = own.corners || later.corners;
    p.record_passes.emplace_back(grid, p.forward_library[k], std::vector<GhostGroup>{own});
  }
}

void RungeKutta::make_reverse_passes(const Grid& grid, Tables& tables) {
  Parts& p = *parts_;
  const Graph& graph = *model_.graph;
  const std::array<int, 3> ring = ring_depth(model_, model_.right_hand_sides);
  const std::size_t n = model_.fields.size();
  const int s = stages();
  std::vector<std::size_t> knots;
  for (const std::size_t q : p.active_series) knots.push_back(p.values[q].values.size());
  std::size_t kernel = 0;
  for (const ReverseStage& stage : p.reverse) {
    std::vector<int> multiplier = p.lambda;
    if (stage.stage > 0 && stage.stage < s) {
      multiplier.clear();
      for (const std::string& name : model_.fields)
        multiplier.push_back(graph.field_index(RungeKuttaNames::mu(name, stage.stage)));
    }
    GhostGroup own = ghosts_for(stage.main, multiplier, &p.zero_walls, ring);
    const Kernel& main = p.reverse_library[kernel++];
    BorderKernel border{{}, ring};
    if (!stage.border.outputs.empty()) border.kernel = p.reverse_library[kernel++];
    p.reverse_passes.emplace_back(grid, main, std::vector<GhostGroup>{own}, border);
    if (stage.ring.outputs.empty()) continue;
    const Kernel& ring_kernel = p.reverse_library[kernel++];
    const Kernel& add_kernel = p.reverse_library[kernel++];
    std::vector<WallGather::Target> targets;
    for (std::size_t f = 0; f < n; ++f)
      targets.push_back({graph.field_index(StageNames::ghost(model_.fields[f])), &(*walls_of(p.walls, stage.stage))[f],
                         p.wall_adjoint->prepare(f, p.wall_library, knots, tables)});
    for (const std::string& name : active_.parameter_fields)
      if (const int ghost = graph.field_index(StageNames::ghost(name)); ghost >= 0)
        targets.push_back({ghost, p.mirror_walls.data(), {}});
    p.wall_gathers.emplace_back(grid, ring_kernel, add_kernel, ring, targets);
  }
}

void RungeKutta::make_tangent_passes(const Grid& grid) {
  Parts& p = *parts_;
  for (std::size_t k = 0; k < p.tangent.size(); ++k) {
    const int i = static_cast<int>(k) + 1;
    p.tangent_passes.emplace_back(
        grid, p.tangent_library[k],
        std::vector<GhostGroup>{ghosts_for(p.tangent[k], p.dot_stage[k], walls_of(p.dot_walls, i))});
  }
}

std::vector<const KernelLibrary*> RungeKutta::libraries() const {
  return {&parts_->forward_library, &parts_->reverse_library, &parts_->tangent_library, &parts_->wall_library};
}

void RungeKutta::parameters_changed(Tables& tables, bool with_tangent) {
  const Parts& p = *parts_;
  if (p.time_dependent_walls) return;
  for (const WallValues& w : p.walls) w.evaluate(tables);
  if (with_tangent)
    for (const WallValues& w : p.dot_walls) w.evaluate(tables);
}

void RungeKutta::set_stage_scalars(Tables& tables, StepTime time) {
  const Parts& p = *parts_;
  tables.scalar(p.h) = time.h;
  if (p.length >= 0) tables.scalar(p.length) = time.h;
  for (int i = 0; i < stages() && p.time_dependent; ++i) {
    const double t = time.t + tableau_.c[at(i)] * time.h;
    tables.scalar(p.t[at(i)]) = t;
    for (std::size_t q = 0; q < p.series.size(); ++q) tables.scalar(p.series[q][at(i)]) = p.values[q].at(t);
  }
}

void RungeKutta::bind_stages(Tables& tables, double* u, double* const* stages) {
  const Parts& p = *parts_;
  tables.bind_state(p.stage.front(), u);
  for (int i = 1; i <= static_cast<int>(p.stage_memory.size()); ++i)
    tables.bind_state(p.stage[at(i)], stages ? stages[i - 1] : p.stage_memory[at(i - 1)].data());
}

void RungeKutta::begin_forward(Tables& tables, StepTime time) {
  set_stage_scalars(tables, time);
  tables.fill_noise(parts_->forward_noise, time.index);
  if (parts_->time_dependent_walls)
    for (const WallValues& w : parts_->walls) w.evaluate(tables);
}

void RungeKutta::step(Tables& tables, StepTime time, double* u, double* next) {
  begin_forward(tables, time);
  bind_stages(tables, u, nullptr);
  tables.bind_state(parts_->stage.back(), next);
  for (Pass& pass : parts_->forward_passes) pass.run(tables);
}

void RungeKutta::record(Tables& tables, StepTime time, double* u, double* next, double* const* stages) {
  if (parts_->kernels.is_pointwise()) {
    if (next) step(tables, time, u, next);
    return;
  }
  begin_forward(tables, time);
  bind_stages(tables, u, stages);
  std::vector<Pass>& passes = parts_->record_passes;
  for (std::size_t i = 0; i + 1 < passes.size(); ++i) passes[i].run(tables);
  if (next) {
    tables.bind_state(parts_->stage.back(), next);
    passes.back().run(tables);
  } else {
    passes.back().fill_ghosts(tables);
  }
}

void RungeKutta::bind_knots(Tables& tables, StepTime time) {
  const Parts& p = *parts_;
  const SumNumbers numbers = p.kernels.sum_numbers();
  for (std::size_t q = 0; q < p.active_series.size(); ++q) {
    const Series& series = p.values[p.active_series[q]];
    for (int i = 1; i <= stages(); ++i) {
      const Series::Place place = series.place(time.t + tableau_.c[at(i - 1)] * time.h);
      const bool has_upper = place.knot + 1 < series.values.size();
      tables.scalar(p.series_weight[q][0][at(i - 1)]) = 1.0 - place.weight;
      tables.scalar(p.series_weight[q][1][at(i - 1)]) = has_upper ? place.weight : 0.0;
      double* const knot = series_sums_[q] + static_cast<std::int64_t>(place.knot) * p.rows;
      const int index = static_cast<int>(q);
      tables.bind_sum(numbers.knot(index, i, 0), knot);
      tables.bind_sum(numbers.knot(index, i, 1), has_upper ? knot + p.rows : p.dummy_knot.data());
    }
  }
}

void RungeKutta::reverse(Tables& tables, StepTime time, double* u, double* const* stages, double* lambda,
                         double* lambda_next) {
  Parts& p = *parts_;
  set_stage_scalars(tables, time);
  tables.fill_noise(p.reverse_noise, time.index);
  if (!p.active_series.empty()) bind_knots(tables, time);
  bind_stages(tables, u, stages);
  tables.bind_state(p.lambda, lambda);
  tables.bind_state(p.lambda_next, lambda_next);
  for (std::size_t k = 0; k < p.reverse_passes.size(); ++k) {
    p.reverse_passes[k].run(tables);
    if (p.wall_gathers.empty()) continue;
    p.wall_gathers[k].run(tables);
    const int stage = p.reverse[k].stage;
    for (std::size_t q = 0; q < p.active_series.size(); ++q)
      p.places[q] = p.values[p.active_series[q]].place(time.t + tableau_.c[at(stage - 1)] * time.h);
    p.wall_adjoint->accumulate(tables, stage, p.places);
  }
}

void RungeKutta::tangent(Tables& tables, StepTime time, double* u, double* const* stages, double* du, double* dnext) {
  Parts& p = *parts_;
  set_stage_scalars(tables, time);
  tables.fill_noise(p.tangent_noise, time.index);
  for (std::size_t q = 0; q < p.series_dot.size(); ++q)
    for (int i = 0; i < tableau_.stages(); ++i)
      tables.scalar(p.series_dot[q][at(i)]) = series_directions_[q].at(time.t + tableau_.c[at(i)] * time.h);
  bind_stages(tables, u, stages);
  tables.bind_state(p.dot_stage.front(), du);
  tables.bind_state(p.dot_stage.back(), dnext);
  for (std::size_t i = 0; i < p.dot_memory.size(); ++i) tables.bind_state(p.dot_stage[i + 1], p.dot_memory[i].data());
  if (p.time_dependent_walls)
    for (const WallValues& w : p.dot_walls) w.evaluate(tables);
  for (Pass& pass : p.tangent_passes) pass.run(tables);
}

void RungeKutta::add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const {
  if (parts_->wall_adjoint) parts_->wall_adjoint->add_sums(*parts_->grid, scalars, knots);
}

void RungeKutta::save_sums(BlockWriter& to) const {
  if (parts_->wall_adjoint) parts_->wall_adjoint->save(to, *parts_->grid);
}

void RungeKutta::restore_sums(BlockReader& from) {
  if (parts_->wall_adjoint) parts_->wall_adjoint->restore(from, *parts_->grid);
}

void RungeKutta::clear_sums() {
  if (parts_->wall_adjoint) parts_->wall_adjoint->clear();
}

void RungeKutta::set_series(std::size_t series, const std::vector<double>& values) {
  parts_->values[series].values = values;
}

}  // namespace hindsight

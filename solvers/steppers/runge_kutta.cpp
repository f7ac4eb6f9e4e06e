#include "solvers/steppers/runge_kutta.hpp"

#include <algorithm>
#include <numeric>

#include "solvers/equations/derive.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/reads.hpp"
#include "solvers/steppers/runge_kutta_kernels.hpp"
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

struct RungeKutta::Plan {
  Plan(const Model& model, const Tableau& tableau, const Active& active)
      : kernels(model, tableau, active),
        time_dependent_walls(depends_on_time(model, all_wall_values(model))),
        time_dependent(time_dependent_walls || depends_on_time(model, model.right_hand_sides)) {}

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
  mutable std::vector<Series::Place> places;
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
      plan_(std::make_unique<Plan>(model, tableau_, active_)),
      series_sums_(active.series.size(), nullptr) {
  Plan& p = *plan_;
  Graph& graph = *model.graph;
  const int s = tableau.stages();
  p.forward = p.kernels.forward();
  if (wants.adjoint) p.reverse = p.kernels.reverse();
  if (wants.tangent) p.tangent = p.kernels.tangent();
  p.zero_walls = plain_walls(model.fields.size(), WallRule::zero);
  p.mirror_walls = plain_walls(1, WallRule::slope);
  for (int i = 1; i <= s && !model.walls.empty(); ++i) {
    p.walls.emplace_back(model, wall_expressions(model, i, nullptr), "stage" + std::to_string(i) + "_", p.wall_kernels);
    if (!wants.tangent) continue;
    std::vector<Seed> seeds;
    for (const std::string& name : active.scalars) seeds.push_back({false, name, StageNames::dot(name)});
    for (const std::string& name : active.series)
      seeds.push_back({false, StageNames::stage(name, i), StageNames::dot(StageNames::stage(name, i))});
    p.dot_walls.emplace_back(model, wall_expressions(model, i, &seeds), "dot" + std::to_string(i) + "_",
                             p.wall_kernels);
  }
  if (wants.adjoint && !model.walls.empty()) {
    std::vector<int> labels(at(s));
    std::iota(labels.begin(), labels.end(), 1);
    p.wall_adjoint = std::make_unique<WallAdjoint>(model, active, labels, "", p.wall_kernels);
  }

  const auto field = [&](const std::string& name) { return int{graph.field(name).node().symbol}; };
  const auto scalar = [&](const std::string& name) { return int{graph.scalar(name).node().symbol}; };
  p.h = scalar(step_factor);
  p.length = graph.scalar_index(step_length);
  p.series.resize(model.series.size());
  p.series_dot.resize(active.series.size());
  p.series_weight.resize(active.series.size());
  for (const std::string& name : active.series)
    p.active_series.push_back(
        static_cast<std::size_t>(std::find(model.series.begin(), model.series.end(), name) - model.series.begin()));
  for (int i = 1; i <= s + 1; ++i) {
    std::vector<int> own, dot;
    for (const std::string& name : model.fields) {
      const std::string array = i <= s ? StageNames::stage(name, i) : StageNames::next(name);
      own.push_back(field(array));
      dot.push_back(field(StageNames::dot(array)));
    }
    p.stage.push_back(own);
    p.dot_stage.push_back(dot);
    if (i > s) break;
    p.t.push_back(scalar(StageNames::stage("t", i)));
    for (std::size_t q = 0; q < model.series.size(); ++q)
      p.series[q].push_back(scalar(StageNames::stage(model.series[q], i)));
    for (std::size_t q = 0; q < active.series.size(); ++q) {
      p.series_dot[q].push_back(scalar(StageNames::dot(StageNames::stage(active.series[q], i))));
      for (int knot = 0; knot < 2; ++knot)
        p.series_weight[q][at(knot)].push_back(scalar(StageNames::weight(active.series[q], i, knot)));
    }
  }
  for (const std::string& name : model.fields) {
    p.lambda.push_back(field(StageNames::lambda(name)));
    p.lambda_next.push_back(field(StageNames::lambda_next(name)));
  }
}

RungeKutta::~RungeKutta() = default;

int RungeKutta::sums() const {
  return plan_->kernels.sum_numbers().count();
}

int RungeKutta::record_states() const {
  return plan_->kernels.is_pointwise() ? 0 : tableau_.stages() - 1;
}

bool RungeKutta::keeps_slopes() const {
  return !plan_->kernels.is_pointwise() && !plan_->kernels.eliminates_slopes();
}
bool RungeKutta::keeps_stage_adjoints() const {
  return !plan_->kernels.is_pointwise() && !plan_->kernels.eliminates_adjoints();
}

std::vector<RungeKutta::Described> RungeKutta::describe() const {
  std::vector<Described> all;
  for (const KernelSpec& k : plan_->forward) all.push_back({"forward", &k});
  for (const ReverseStage& s : plan_->reverse) {
    all.push_back({"adjoint", &s.main});
    if (!s.border.outputs.empty()) all.push_back({"adjoint near walls", &s.border});
    if (!s.ring.outputs.empty()) all.push_back({"adjoint at walls", &s.ring});
  }
  for (const KernelSpec& k : plan_->tangent) all.push_back({"tangent", &k});
  return all;
}

std::array<int, 3> RungeKutta::halo() const {
  const Plan& p = *plan_;
  std::array<int, 3> depth = deeper(deepest(pointers(p.forward), {}).depth, deepest(pointers(p.tangent), {}).depth);
  if (wants_.adjoint)
    depth =
        deeper(depth, add(deepest(pointers(p.reverse_specs()), {}).depth, ring_depth(model_, model_.right_hand_sides)));
  return depth;
}

void RungeKutta::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  Plan& p = *plan_;
  Graph& graph = *model_.graph;
  const Communicator& comm = grid.communicator();
  Machine& machine = grid.machine();
  const Boxes boxes = boxes_of(grid.dimensions());
  const int s = stages();
  const std::size_t n = model_.fields.size();
  p.values = series;
  p.places.resize(p.active_series.size());
  p.state = state_doubles(grid, n);
  p.rows = grid.local_rows();
  p.dummy_knot = Memory(std::max<std::int64_t>(p.rows, 1), machine);
  p.forward_library = KernelLibrary(p.forward, boxes, comm, machine);
  p.reverse_library = KernelLibrary(p.reverse_specs(), boxes, comm, machine);
  p.tangent_library = KernelLibrary(p.tangent, boxes, comm, machine);
  p.wall_library = KernelLibrary(p.wall_kernels, Boxes::line, comm, machine);
  for (WallValues& w : p.walls) w.prepare(p.wall_library, tables);
  for (WallValues& w : p.dot_walls) w.prepare(p.wall_library, tables);

  p.forward_noise = noises_read(graph, pointers(p.forward));
  const std::vector<KernelSpec> reverse_specs = p.reverse_specs();
  p.reverse_noise = noises_read(graph, pointers(reverse_specs));
  p.tangent_noise = noises_read(graph, pointers(p.tangent));

  // Arrays that kernels name and nobody else provides: slopes, stage adjoints, ghosts.
  std::vector<int> scratch;
  const auto wants_array = [&](const std::string& name) {
    if (const int symbol = graph.field_index(name); symbol >= 0) scratch.push_back(symbol);
  };
  for (const std::string& name : model_.fields) {
    for (int i = 1; i < s; ++i) {
      for (const std::string& array : {StageNames::slope(name, i), StageNames::dot(StageNames::slope(name, i)),
                                       StageNames::mu(name, i), StageNames::ybar(name, i + 1)})
        wants_array(array);
    }
    wants_array(StageNames::ghost(name));
  }
  for (const std::string& name : active_.parameter_fields) wants_array(StageNames::ghost(name));
  comm.together([&] {
    tables.allocate(scratch);
    if (!p.kernels.is_pointwise())
      for (int i = 2; i <= s; ++i) p.stage_memory.emplace_back(p.state, machine);
    if (wants_.tangent && !p.kernels.is_pointwise())
      for (int i = 2; i <= s; ++i) p.dot_memory.emplace_back(p.state, machine);
  });

  const std::array<int, 3> ring = ring_depth(model_, model_.right_hand_sides);
  const auto walls_of = [&](std::vector<WallValues>& sets, int i) -> const std::vector<FieldWalls>* {
    return sets.empty() ? &p.zero_walls : &sets[at(i - 1)].walls();
  };
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

  std::vector<std::size_t> knots;
  for (const std::size_t q : p.active_series) knots.push_back(series[q].values.size());
  std::size_t kernel = 0;
  for (const ReverseStage& stage : p.reverse) {
    std::vector<int> multiplier = p.lambda;
    if (stage.stage > 0 && stage.stage < s) {
      multiplier.clear();
      for (const std::string& name : model_.fields)
        multiplier.push_back(graph.field_index(StageNames::mu(name, stage.stage)));
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
  for (std::size_t k = 0; k < p.tangent.size(); ++k) {
    const int i = static_cast<int>(k) + 1;
    p.tangent_passes.emplace_back(
        grid, p.tangent_library[k],
        std::vector<GhostGroup>{ghosts_for(p.tangent[k], p.dot_stage[k], walls_of(p.dot_walls, i))});
  }
}

std::vector<const KernelLibrary*> RungeKutta::libraries() const {
  return {&plan_->forward_library, &plan_->reverse_library, &plan_->tangent_library, &plan_->wall_library};
}

void RungeKutta::parameters_changed(Tables& tables, bool with_tangent) const {
  const Plan& p = *plan_;
  if (p.time_dependent_walls) return;
  for (const WallValues& w : p.walls) w.evaluate(tables);
  if (with_tangent)
    for (const WallValues& w : p.dot_walls) w.evaluate(tables);
}

void RungeKutta::set_stage_scalars(Tables& tables, StepTime time) const {
  const Plan& p = *plan_;
  tables.scalar(p.h) = time.h;
  if (p.length >= 0) tables.scalar(p.length) = time.h;
  for (int i = 0; i < stages() && p.time_dependent; ++i) {
    const double t = time.t + tableau_.c[at(i)] * time.h;
    tables.scalar(p.t[at(i)]) = t;
    for (std::size_t q = 0; q < p.series.size(); ++q) tables.scalar(p.series[q][at(i)]) = p.values[q].at(t);
  }
}

void RungeKutta::bind_stages(Tables& tables, double* u, double* const* stages) const {
  const Plan& p = *plan_;
  tables.bind_state(p.stage.front(), u);
  for (int i = 1; i <= static_cast<int>(p.stage_memory.size()); ++i)
    tables.bind_state(p.stage[at(i)], stages ? stages[i - 1] : p.stage_memory[at(i - 1)].data());
}

void RungeKutta::begin_forward(Tables& tables, StepTime time) const {
  set_stage_scalars(tables, time);
  tables.fill_noise(plan_->forward_noise, time.index);
  if (plan_->time_dependent_walls)
    for (const WallValues& w : plan_->walls) w.evaluate(tables);
}

void RungeKutta::step(Tables& tables, StepTime time, double* u, double* next) const {
  begin_forward(tables, time);
  bind_stages(tables, u, nullptr);
  tables.bind_state(plan_->stage.back(), next);
  for (const Pass& pass : plan_->forward_passes) pass.run(tables);
}

void RungeKutta::record(Tables& tables, StepTime time, double* u, double* next, double* const* stages) const {
  if (plan_->kernels.is_pointwise()) {
    if (next) step(tables, time, u, next);
    return;
  }
  begin_forward(tables, time);
  bind_stages(tables, u, stages);
  const std::vector<Pass>& passes = plan_->record_passes;
  for (std::size_t i = 0; i + 1 < passes.size(); ++i) passes[i].run(tables);
  if (next) {
    tables.bind_state(plan_->stage.back(), next);
    passes.back().run(tables);
  } else {
    passes.back().fill_ghosts(tables);
  }
}

void RungeKutta::bind_knots(Tables& tables, StepTime time) const {
  const Plan& p = *plan_;
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
                         double* lambda_next) const {
  const Plan& p = *plan_;
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

void RungeKutta::tangent(Tables& tables, StepTime time, double* u, double* const* stages, double* du,
                         double* dnext) const {
  const Plan& p = *plan_;
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
  for (const Pass& pass : p.tangent_passes) pass.run(tables);
}

void RungeKutta::add_wall_sums(const Grid& grid, std::vector<double>& scalars,
                               std::vector<std::vector<double>>& knots) const {
  if (plan_->wall_adjoint) plan_->wall_adjoint->add_sums(grid, scalars, knots);
}

void RungeKutta::save_sums(BlockWriter& to, const Grid& grid) const {
  if (plan_->wall_adjoint) plan_->wall_adjoint->save(to, grid);
}

void RungeKutta::restore_sums(BlockReader& from, const Grid& grid) const {
  if (plan_->wall_adjoint) plan_->wall_adjoint->restore(from, grid);
}

void RungeKutta::clear_sums() const {
  if (plan_->wall_adjoint) plan_->wall_adjoint->clear();
}

void RungeKutta::set_series(std::size_t series, const std::vector<double>& values) {
  plan_->values[series].values = values;
}

}  // namespace hindsight

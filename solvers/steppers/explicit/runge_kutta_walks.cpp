#include "solvers/steppers/explicit/runge_kutta_walks.hpp"

#include <string>

#include "solvers/steppers/explicit/runge_kutta_kernels.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

/// What walls add to a gather.
class BesideWalls final : public Wavefront::Beside {
 public:
  explicit BesideWalls(const DifferentiatedKernel& kernel) : kernel_(kernel) {}
  void after(Tables& tables, const Box& cells) override { kernel_.add_from_walls(tables, cells); }

 private:
  const DifferentiatedKernel& kernel_;
};

/// What the gather of stage i (from 0) leaves to those of earlier stages.
std::vector<int> handed_back(const Model& model, std::size_t i) {
  std::vector<int> symbols;
  const int number = static_cast<int>(i) + 1;
  for (const std::string& field : model.fields)
    for (const std::string& array : {RungeKuttaNames::mu(field, number - 1), RungeKuttaNames::ybar(field, number)})
      if (const int symbol = model.graph->field_index(array); i > 0 && symbol >= 0) symbols.push_back(symbol);
  return symbols;
}

Wavefront::Step step_of(DifferentiatedKernel& kernel, Direction direction) {
  return {.pass = kernel.pass(direction),
          .handed_on = {},
          .reads = kernel.reads(direction),
          .rows_beside = kernel.rows_beside(direction)};
}

}  // namespace

std::vector<int> RungeKuttaWalks::handed_on(const Model& model, const std::vector<std::vector<int>>& stages,
                                            std::size_t i, bool is_tangent) {
  if (i + 2 >= stages.size()) return {};
  std::vector<int> symbols = stages[i + 1];
  for (const std::string& field : model.fields) {
    const std::string slope = RungeKuttaNames::slope(field, static_cast<int>(i) + 1);
    const int symbol = model.graph->field_index(is_tangent ? StageNames::dot(slope) : slope);
    if (symbol >= 0) symbols.push_back(symbol);
  }
  return symbols;
}

std::vector<DeviceWalk::Stage> RungeKuttaWalks::stages_of_launch(const Model& model, KernelSet& kernels,
                                                                 const std::vector<std::vector<int>>& stages) {
  std::vector<DeviceWalk::Stage> all;
  for (DifferentiatedKernel& kernel : kernels.kernels())
    all.push_back({&kernel, handed_on(model, stages, all.size(), false)});
  return all;
}

/// Around sources values, or tangents, are computed once more, with the sources' arrays added: nobody may have
/// overwritten what they read.
class RungeKuttaWalks::AtSources final : public Wavefront::Beside {
 public:
  /// @param t the time of the stage, whenever it runs.
  AtSources(const DifferentiatedKernel& kernel, Direction direction, const Sources& sources, const double& t)
      : kernel_(kernel), direction_(direction), sources_(sources), t_(t) {}
  void before(Tables& tables, const Box& cells) override {
    if (direction_ == Direction::forward)
      sources_.points.fill_in(tables, sources_.series, t_, cells);
    else
      sources_.points.fill_directions_in(tables, sources_.series, t_, cells);
  }
  void after(Tables& tables, const Box& cells) override {
    for (const Box& row : sources_.points.rows_in(cells))
      if (const Box box = common(row, cells); !box.is_empty()) kernel_.run_at_sources(direction_, tables, box);
  }

 private:
  const DifferentiatedKernel& kernel_;
  Direction direction_;
  Sources sources_;
  const double& t_;
};

RungeKuttaWalks::~RungeKuttaWalks() = default;

void RungeKuttaWalks::add_sources(Wavefront::Step& step, const DifferentiatedKernel& kernel, Direction direction,
                                  std::size_t stage, const Sources& sources, const Grid& grid) {
  if (!sources.points.are_any()) return;
  at_sources_.push_back(std::make_unique<AtSources>(kernel, direction, sources, times[stage]));
  step.beside = at_sources_.back().get();
  // Sources of other ranks, and beyond a periodic end, are not there.
  step.keeps_within = Wavefront::goes_on(grid);
}

void RungeKuttaWalks::add_walls(Wavefront::Step& step, const DifferentiatedKernel& kernel) {
  if (!kernel.is_fed_by_walls()) return;
  beside_walls_.push_back(std::make_unique<BesideWalls>(kernel));
  step.beside = beside_walls_.back().get();
  step.at_walls = kernel.fed_by_walls();
}

/// The passes of each walk, in their order.
struct RungeKuttaWalks::Passes {
  std::vector<Wavefront::Step> values, recorded, tangents, gathers, reversed;
};

void RungeKuttaWalks::add_stage(Passes& passes, std::size_t i, DifferentiatedKernel& kernel, const Given& given) {
  Wavefront::Step value = step_of(kernel, Direction::forward);
  add_sources(value, kernel, Direction::forward, i, given.sources, given.grid);
  Wavefront::Step& kept = passes.recorded.emplace_back(value);
  kept.pass = kernel.recorded_pass();
  add_again(passes, i, kept, given);
  if (!given.stages.are_read_after) value.handed_on = handed_on(given.model, given.stages.states, i, false);
  value.last_beside = i + 1;
  passes.values.push_back(value);
  Wavefront::Step& tangent = passes.tangents.emplace_back(step_of(kernel, Direction::tangent));
  add_sources(tangent, kernel, Direction::tangent, i, given.sources, given.grid);
  tangent.handed_on = RungeKuttaWalks::handed_on(given.model, given.stages.tangents, i, true);
  tangent.last_beside = i + 1;
}

void RungeKuttaWalks::add_again(Passes& passes, std::size_t i, const Wavefront::Step& kept, const Given& given) {
  const std::vector<DifferentiatedKernel>& kernels = given.kernels;
  const std::size_t last = kernels.size() - 1, next = i + 1;
  if (i == passes_there(kernels)) return;
  Wavefront::Step& again = passes.reversed.emplace_back(kept);
  again.fills_alone = i == last;
  if (next > last) return;
  again.handed_on = handed_on(given.model, given.stages.states, i, false);
  again.last_reader = passes_there(kernels) + last - next;
  again.last_beside = next < last ? next : i;
  if (kernels[next].gathers_states_beside()) again.last_beside = again.last_reader;
}

std::size_t RungeKuttaWalks::passes_there(const std::vector<DifferentiatedKernel>& kernels) {
  return kernels.size() - (kernels.back().gathers_states_beside() ? 0 : 1);
}

std::vector<std::pair<int, int>> RungeKuttaWalks::in_place(std::size_t i, const DifferentiatedKernel& kernel,
                                                           const Given& given) {
  std::vector<std::pair<int, int>> pairs;
  if (i == 0 || kernel.gathers_states_beside()) return pairs;
  const Graph& graph = *given.model.graph;
  for (std::size_t f = 0; f < given.model.fields.size(); ++f) {
    const int state = given.stages.states[i][f],
              mu = graph.field_index(RungeKuttaNames::mu(given.model.fields[f], static_cast<int>(i)));
    if (mu >= 0 && graph.kind(mu).element == graph.kind(state).element) pairs.emplace_back(mu, state);
  }
  return pairs;
}

void RungeKuttaWalks::add_gather(Passes& passes, std::size_t i, DifferentiatedKernel& kernel, const Given& given) {
  Wavefront::Step gather = step_of(kernel, Direction::reverse);
  add_walls(gather, kernel);
  Wavefront::Step& from_state = passes.reversed.emplace_back(gather);
  from_state.handed_on = handed_back(given.model, i);
  from_state.last_beside = passes.reversed.size();
  from_state.in_place = in_place(i, kernel, given);
  from_state.reads_others = i + 1 == times.size();
  from_state.adds_to_sums = !kernel.gather().main.sums.empty();
  from_state.adds_to_cells = !given.active.parameter_fields.empty();
  gather.reads = {0, 0, 0};
  gather.keeps_within = true;
  passes.gathers.push_back(gather);
}

RungeKuttaWalks::RungeKuttaWalks(const Model& model, const Active& active, const Tables& tables, KernelSet& kernels,
                                 const Stages& of, const Sources& sources) {
  std::vector<DifferentiatedKernel>& all = kernels.kernels();
  const Given given{model, active, of, sources, tables.grid(), all};
  times.resize(all.size());
  Passes passes;
  for (std::size_t i = 0; i < all.size(); ++i) add_stage(passes, i, all[i], given);
  for (std::size_t i = all.size(); i-- > 0;) add_gather(passes, i, all[i], given);
  const auto make = [&](std::optional<Wavefront>& walk, const std::vector<Wavefront::Step>& steps) {
    const auto fields = static_cast<std::int64_t>(model.fields.size());
    if (Wavefront::suits(tables.grid(), steps, fields, model.graph->element())) walk.emplace(tables, steps);
  };
  make(values, passes.values);
  make(recorded, passes.recorded);
  for (Wavefront::Step& step : passes.tangents)
    step.keeps_within = step.keeps_within || !recorded || !recorded->goes_beyond();
  make(tangents, passes.tangents);
  make(gathers, passes.gathers);
  if (all.size() > 1) make(reversed, passes.reversed);
  if (of.are_read_after || sources.points.are_any()) return;
  on_device = DeviceWalk::make(tables, stages_of_launch(model, kernels, of.states), of.states.front());
}

}  // namespace hindsight

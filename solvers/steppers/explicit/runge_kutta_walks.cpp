#include "solvers/steppers/explicit/runge_kutta_walks.hpp"

#include <algorithm>
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

RungeKuttaWalks::RungeKuttaWalks(const Model& model, const Active& active, const Tables& tables, KernelSet& kernels,
                                 const Stages& of, const Sources& sources) {
  const auto make = [&](std::optional<Wavefront>& walk, const std::vector<Wavefront::Step>& steps) {
    const auto fields = static_cast<std::int64_t>(model.fields.size());
    if (Wavefront::suits(tables.grid(), steps, fields, model.graph->element())) walk.emplace(tables, steps);
  };
  const std::size_t stages = kernels.kernels().size();
  times.resize(stages);
  std::vector<Wavefront::Step> forward, record, tangent, reverse, from_state;
  for (DifferentiatedKernel& kernel : kernels.kernels()) {
    const std::size_t i = forward.size();
    const std::vector<int> handed_on = RungeKuttaWalks::handed_on(model, of.states, i, false);
    forward.push_back(step_of(kernel, Direction::forward));
    add_sources(forward.back(), kernel, Direction::forward, i, sources, tables.grid());
    record.push_back(forward.back());
    record.back().pass = kernel.recorded_pass();
    from_state.push_back(record.back());
    from_state.back().handed_on = handed_on;
    from_state.back().last_reader = 2 * stages - 2 - i;  // the gather of the stage whose input it is
    from_state.back().fills_alone = i + 1 == stages;
    if (!of.are_read_after) forward.back().handed_on = handed_on;
    tangent.push_back(step_of(kernel, Direction::tangent));
    add_sources(tangent.back(), kernel, Direction::tangent, i, sources, tables.grid());
    tangent.back().handed_on = RungeKuttaWalks::handed_on(model, of.tangents, i, true);
    reverse.push_back(step_of(kernel, Direction::reverse));
    add_walls(reverse.back(), kernel);
  }
  for (std::size_t i = stages; i-- > 0;) {
    Wavefront::Step& step = from_state.emplace_back(reverse[i]);
    step.handed_on = handed_back(model, i);
    step.reads_others = i + 1 == stages;
    step.adds_to_sums = !kernels.kernels()[i].gather().main.sums.empty();
    step.adds_to_cells = !active.parameter_fields.empty();
  }
  for (Wavefront::Step& step : reverse) {
    step.reads = {0, 0, 0};
    step.keeps_within = true;
  }
  std::ranges::reverse(reverse);
  make(values, forward);
  make(recorded, record);
  for (Wavefront::Step& step : tangent) step.keeps_within = step.keeps_within || !recorded || !recorded->goes_beyond();
  make(tangents, tangent);
  make(gathers, reverse);
  if (stages > 1) make(reversed, from_state);
}

}  // namespace hindsight

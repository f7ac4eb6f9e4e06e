#include "solvers/steppers/kernels/equation_kernels.hpp"

#include "solvers/equations/parser.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

/// Names of arrays that these kernels refer to.
struct EquationNames : StageNames {
  static std::string state(const std::string& field) { return StageNames::stage(field, EquationKernels::stage); }
  static std::string slope(const std::string& field) { return "slope(" + field + ")"; }
  static std::string product(const std::string& field) { return "product(" + field + ")"; }
};

}  // namespace

EquationKernels::EquationKernels(const Model& model, const Active& active, const std::string& name, SeriesReads reads,
                                 const Derivatives& wanted)
    : model_(model), active_(active), reads_(reads), kernels_(model, active, name + "_") {
  kernels_.add(request(name));
  kernels_.derive(wanted);
  time_.emplace(model, active, stage, static_cast<int>(active.scalars.size()), reads);
  length_ = model.graph->scalar_index(step_length);
  const std::size_t equations = model.right_hand_sides.size();
  const auto symbol = [&](const std::string& array) { return int{model.graph->field(array).node().symbol}; };
  for (std::size_t f = 0; f < model.fields.size(); ++f) {
    const std::string& field = model.fields[f];
    if (f % equations == 0) states_.emplace_back();
    states_.back().push_back(symbol(EquationNames::state(field)));
    if (f >= equations) continue;
    direction_.push_back(symbol(StageNames::dot(EquationNames::state(field))));
    multiplier_.push_back(symbol(StageNames::lambda(field)));
    value_.push_back(symbol(EquationNames::slope(field)));
    dot_.push_back(symbol(StageNames::dot(EquationNames::slope(field))));
    gathered_.push_back(symbol(EquationNames::product(field)));
  }
  const std::vector<std::string> directions = kernels_.kernels().front().directions();
  for (std::size_t f = equations; f < directions.size() && wanted.tangent; ++f)
    held_directions_.push_back(symbol(directions[f]));
}

KernelRequest EquationKernels::request(const std::string& name) const {
  KernelRequest request;
  request.names = {name, name + "_tangent", name + "_adjoint", name + "_border", name + "_ring", name + "_add"};
  request.stage = stage;
  request.expressions = at_stage(model_, model_.right_hand_sides, std::to_string(stage));
  request.held = model_.fields.size() - request.expressions.size();
  for (const std::string& field : model_.fields) {
    request.states.push_back(EquationNames::state(field));
    if (request.multiplier_arrays.size() < request.expressions.size())
      request.multiplier_arrays.push_back(StageNames::lambda(field));
  }
  request.series = series_variables(active_, stage, static_cast<int>(active_.scalars.size()), reads_);
  request.multiplier = [this](std::size_t r) { return model_.graph->field(StageNames::lambda(model_.fields[r])); };
  request.epilogue.values = [this](KernelSpec& kernel, const std::vector<Expr>& values) {
    for (std::size_t f = 0; f < values.size(); ++f)
      kernel.outputs.push_back({EquationNames::slope(model_.fields[f]), values[f]});
  };
  request.epilogue.tangents = [this](KernelSpec& kernel, const std::vector<Expr>& tangents) {
    for (std::size_t f = 0; f < tangents.size(); ++f)
      kernel.outputs.push_back({StageNames::dot(EquationNames::slope(model_.fields[f])), tangents[f]});
  };
  request.epilogue.gather = [this](std::size_t f, Expr gather) {
    return std::vector<KernelSpec::Output>{{EquationNames::product(model_.fields[f]), gather}};
  };
  request.epilogue.add = [this](std::size_t f, Expr ghost) {
    const std::string product = EquationNames::product(model_.fields[f]);
    return std::vector<KernelSpec::Output>{{product, model_.graph->field(product) + ghost}};
  };
  request.ghosts = StateGhosts::at_every_pass;
  return request;
}

void EquationKernels::prepare(const Grid& grid, Tables& tables, const std::vector<std::size_t>& knots,
                              std::size_t longest) {
  grid.communicator().together([&] { tables.allocate(held_directions_); });
  kernels_.prepare(grid, tables, knots, KernelSet::Libraries::one_per_direction, longest);
}

void EquationKernels::begin(Tables& tables, const SeriesData& series, StepTime at, Direction direction, Blocks states) {
  if (length_ >= 0) tables.scalar(length_) = at.h;
  time_->set(tables, series, at.t);
  tables.fill_noise(kernels_.noise(direction), at.index);
  kernels_.evaluate_walls(tables);
  auto symbols = states_.begin();
  for (double* const block : states) tables.bind_state(*symbols++, block);
}

void EquationKernels::values(Tables& tables, const SeriesData& series, StepTime at, Blocks states, double* values) {
  begin(tables, series, at, Direction::forward, states);
  tables.bind_state(value_, values);
  kernels_.kernels().front().run_value(tables);
}

void EquationKernels::tangents(Tables& tables, const SeriesData& series, StepTime at, Blocks states, double* direction,
                               double* tangents) {
  begin(tables, series, at, Direction::tangent, states);
  time_->set_directions(tables, series, at.t);
  kernels_.evaluate_wall_tangents(tables);
  tables.bind_state(direction_, direction);
  tables.bind_state(dot_, tangents);
  kernels_.kernels().front().run_tangent(tables);
}

void EquationKernels::gather(Tables& tables, const SeriesData& series, StepTime at, Blocks states, double* w,
                             double* gathered) {
  begin(tables, series, at, Direction::reverse, states);
  time_->bind_knots(tables, series, at.t);
  tables.bind_state(multiplier_, w);
  tables.bind_state(gathered_, gathered);
  kernels_.run_gather(0, tables, time_->places());
}

}  // namespace hindsight

#include "solvers/steppers/model_operators.hpp"

#include "solvers/equations/parser.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

constexpr int stage = 1;

/// Names of arrays that these kernels alone refer to.
struct OperatorNames : StageNames {
  static std::string state(const std::string& field) { return StageNames::stage(field, hindsight::stage); }
  static std::string slope(const std::string& field) { return "slope(" + field + ")"; }
  static std::string product(const std::string& field) { return "product(" + field + ")"; }
};

}  // namespace

ModelOperators::ModelOperators(const Model& model, const Active& active, const Derivatives& wanted,
                               std::optional<Part> part)
    : model_(model),
      active_(active),
      kernels_(model, active, (part ? part->prefix : "") + "operators_"),
      series_(model, active) {
  const int first_sum = part ? part->first_sum : static_cast<int>(active.scalars.size());
  kernels_.add(request(first_sum));
  kernels_.derive(wanted);
  time_.emplace(model, active, stage, first_sum);
  length_ = model.graph->scalar_index(step_length);
  const auto symbol = [&](const std::string& array) { return int{model.graph->field(array).node().symbol}; };
  for (const std::string& field : model.fields) {
    state_.push_back(symbol(OperatorNames::state(field)));
    slope_.push_back(symbol(OperatorNames::slope(field)));
    direction_.push_back(symbol(StageNames::dot(OperatorNames::state(field))));
    tangent_product_.push_back(symbol(StageNames::dot(OperatorNames::slope(field))));
    multiplier_.push_back(symbol(StageNames::lambda(field)));
    adjoint_product_.push_back(symbol(OperatorNames::product(field)));
  }
}

KernelRequest ModelOperators::request(int first_sum) const {
  KernelRequest request;
  request.names = {"rhs", "rhs_tangent", "rhs_adjoint", "rhs_border", "rhs_ring", "rhs_add"};
  request.stage = stage;
  request.expressions = at_stage(model_, model_.right_hand_sides, std::to_string(stage));
  for (const std::string& field : model_.fields) {
    request.states.push_back(OperatorNames::state(field));
    request.multiplier_arrays.push_back(StageNames::lambda(field));
  }
  request.series = series_variables(active_, stage, first_sum);
  request.multiplier = [this](std::size_t r) { return model_.graph->field(StageNames::lambda(model_.fields[r])); };
  request.epilogue.values = [this](KernelSpec& kernel, const std::vector<Expr>& values) {
    for (std::size_t f = 0; f < values.size(); ++f)
      kernel.outputs.push_back({OperatorNames::slope(model_.fields[f]), values[f]});
  };
  request.epilogue.tangents = [this](KernelSpec& kernel, const std::vector<Expr>& tangents) {
    for (std::size_t f = 0; f < tangents.size(); ++f)
      kernel.outputs.push_back({StageNames::dot(OperatorNames::slope(model_.fields[f])), tangents[f]});
  };
  request.epilogue.gather = [this](std::size_t f, Expr gather) {
    return std::vector<KernelSpec::Output>{{OperatorNames::product(model_.fields[f]), gather}};
  };
  request.epilogue.add = [this](std::size_t f, Expr ghost) {
    const std::string product = OperatorNames::product(model_.fields[f]);
    return std::vector<KernelSpec::Output>{{product, model_.graph->field(product) + ghost}};
  };
  request.ghosts = StateGhosts::at_every_pass;
  return request;
}

int ModelOperators::sums() const {
  return static_cast<int>(active_.scalars.size()) + EvaluationTime::sums(active_);
}

void ModelOperators::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series, std::size_t longest) {
  series_.prepare(grid, series);
  kernels_.prepare(grid, tables, series_.knots(), KernelSet::Libraries::one_per_direction, longest);
}

void ModelOperators::begin(Tables& tables, StepTime at, Direction direction, double* u) {
  if (length_ >= 0) tables.scalar(length_) = at.h;
  time_->set(tables, series_, at.t);
  tables.fill_noise(kernels_.noise(direction), at.index);
  kernels_.evaluate_walls(tables);
  tables.bind_state(state_, u);
}

void ModelOperators::rhs(Tables& tables, StepTime at, double* u, double* slope) {
  begin(tables, at, Direction::forward, u);
  tables.bind_state(slope_, slope);
  kernels_.kernels().front().run_value(tables);
}

void ModelOperators::tangent(Tables& tables, StepTime at, double* u, double* v, double* product) {
  begin(tables, at, Direction::tangent, u);
  time_->set_directions(tables, series_, at.t);
  kernels_.evaluate_wall_tangents(tables);
  tables.bind_state(direction_, v);
  tables.bind_state(tangent_product_, product);
  kernels_.kernels().front().run_tangent(tables);
}

void ModelOperators::adjoint(Tables& tables, StepTime at, double* u, double* w, double* product) {
  begin(tables, at, Direction::reverse, u);
  time_->bind_knots(tables, series_, at.t);
  tables.bind_state(multiplier_, w);
  tables.bind_state(adjoint_product_, product);
  kernels_.run_gather(0, tables, time_->places());
}

}  // namespace hindsight

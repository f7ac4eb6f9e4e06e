#include "solvers/steppers/implicit/jacobian_product.hpp"

#include <algorithm>
#include <utility>

#include "solvers/equations/derive.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/implicit/jacobian_entries.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

constexpr int stage = 1;

/// Names of arrays and scalars that these kernels alone refer to.
struct ProductNames : StageNames {
  static std::string state(const std::string& field) { return StageNames::stage(field, hindsight::stage); }
  static std::string direction(const std::string& name) { return "direction(" + name + ")"; }
  static std::string weight(const std::string& series, int knot) {
    return "w" + std::to_string(knot) + "(" + direction(series) + ")";
  }
  static std::string product(const std::string& field) { return "jacobian_product(" + field + ")"; }
  static std::string gathered(const std::string& field) { return "gathered(" + product(field) + ")"; }
};

/// The change of a series per time at t.
double slope_at(const Series& series, double t) {
  if (t < series.times.front() || t >= series.times.back()) return 0.0;
  const std::size_t k = series.place(t).knot;
  return (series.values[k + 1] - series.values[k]) / (series.times[k + 1] - series.times[k]);
}

}  // namespace

JacobianProduct::JacobianProduct(const Model& model, const Active& active, int first_sum, const Derivatives& wanted)
    : model_(model), active_(active), kernels_(model, active, "product_") {
  kernels_.add(request(first_sum));
  kernels_.derive(wanted);
  time_.emplace(model, active, stage, first_sum);
  Graph& graph = *model.graph;
  length_ = graph.scalar_index(step_length);
  s_ = graph.scalar_index(ProductNames::direction("t"));
  for (Slope& slope : slopes_) {
    const std::string& name = model.series[slope.series];
    slope.symbol = graph.scalar_index(ProductNames::direction(name));
    slope.dot = graph.scalar_index(StageNames::dot(ProductNames::direction(name)));
    for (int knot = 0; knot < 2; ++knot)
      slope.weights[static_cast<std::size_t>(knot)] = graph.scalar_index(ProductNames::weight(name, knot));
  }
  const auto symbol = [&](const std::string& array) { return int{graph.field(array).node().symbol}; };
  for (const std::string& field : model.fields) {
    state_.push_back(symbol(ProductNames::state(field)));
    dot_state_.push_back(symbol(StageNames::dot(ProductNames::state(field))));
    direction_.push_back(symbol(ProductNames::direction(field)));
    multiplier_.push_back(symbol(StageNames::lambda(field)));
    value_.push_back(symbol(ProductNames::product(field)));
    dot_value_.push_back(symbol(StageNames::dot(ProductNames::product(field))));
    gathered_.push_back(symbol(ProductNames::gathered(field)));
  }
}

KernelRequest JacobianProduct::request(int first_sum) {
  Graph& graph = *model_.graph;
  KernelRequest request;
  request.names = {"product", "product_tangent", "product_adjoint", "", "", ""};
  request.stage = stage;
  request.series = series_variables(active_, stage, first_sum);
  std::vector<Seed> in_time = {{false, StageNames::stage("t", stage), ProductNames::direction("t")}};
  for (std::size_t q = 0; q < model_.series.size(); ++q) {
    const std::string& name = model_.series[q];
    in_time.push_back({false, StageNames::stage(name, stage), ProductNames::direction(name)});
    Slope slope{q};
    if (const auto active = std::ranges::find(active_.series, name); active != active_.series.end()) {
      slope.active = static_cast<std::size_t>(active - active_.series.begin());
      slope.first_sum = first_sum + EvaluationTime::sums(active_) + 2 * static_cast<int>(slope.active);
      request.series.push_back({ProductNames::direction(name),
                                {ProductNames::weight(name, 0), ProductNames::weight(name, 1)},
                                slope.first_sum});
    }
    slopes_.push_back(slope);
  }
  const std::vector<Expr> rhs = at_stage(model_, model_.right_hand_sides, std::to_string(stage));
  for (const Expr change : hindsight::tangent(rhs, in_time))
    depends_on_time_ = depends_on_time_ || !change.is_constant(0.0);
  std::vector<Seed> seeds = in_time;
  for (const std::string& field : model_.fields) {
    seeds.push_back({true, ProductNames::state(field), ProductNames::direction(field)});
    request.states.push_back(ProductNames::state(field));
    request.multiplier_arrays.push_back(StageNames::lambda(field));
  }
  request.expressions = hindsight::tangent(rhs, seeds);
  request.multiplier = [this, &graph](std::size_t r) { return graph.field(StageNames::lambda(model_.fields[r])); };
  request.epilogue.values = [this](KernelSpec& kernel, const std::vector<Expr>& values) {
    for (std::size_t f = 0; f < values.size(); ++f)
      kernel.outputs.push_back({ProductNames::product(model_.fields[f]), values[f]});
  };
  request.epilogue.tangents = [this](KernelSpec& kernel, const std::vector<Expr>& tangents) {
    for (std::size_t f = 0; f < tangents.size(); ++f)
      kernel.outputs.push_back({StageNames::dot(ProductNames::product(model_.fields[f])), tangents[f]});
  };
  request.epilogue.gather = [this](std::size_t f, Expr gather) {
    return std::vector<KernelSpec::Output>{{ProductNames::gathered(model_.fields[f]), gather}};
  };
  return request;
}

void JacobianProduct::prepare(const Grid& grid, Tables& tables, const SeriesData& series) {
  kernels_.prepare(grid, tables, series.knots(), KernelSet::Libraries::one_per_direction, longest_beside_systems);
}

void JacobianProduct::begin(Tables& tables, const SeriesData& series, const At& at) {
  if (length_ >= 0) tables.scalar(length_) = at.time.h;
  if (s_ >= 0) tables.scalar(s_) = at.s;
  time_->set(tables, series, at.time.t);
  for (const Slope& slope : slopes_)
    if (slope.symbol >= 0) tables.scalar(slope.symbol) = at.s * slope_at(series.values()[slope.series], at.time.t);
  for (const Direction direction : {Direction::forward, Direction::reverse, Direction::tangent})
    tables.fill_noise(kernels_.noise(direction), at.time.index);
  tables.bind_state(state_, at.u);
  tables.bind_state(direction_, at.v);
}

void JacobianProduct::value(Tables& tables, const SeriesData& series, const At& at, double* product) {
  begin(tables, series, at);
  tables.bind_state(value_, product);
  kernels_.kernels().front().run_value(tables);
}

void JacobianProduct::tangent(Tables& tables, const SeriesData& series, const At& at, double* du, double* product) {
  begin(tables, series, at);
  time_->set_directions(tables, series, at.time.t);
  for (const Slope& slope : slopes_)
    if (slope.dot >= 0 && slope.first_sum >= 0)
      tables.scalar(slope.dot) = at.s * slope_at(series.directions()[slope.active], at.time.t);
  tables.bind_state(dot_state_, du);
  tables.bind_state(dot_value_, product);
  kernels_.kernels().front().run_tangent(tables);
}

void JacobianProduct::adjoint(Tables& tables, const SeriesData& series, const At& at, double* w, double* product) {
  begin(tables, series, at);
  time_->bind_knots(tables, series, at.time.t);
  for (const Slope& slope : slopes_) {
    if (slope.first_sum < 0 || slope.weights[0] < 0) continue;
    const Series& values = series.values()[slope.series];
    const bool changes = at.time.t >= values.times.front() && at.time.t < values.times.back();
    const std::size_t k = changes ? values.place(at.time.t).knot : 0;
    const double weight = changes ? at.s / (values.times[k + 1] - values.times[k]) : 0.0;
    tables.scalar(slope.weights[0]) = -weight;
    tables.scalar(slope.weights[1]) = weight;
    for (int knot = 0; knot < 2; ++knot)
      tables.bind_sum(slope.first_sum + knot, series.sums(slope.active, k + static_cast<std::size_t>(knot)));
  }
  tables.bind_state(multiplier_, w);
  tables.bind_state(gathered_, product);
  kernels_.run_gather(0, tables, time_->places());
}

}  // namespace hindsight

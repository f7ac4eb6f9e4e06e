#include "solvers/steppers/implicit/jacobian_product.hpp"

#include <algorithm>
#include <vector>

#include "solvers/equations/derive.hpp"
#include "solvers/steppers/implicit/jacobian_entries.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

/// Of a field: that of v; of the time: s.
std::string direction(const std::string& name) {
  return "direction(" + name + ")";
}

/// The derivatives of expressions of a model for the time and for series that change with it, times s, and for `seeds`.
std::vector<Expr> in_time(const Model& model, const std::vector<Expr>& expressions, std::vector<Seed> seeds = {}) {
  Graph& graph = *model.graph;
  seeds.push_back({false, "t", direction("t")});
  std::vector<std::pair<int, std::string>> rates;  // symbols, and what they stand for
  for (const std::string& name : model.series) {
    seeds.push_back({false, name, direction(name)});
    rates.emplace_back(graph.scalar(direction(name)).node().symbol,
                       StageNames::stage(StageNames::rate(name), EquationKernels::stage));
  }
  return substitute(tangent(expressions, seeds), [&](const Node& node) {
    if (node.op != Op::scalar) return Expr();
    const auto rate = std::ranges::find(rates, int{node.symbol}, &std::pair<int, std::string>::first);
    return rate == rates.end() ? Expr() : graph.scalar(direction("t")) * graph.scalar(rate->second);
  });
}

Model product_of(const Model& model) {
  Model product = model;
  std::vector<Seed> seeds;
  for (const std::string& field : model.fields) {
    product.fields.push_back(direction(field));
    seeds.push_back({true, field, direction(field)});
  }
  product.right_hand_sides = in_time(model, model.right_hand_sides, seeds);
  product.walls.insert(product.walls.end(), model.walls.begin(), model.walls.end());
  for (std::size_t f = model.walls.size(); f < product.walls.size(); ++f)
    for (auto& sides : product.walls[f])
      for (ModelWall& wall : sides)
        if (wall.value.is_valid()) wall.value = in_time(model, {wall.value})[0];
  return product;
}

/// Whether equations or values of walls that they read do.
bool changes_with_time(const Model& model) {
  std::vector<Expr> all = model.right_hand_sides;
  for (const auto& field : model.walls)
    for (const auto& sides : field)
      for (const ModelWall& wall : sides)
        if (wall.value.is_valid() && cross_walls(model, model.right_hand_sides)) all.push_back(wall.value);
  return std::ranges::any_of(in_time(model, all), [](Expr change) { return !change.is_constant(0.0); });
}

}  // namespace

JacobianProduct::JacobianProduct(const Model& model, const Active& active, const Derivatives& wanted)
    : product_(product_of(model)),
      depends_on_time_(changes_with_time(model)),
      equations_(product_, active, "product", SeriesReads::values_and_rates, wanted),
      s_(model.graph->scalar_index(direction("t"))) {}

void JacobianProduct::prepare(const Grid& grid, Tables& tables, const SeriesData& series) {
  equations_.prepare(grid, tables, series.knots(), longest_beside_systems);
}

void JacobianProduct::value(Tables& tables, const SeriesData& series, const At& at, double* product) {
  set_part(tables, at.s);
  equations_.values(tables, series, at.time, {at.u, at.v}, product);
}

void JacobianProduct::tangent(Tables& tables, const SeriesData& series, const At& at, double* du, double* product) {
  set_part(tables, at.s);
  equations_.tangents(tables, series, at.time, {at.u, at.v}, du, product);
}

void JacobianProduct::adjoint(Tables& tables, const SeriesData& series, const At& at, double* w, double* product) {
  set_part(tables, at.s);
  equations_.gather(tables, series, at.time, {at.u, at.v}, w, product);
}

}  // namespace hindsight

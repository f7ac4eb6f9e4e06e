#include "solvers/equations/model.hpp"

#include <algorithm>

namespace hindsight {

Series::Place Series::place(double t) const {
  const auto after = std::upper_bound(times.begin(), times.end(), t);
  if (after == times.begin()) return {0, 0.0};
  const auto knot = static_cast<std::size_t>(after - times.begin()) - 1;
  if (knot + 1 == times.size()) return {knot, 0.0};
  return {knot, (t - times[knot]) / (times[knot + 1] - times[knot])};
}

double Series::at(double t) const {
  const Place p = place(t);
  const double lower = values[p.knot], upper = values[std::min(p.knot + 1, values.size() - 1)];
  return (1.0 - p.weight) * lower + p.weight * upper;
}

double Series::rate_at(double t) const {
  if (t < times.front() || t >= times.back()) return 0.0;
  const std::size_t k = place(t).knot;
  return (values[k + 1] - values[k]) / (times[k + 1] - times[k]);
}

std::array<double, 2> Series::rate_shares(double t) const {
  if (t < times.front() || t >= times.back()) return {0.0, 0.0};
  const std::size_t k = place(t).knot;
  const double share = 1.0 / (times[k + 1] - times[k]);
  return {-share, share};
}

bool Model::is_pointwise() const {
  const std::vector<Reach> all = reach(right_hand_sides);
  return std::all_of(all.begin(), all.end(), [](const Reach& r) { return r.depth == std::array<int, 3>{0, 0, 0}; });
}

bool Model::has_constraints() const {
  return std::find(constrained.begin(), constrained.end(), true) != constrained.end();
}

std::vector<Expr> at_stage(const Model& model, const std::vector<Expr>& expressions, const std::string& stage) {
  Graph& graph = *model.graph;
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return substitute(expressions, [&](const Node& node) {
    if (node.op == Op::field) {
      const std::string name = graph.fields()[node.symbol];
      return has(model.fields, name) ? graph.field(staged(name, stage), node.offset) : Expr();
    }
    if (node.op == Op::scalar) {
      const std::string name = graph.scalars()[node.symbol];
      return name == "t" || has(model.series, name) ? graph.scalar(staged(name, stage)) : Expr();
    }
    return Expr();
  });
}

}  // namespace hindsight

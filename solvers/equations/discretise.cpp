#include "solvers/equations/discretise.hpp"

#include <map>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr std::size_t most_nodes = 200000;

Offset along(int axis, int cells) {
  Offset offset{0, 0, 0};
  offset[static_cast<std::size_t>(axis)] = static_cast<std::int8_t>(cells);
  return offset;
}

/// Weights w_m, m = 1..order/2, of the staggered first derivative: sum w_m (f(m - 1/2) - f(1/2 - m)), unit spacing.
std::vector<double> staggered_weights(int order) {
  switch (order) {
    case 2:
      return {1.0};
    case 4:
      return {9.0 / 8, -1.0 / 24};
    case 6:
      return {75.0 / 64, -25.0 / 384, 3.0 / 640};
    default:
      return {1225.0 / 1024, -245.0 / 3072, 49.0 / 5120, -5.0 / 7168};
  }
}

/// Weights w_m, m = 1..order/2, of interpolation to a midpoint: sum w_m (f(m - 1/2) + f(1/2 - m)).
std::vector<double> midpoint_weights(int order) {
  switch (order) {
    case 2:
      return {1.0 / 2};
    case 4:
      return {9.0 / 16, -1.0 / 16};
    case 6:
      return {75.0 / 128, -25.0 / 256, 3.0 / 256};
    default:
      return {1225.0 / 2048, -245.0 / 2048, 49.0 / 2048, -5.0 / 2048};
  }
}

class Discretiser {
 public:
  explicit Discretiser(const Stencils& stencils) : s_(stencils) {}

  Expr lower(Expr e) const {
    const Node node = e.node();
    switch (node.op) {
      case Op::derivative:
        return central(e.arg(0), node.axis, node.symbol);
      case Op::upwind:
        return upwind_difference(e.arg(0), e.arg(1), node.axis);
      default:
        return divergence(e.arg(0), e.arg(1));
    }
  }

  Expr flux_difference(Expr k, Expr u, int axis) const {
    const std::vector<double> w = staggered_weights(s_.order);
    const Expr flux = face_flux(k, u, axis);
    Expr difference = u.graph().constant(0.0);
    for (int m = static_cast<int>(w.size()); m >= 1; --m)
      difference = difference + w[static_cast<std::size_t>(m - 1)] *
                                    (shift(flux, along(axis, m - 1)) - shift(flux, along(axis, -m)));
    return 1.0 / (spacing(axis) * spacing(axis)) * difference;
  }

 private:
  double spacing(int axis) const { return s_.spacing[static_cast<std::size_t>(axis)]; }

  /// Pairs of neighbours at equal distance are added (or subtracted) before they are weighted.
  Expr central(Expr a, int axis, int n) const {
    if (shift(a, along(axis, 1)).same_as(a)) return a.graph().constant(0.0);
    const std::vector<double> w = central_weights(n, s_.order);
    const int half = s_.order / 2;
    const double scale = n == 1 ? 1.0 / spacing(axis) : 1.0 / (spacing(axis) * spacing(axis));
    Expr sum = n == 2 ? w[static_cast<std::size_t>(half)] * scale * a : a.graph().constant(0.0);
    for (int m = half; m >= 1; --m) {
      const Expr up = shift(a, along(axis, m)), down = shift(a, along(axis, -m));
      const double weight = w[static_cast<std::size_t>(half + m)] * scale;
      sum = sum + weight * (n == 1 ? up - down : up + down);
    }
    return sum;
  }

  Expr face_coefficient(Expr k, int axis) const {
    if (s_.face_mean == FaceMean::harmonic) {
      const Expr next = shift(k, along(axis, 1));
      const Expr sum = k + next, zero = k.graph().constant(0.0);
      const Expr blocked = k.graph().make(Op::equal, {sum, zero});  // two insulating cells
      return where(k.graph().make(Op::logical_not, {blocked}), 2.0 * (k * next) / sum, zero);
    }
    const std::vector<double> w = midpoint_weights(s_.order);
    Expr sum = k.graph().constant(0.0);
    for (int m = static_cast<int>(w.size()); m >= 1; --m)
      sum = sum + w[static_cast<std::size_t>(m - 1)] * (shift(k, along(axis, m)) + shift(k, along(axis, 1 - m)));
    return sum;
  }

  /// k du/daxis at the face half a cell up, times the spacing.
  Expr face_flux(Expr k, Expr u, int axis) const {
    const std::vector<double> w = staggered_weights(s_.order);
    Expr slope = u.graph().constant(0.0);
    for (int m = static_cast<int>(w.size()); m >= 1; --m)
      slope = slope + w[static_cast<std::size_t>(m - 1)] * (shift(u, along(axis, m)) - shift(u, along(axis, 1 - m)));
    return face_coefficient(k, axis) * slope;
  }

  Expr divergence(Expr k, Expr u) const {
    Expr sum = u.graph().constant(0.0);
    for (int axis = 0; axis < s_.dimensions; ++axis) sum = sum + flux_difference(k, u, axis);
    return sum;
  }

  Expr upwind_difference(Expr c, Expr u, int axis) const {
    const double h = spacing(axis);
    const auto at = [&](int m) { return shift(u, along(axis, m)); };
    Expr from_below, from_above;
    if (s_.order == 2) {
      from_below = 1.0 / h * (u - at(-1));
      from_above = 1.0 / h * (at(1) - u);
    } else {
      from_below = 1.0 / (6.0 * h) * (at(-2) - 6.0 * at(-1) + 3.0 * u + 2.0 * at(1));
      from_above = 1.0 / (6.0 * h) * (6.0 * at(1) - at(2) - 3.0 * u - 2.0 * at(-1));
    }
    return c * where(c > c.graph().constant(0.0), from_below, from_above);
  }

  const Stencils& s_;
};

}  // namespace

std::vector<double> central_weights(int derivative, int order) {
  static const std::map<std::pair<int, int>, std::vector<double>> half = {
      // w_0, w_1, ... ; first derivatives are odd, second ones even
      {{1, 2}, {0, 1.0 / 2}},
      {{1, 4}, {0, 2.0 / 3, -1.0 / 12}},
      {{1, 6}, {0, 3.0 / 4, -3.0 / 20, 1.0 / 60}},
      {{1, 8}, {0, 4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280}},
      {{2, 2}, {-2, 1}},
      {{2, 4}, {-5.0 / 2, 4.0 / 3, -1.0 / 12}},
      {{2, 6}, {-49.0 / 18, 3.0 / 2, -3.0 / 20, 1.0 / 90}},
      {{2, 8}, {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560}},
  };
  const auto found = half.find({derivative, order});
  if (found == half.end()) throw Error(ExitCode::bug, "no central weights of this order");
  const std::vector<double>& w = found->second;
  std::vector<double> all;
  for (std::size_t m = w.size() - 1; m >= 1; --m) all.push_back(derivative == 1 ? -w[m] : w[m]);
  all.insert(all.end(), w.begin(), w.end());
  return all;
}

Expr flux_difference(Expr k, Expr u, int axis, const Stencils& stencils) {
  return Discretiser(stencils).flux_difference(k, u, axis);
}

std::vector<Expr> discretise(const std::vector<Expr>& roots, const Stencils& stencils) {
  if (roots.empty()) return {};
  if (stencils.face_mean == FaceMean::harmonic && stencils.order > 2)
    throw InputError("harmonic face means are second order: use them with grid order 2");
  Graph& graph = roots.front().graph();
  const std::size_t before = graph.size();
  const Discretiser discretiser(stencils);
  std::unordered_map<NodeId, Expr> made;
  for (NodeId id : reachable(roots)) {
    const Node node = graph[id];
    std::vector<Expr> args;
    for (int i = 0; i < arity(node.op); ++i) args.push_back(made.at(node.args[static_cast<std::size_t>(i)]));
    Expr result = args.empty() ? Expr(&graph, id) : graph.make(node.op, args, node.axis, node.symbol);
    const Op op = result.node().op;
    if (op == Op::derivative || op == Op::upwind || op == Op::div_grad) result = discretiser.lower(result);
    if (graph.size() - before > most_nodes)
      throw InputError("the discretised equations are too large (200000 nodes): nest fewer derivatives");
    made.emplace(id, result);
  }
  std::vector<Expr> out;
  for (Expr root : roots) out.push_back(made.at(root.id()));
  return out;
}

}  // namespace hindsight

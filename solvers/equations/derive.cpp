#include "solvers/equations/derive.hpp"

#include <algorithm>
#include <map>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// d(node)/d(arg i), for operations whose derivative does not need masking.
Expr partial(Expr e, int i) {
  Graph& graph = e.graph();
  const Expr a = e.arg(0), b = e.arg(1);
  const Expr one = graph.constant(1.0);
  switch (e.node().op) {
    case Op::neg:
      return graph.constant(-1.0);
    case Op::add:
      return one;
    case Op::sub:
      return i == 0 ? one : -one;
    case Op::mul:
      return i == 0 ? b : a;
    case Op::div:
      return i == 0 ? 1.0 / b : -(e / b);
    case Op::pow:
      if (i == 0) return b * pow(a, b - 1.0);
      return where(graph.make(Op::logical_not, {graph.make(Op::equal, {a, graph.constant(0.0)})}), e * log(a),
                   graph.constant(0.0));
    case Op::absolute:
      return graph.make(Op::sign, {a});
    case Op::sqrt:
      return 0.5 / e;
    case Op::exp:
      return e;
    case Op::log:
      return 1.0 / a;
    case Op::sin:
      return cos(a);
    case Op::cos:
      return -sin(a);
    case Op::tan:
      return 1.0 + e * e;
    case Op::tanh:
      return 1.0 - e * e;
    default:
      break;
  }
  throw Error(ExitCode::bug, "derivative of an operation that has none here");
}

/// Piecewise operations: condition under which the first alternative is taken; alternatives are args `first`, first+1.
struct Choice {
  Expr condition;
  int first = 0;
};

Choice choice(Expr e) {
  switch (e.node().op) {
    case Op::minimum:
      return {e.arg(0) <= e.arg(1), 0};
    case Op::maximum:
      return {e.arg(0) >= e.arg(1), 0};
    case Op::where:
      return {e.arg(0), 1};
    default:
      return {};
  }
}

/// Conditions and signs are constant almost everywhere.
bool is_flat(Op op) {
  switch (op) {
    case Op::sign:
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not:
      return true;
    default:
      return false;
  }
}

/// Condition under which a derivative can be non-zero; 1 where nothing is known.
Expr support(Expr d) {
  Graph& graph = d.graph();
  if (d.is_constant(0.0)) return d;
  if (d.node().op == Op::where && d.arg(2).is_constant(0.0)) return d.arg(0);
  return graph.constant(1.0);
}

Expr either(Expr a, Expr b) {
  if (a.is_constant(1.0) || b.is_constant(1.0)) return a.graph().constant(1.0);
  if (a.is_constant(0.0) || a.same_as(b)) return b;
  return b.is_constant(0.0) ? a : a.graph().make(Op::logical_or, {a, b});
}

/// Sums and choices of derivatives that may be masked, as masks where(condition, d, 0) again when a condition is known:
/// a factor that is not finite outside it then leaves the zero alone.
Expr masked_sum(Expr a, Expr b) {
  const Expr zero = a.graph().constant(0.0);
  if (a.is_constant(0.0) || b.is_constant(0.0)) return a + b;
  const Expr condition = either(support(a), support(b));
  const bool alike = !condition.is_constant(1.0) && support(a).same_as(support(b));
  if (alike) return where(condition, masked_sum(a.arg(1), b.arg(1)), zero);
  return condition.is_constant(1.0) ? a + b : where(condition, a + b, zero);
}

Expr masked_choice(Expr condition, Expr yes, Expr no) {
  Graph& graph = yes.graph();
  if (yes.is_constant(0.0)) return where(graph.make(Op::logical_not, {condition}), no, yes);
  const Expr supported = where(condition, support(yes), support(no));
  const Expr d = where(condition, yes, no);
  return no.is_constant(0.0) || supported.is_constant(1.0) ? d : where(supported, d, graph.constant(0.0));
}

Expr chain(Expr e, int i, Expr factor) {
  if (e.node().op == Op::div && i == 0) return factor / e.arg(1);
  return factor * partial(e, i);
}

bool varies_in_space(Expr e) {
  const std::vector<NodeId> nodes = reachable({e});
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const Op op = e.graph()[id].op;
    return op == Op::field || op == Op::coordinate;
  });
}

/// Whether an operation can leave the finite numbers in one cell while it does not in another.
bool may_be_infinite(Expr e) {
  switch (e.node().op) {
    case Op::div:
      return varies_in_space(e.arg(1));
    case Op::pow:
    case Op::sqrt:
    case Op::exp:
    case Op::log:
    case Op::tan:
      return varies_in_space(e);
    default:
      return false;
  }
}

Expr masked(Expr live, Expr bar) {
  if (!live.is_valid()) return bar;
  const std::vector<NodeId> nodes = reachable({bar});
  const bool needs_mask = std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    return may_be_infinite({&bar.graph(), id});
  });
  return needs_mask ? where(live, bar, bar.graph().constant(0.0)) : bar;
}

}  // namespace

std::vector<Expr> tangent(const std::vector<Expr>& roots, const std::vector<Seed>& seeds) {
  if (roots.empty()) return {};
  Graph& graph = roots.front().graph();
  const Expr zero = graph.constant(0.0);
  std::map<int, std::string> field_dual, scalar_dual;
  for (const Seed& seed : seeds) {
    const int symbol = seed.is_field ? graph.field_index(seed.name) : graph.scalar_index(seed.name);
    if (symbol >= 0) (seed.is_field ? field_dual : scalar_dual)[symbol] = seed.dual;
  }
  std::unordered_map<NodeId, Expr> dot;
  for (NodeId id : reachable(roots)) {
    const Node node = graph[id];
    const Expr e(&graph, id);
    Expr result = zero;
    if (node.op == Op::field) {
      if (const auto it = field_dual.find(node.symbol); it != field_dual.end())
        result = graph.field(it->second, node.offset);
    } else if (node.op == Op::scalar) {
      if (const auto it = scalar_dual.find(node.symbol); it != scalar_dual.end()) result = graph.scalar(it->second);
    } else if (const Choice c = choice(e); c.condition.is_valid()) {
      result = masked_choice(c.condition, dot.at(e.arg(c.first).id()), dot.at(e.arg(c.first + 1).id()));
    } else if (!is_flat(node.op)) {
      for (int i = 0; i < arity(node.op); ++i)
        if (const Expr d = dot.at(e.arg(i).id()); !d.is_constant(0.0)) result = masked_sum(result, chain(e, i, d));
    }
    dot.emplace(id, result);
  }
  std::vector<Expr> out;
  for (Expr root : roots) out.push_back(dot.at(root.id()));
  return out;
}

Adjoint adjoint(const std::vector<Expr>& roots, const std::vector<Expr>& lambdas,
                const std::vector<std::string>& fields, const std::vector<std::string>& scalars, const Mask& mask) {
  Adjoint result;
  if (roots.empty()) return result;
  Graph& graph = roots.front().graph();
  const Expr zero = graph.constant(0.0);
  const std::vector<NodeId> nodes = reachable(roots);
  std::map<NodeId, Expr> bar;
  const auto add = [&](Expr target, Expr value) {
    if (value.is_constant(0.0)) return;
    const auto [it, is_new] = bar.emplace(target.id(), value);
    if (!is_new) it->second = masked_sum(it->second, value);
  };
  for (std::size_t r = 0; r < roots.size(); ++r) add(roots[r], lambdas[r]);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const auto found = bar.find(*it);
    const Node node = graph[*it];
    if (found == bar.end() || arity(node.op) == 0 || is_flat(node.op)) continue;
    const Expr e(&graph, *it), seed = found->second;
    if (const Choice c = choice(e); c.condition.is_valid()) {
      add(e.arg(c.first), where(c.condition, seed, zero));
      add(e.arg(c.first + 1), where(graph.make(Op::logical_not, {c.condition}), seed, zero));
    } else {
      for (int i = 0; i < arity(node.op); ++i) add(e.arg(i), chain(e, i, seed));
    }
  }
  for (const std::string& name : fields) {
    const int symbol = graph.field_index(name);
    Expr sum = zero;
    for (NodeId id : nodes) {
      const Node node = graph[id];
      const auto found = bar.find(id);
      if (node.op != Op::field || node.symbol != symbol || found == bar.end()) continue;
      Offset back;
      for (std::size_t a = 0; a < 3; ++a) back[a] = static_cast<std::int8_t>(-node.offset[a]);
      const bool may_lie_outside = mask.holds_here || back != Offset{0, 0, 0};
      sum = sum + shift(may_lie_outside ? masked(mask.live, found->second) : found->second, back);
    }
    result.fields.push_back(sum);
  }
  for (const std::string& name : scalars) {
    const int symbol = graph.scalar_index(name);
    Expr sum = zero;
    for (NodeId id : nodes)
      if (graph[id].op == Op::scalar && graph[id].symbol == symbol)
        if (const auto found = bar.find(id); found != bar.end()) sum = found->second;
    result.scalars.push_back(sum);
  }
  return result;
}

}  // namespace hindsight

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

/// One step of the chain rule: `factor` times the derivative with respect to argument i.
Expr chain(Expr e, int i, Expr factor) {
  if (e.node().op == Op::div && i == 0) return factor / e.arg(1);
  return factor * partial(e, i);
}

/// The tangent of an operation. @param dot the tangent of an argument, by its number.
template <class Dot>
Expr tangent_of(Expr e, Dot dot) {
  if (const Choice c = choice(e); c.condition.is_valid())
    return masked_choice(c.condition, dot(c.first), dot(c.first + 1));
  Expr sum = e.graph().constant(0.0);
  if (is_flat(e.node().op)) return sum;
  for (int i = 0; i < arity(e.node().op); ++i)
    if (const Expr d = dot(i); !d.is_constant(0.0)) sum = masked_sum(sum, chain(e, i, d));
  return sum;
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
  std::vector<Expr> dot(graph.size());  // by node
  for (NodeId id : reachable(roots)) {
    const Node node = graph[id];
    const Expr e(&graph, id);
    Expr result = zero;
    if (node.op == Op::field) {
      if (const auto it = field_dual.find(node.symbol); it != field_dual.end())
        result = graph.field(it->second, node.offset);
    } else if (node.op == Op::scalar) {
      if (const auto it = scalar_dual.find(node.symbol); it != scalar_dual.end()) result = graph.scalar(it->second);
    } else if (arity(node.op) > 0) {
      result = tangent_of(e, [&](int i) { return dot[e.arg(i).id()]; });
    }
    dot[id] = result;
  }
  std::vector<Expr> out;
  for (Expr root : roots) out.push_back(dot[root.id()]);
  return out;
}

Partials::Partials(const std::vector<Expr>& roots) : roots_(roots) {
  if (roots.empty()) return;
  const Graph& graph = roots.front().graph();
  is_in_roots_.resize(graph.size(), false);
  std::unordered_map<NodeId, std::size_t> known;
  for (const NodeId id : reachable(roots)) {
    const Node& node = graph[id];
    Place place{id, node.op == Op::field ? int{node.symbol} : -1, node.offset, {}, arity(node.op)};
    for (std::size_t i = 0; i < static_cast<std::size_t>(place.arity); ++i) place.args[i] = known.at(node.args[i]);
    known.emplace(id, places_.size());
    places_.push_back(place);
    is_in_roots_[id] = true;
  }
  for (const Expr root : roots) root_places_.push_back(known.at(root.id()));
  directions_.resize(places_.size());
  depends_.resize(places_.size());
}

/// Invalid: it is zero.
Expr Partials::direction(const Place& place, int symbol, const Offset& offset, Expr dual) const {
  if (place.arity == 0) return place.symbol == symbol && place.offset == offset ? dual : Expr();
  bool depends = false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(place.arity); ++i) depends |= depends_[place.args[i]] != 0;
  if (!depends) return {};
  Graph& graph = dual.graph();
  const Expr found = tangent_of(Expr(&graph, place.id), [&](int i) {
    const std::size_t arg = place.args[static_cast<std::size_t>(i)];
    return depends_[arg] != 0 ? directions_[arg] : graph.constant(0.0);
  });
  return found.is_constant(0.0) ? Expr() : found;
}

std::vector<Expr> Partials::with_respect_to(const std::string& field, const Offset& offset, const std::string& dual) {
  if (roots_.empty()) return {};
  Graph& graph = roots_.front().graph();
  const Expr seed = graph.field(dual);
  const int symbol = graph.field_index(field);
  for (std::size_t p = 0; p < places_.size(); ++p) {
    directions_[p] = symbol >= 0 ? direction(places_[p], symbol, offset, seed) : Expr();
    depends_[p] = directions_[p].is_valid() ? 1 : 0;
  }
  std::vector<Expr> tangents;
  for (const std::size_t p : root_places_) tangents.push_back(depends_[p] != 0 ? directions_[p] : graph.constant(0.0));
  return substitute(
      tangents,
      [&](const Node& node) {
        return node.op == Op::field && node.symbol == seed.node().symbol ? graph.constant(1.0) : Expr();
      },
      [&](NodeId id) { return id < is_in_roots_.size() && is_in_roots_[id]; });
}

Adjoint adjoint(const std::vector<Expr>& roots, const std::vector<Expr>& lambdas,
                const std::vector<std::string>& fields, const std::vector<std::string>& scalars, const Mask& mask) {
  Adjoint result;
  if (roots.empty()) return result;
  Graph& graph = roots.front().graph();
  const Expr zero = graph.constant(0.0);
  const std::vector<NodeId> nodes = reachable(roots);
  std::vector<Expr> bar(graph.size());  // by node; invalid: zero
  const auto add = [&](Expr target, Expr value) {
    if (value.is_constant(0.0)) return;
    Expr& sum = bar[target.id()];
    sum = sum.is_valid() ? masked_sum(sum, value) : value;
  };
  for (std::size_t r = 0; r < roots.size(); ++r) add(roots[r], lambdas[r]);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Expr e(&graph, *it), seed = bar[*it];
    const Node node = graph[*it];
    if (!seed.is_valid() || arity(node.op) == 0 || is_flat(node.op)) continue;
    if (const Choice c = choice(e); c.condition.is_valid()) {
      add(e.arg(c.first), where(c.condition, seed, zero));
      add(e.arg(c.first + 1), where(graph.make(Op::logical_not, {c.condition}), seed, zero));
    } else {
      for (int i = 0; i < arity(node.op); ++i) add(e.arg(i), chain(e, i, seed));
    }
  }
  std::map<int, std::vector<NodeId>> field_reads, scalar_reads;  // by symbol
  for (const NodeId id : nodes) {
    if (graph[id].op == Op::field) field_reads[graph[id].symbol].push_back(id);
    if (graph[id].op == Op::scalar) scalar_reads[graph[id].symbol].push_back(id);
  }
  for (const std::string& name : fields) {
    Expr sum = zero;
    for (const NodeId id : field_reads[graph.field_index(name)]) {
      const Node node = graph[id];
      if (!bar[id].is_valid()) continue;
      Offset back;
      for (std::size_t a = 0; a < 3; ++a) back[a] = static_cast<std::int8_t>(-node.offset[a]);
      if (mask.beyond && !mask.beyond->leads_inwards(back)) continue;
      const bool may_lie_outside = back != Offset{0, 0, 0};
      sum = sum + shift(may_lie_outside ? masked(mask.live, bar[id]) : bar[id], back);
    }
    result.fields.push_back(sum);
  }
  for (const std::string& name : scalars) {
    Expr sum = zero;
    for (const NodeId id : scalar_reads[graph.scalar_index(name)])
      if (bar[id].is_valid()) sum = bar[id];
    result.scalars.push_back(sum);
  }
  return result;
}

}  // namespace hindsight

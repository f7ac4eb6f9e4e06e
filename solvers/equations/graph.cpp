#include "solvers/equations/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/error.hpp"
#include "solvers/equations/simplify.hpp"

namespace hindsight {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdULL;
}

std::uint64_t hash_of(const Node& node) {
  std::uint64_t hash = static_cast<std::uint64_t>(node.op);
  hash = mix(hash, (std::uint64_t{node.axis} << 32U) | static_cast<std::uint32_t>(node.symbol));
  for (std::int8_t o : node.offset) hash = mix(hash, static_cast<std::uint8_t>(o));
  hash = mix(hash, std::bit_cast<std::uint64_t>(node.value));
  for (int i = 0; i < arity(node.op); ++i) hash = mix(hash, node.args[static_cast<std::size_t>(i)]);
  return hash ^ (hash >> 32U);
}

/// Bitwise on values, so that -0 and 0 stay apart.
bool equal(const Node& a, const Node& b) {
  return a.op == b.op && a.axis == b.axis && a.symbol == b.symbol && a.offset == b.offset &&
         std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value) && a.args == b.args;
}

}  // namespace

int arity(Op op) {
  switch (op) {
    case Op::constant:
    case Op::scalar:
    case Op::field:
    case Op::coordinate:
      return 0;
    case Op::neg:
    case Op::absolute:
    case Op::sign:
    case Op::sqrt:
    case Op::exp:
    case Op::log:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::tanh:
    case Op::logical_not:
    case Op::derivative:
      return 1;
    case Op::fma:
    case Op::where:
      return 3;
    default:
      return 2;
  }
}

int Graph::Names::find_or_add(const std::string& name) {
  const auto [at, is_new] = index.try_emplace(name, static_cast<int>(all.size()));
  if (is_new) all.push_back(name);
  return at->second;
}

int Graph::Names::find(std::string_view name) const {
  const auto found = index.find(name);
  return found == index.end() ? -1 : found->second;
}

void Graph::grow_index() {
  index_.assign(std::max<std::size_t>(1024, 2 * index_.size()), 0);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    std::size_t at = hash_of(nodes_[id]) & (index_.size() - 1);
    while (index_[at] != 0) at = (at + 1) & (index_.size() - 1);
    index_[at] = id + 1;
  }
}

Expr Graph::intern(const Node& node) {
  if (2 * nodes_.size() >= index_.size()) grow_index();
  std::size_t at = hash_of(node) & (index_.size() - 1);
  for (; index_[at] != 0; at = (at + 1) & (index_.size() - 1))
    if (equal(nodes_[index_[at] - 1], node)) return {this, index_[at] - 1};
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(node);
  index_[at] = id + 1;
  return {this, id};
}

Expr Graph::constant(double value) {
  Node node;
  node.value = value;
  return intern(node);
}

Expr Graph::scalar(const std::string& name) {
  Node node;
  node.op = Op::scalar;
  node.symbol = scalars_.find_or_add(name);
  return intern(node);
}

Expr Graph::field(const std::string& name, Offset offset) {
  Node node;
  node.op = Op::field;
  node.symbol = fields_.find_or_add(name);
  node.offset = offset;
  return intern(node);
}

Expr Graph::coordinate(int axis, Offset offset) {
  Node node;
  node.op = Op::coordinate;
  node.axis = static_cast<std::uint8_t>(axis);
  node.offset[static_cast<std::size_t>(axis)] = offset[static_cast<std::size_t>(axis)];
  return intern(node);
}

Expr Graph::noise(Noise noise) {
  const std::string name = fmt::format("{}({}, {}){}", noise.is_normal ? "noise" : "uniform", noise.seed, noise.stream,
                                       noise.changes_with_step ? "" : "@start");
  const bool is_new = field_index(name) < 0;
  const Expr read = field(name);
  noise.symbol = read.node().symbol;
  if (is_new) {
    noises_.push_back(noise);
    set_kind(noise.symbol, {});  // numbers are made as doubles
  }
  return read;
}

Expr Graph::make(Op op, const std::vector<Expr>& args, int axis, int symbol) {
  if (Expr simple = simplify_local(*this, op, args, axis, symbol); simple.is_valid()) return simple;
  Node node;
  node.op = op;
  node.axis = static_cast<std::uint8_t>(axis);
  node.symbol = symbol;
  for (std::size_t i = 0; i < args.size(); ++i) node.args[i] = args[i].id();
  return intern(node);
}

ArrayKind Graph::kind(int field) const {
  const auto known = kinds_.find(field);
  return known == kinds_.end() ? ArrayKind{element_, 0} : known->second;
}

int Graph::scalar_index(std::string_view name) const {
  return scalars_.find(name);
}
int Graph::field_index(std::string_view name) const {
  return fields_.find(name);
}

namespace {
Expr unary(Op op, Expr a) {
  return a.graph().make(op, {a});
}
Expr binary(Op op, Expr a, Expr b) {
  return a.graph().make(op, {a, b});
}
Expr number(Expr like, double value) {
  return like.graph().constant(value);
}
}  // namespace

Expr operator+(Expr a, Expr b) {
  return binary(Op::add, a, b);
}
Expr operator-(Expr a, Expr b) {
  return binary(Op::sub, a, b);
}
Expr operator*(Expr a, Expr b) {
  return binary(Op::mul, a, b);
}
Expr operator/(Expr a, Expr b) {
  return binary(Op::div, a, b);
}
Expr operator-(Expr a) {
  return unary(Op::neg, a);
}
Expr operator+(Expr a, double b) {
  return a + number(a, b);
}
Expr operator-(Expr a, double b) {
  return a - number(a, b);
}
Expr operator*(Expr a, double b) {
  return a * number(a, b);
}
Expr operator/(Expr a, double b) {
  return a / number(a, b);
}
Expr operator+(double a, Expr b) {
  return number(b, a) + b;
}
Expr operator-(double a, Expr b) {
  return number(b, a) - b;
}
Expr operator*(double a, Expr b) {
  return number(b, a) * b;
}
Expr operator/(double a, Expr b) {
  return number(b, a) / b;
}
Expr operator<(Expr a, Expr b) {
  return binary(Op::less, a, b);
}
Expr operator<=(Expr a, Expr b) {
  return binary(Op::less_equal, a, b);
}
Expr operator>(Expr a, Expr b) {
  return binary(Op::less, b, a);
}
Expr operator>=(Expr a, Expr b) {
  return binary(Op::less_equal, b, a);
}
Expr sqrt(Expr a) {
  return unary(Op::sqrt, a);
}
Expr exp(Expr a) {
  return unary(Op::exp, a);
}
Expr log(Expr a) {
  return unary(Op::log, a);
}
Expr sin(Expr a) {
  return unary(Op::sin, a);
}
Expr cos(Expr a) {
  return unary(Op::cos, a);
}
Expr tan(Expr a) {
  return unary(Op::tan, a);
}
Expr tanh(Expr a) {
  return unary(Op::tanh, a);
}
Expr abs(Expr a) {
  return unary(Op::absolute, a);
}
Expr min(Expr a, Expr b) {
  return binary(Op::minimum, a, b);
}
Expr max(Expr a, Expr b) {
  return binary(Op::maximum, a, b);
}
Expr where(Expr condition, Expr yes, Expr no) {
  return yes.graph().make(Op::where, {condition, yes, no});
}
Expr any_not_zero(const std::vector<Expr>& values) {
  Graph& graph = values.front().graph();
  Expr all_zero = graph.constant(1.0);
  for (const Expr value : values) {
    const Expr zero = graph.make(Op::equal, {value, graph.constant(0.0)});
    all_zero = all_zero.is_constant(1.0) ? zero : graph.make(Op::logical_and, {all_zero, zero});
  }
  return graph.make(Op::logical_not, {all_zero});
}
Expr pow(Expr a, double b) {
  return pow(a, number(a, b));
}

Expr pow(Expr a, Expr b) {
  if (b.is_constant()) {
    const double exponent = b.node().value;
    if (exponent == 0.5) return sqrt(a);
    if (exponent == std::nearbyint(exponent) && std::fabs(exponent) <= 8) {
      const int n = static_cast<int>(std::fabs(exponent));
      if (n == 0) return number(a, 1.0);
      Expr power = a;
      if (n % 2 == 0) {
        const Expr half = pow(a, n / 2.0);
        power = half * half;
      } else if (n > 1) {
        power = pow(a, n - 1.0) * a;
      }
      return exponent < 0 ? 1.0 / power : power;
    }
  }
  return binary(Op::pow, a, b);
}

Expr derivative(Expr a, int axis, int order) {
  return a.graph().make(Op::derivative, {a}, axis, order);
}

Expr laplacian(Expr a, int dimensions) {
  Expr sum = derivative(a, 0, 2);
  for (int axis = 1; axis < dimensions; ++axis) sum = sum + derivative(a, axis, 2);
  return sum;
}

Expr grad2(Expr a, int dimensions) {
  Expr sum = pow(derivative(a, 0, 1), 2.0);
  for (int axis = 1; axis < dimensions; ++axis) sum = sum + pow(derivative(a, axis, 1), 2.0);
  return sum;
}

Expr div_grad(Expr k, Expr a) {
  return binary(Op::div_grad, k, a);
}
Expr upwind(Expr velocity, Expr a, int axis) {
  return a.graph().make(Op::upwind, {velocity, a}, axis);
}

std::vector<NodeId> reachable(const std::vector<Expr>& roots, const std::function<bool(NodeId)>& is_beyond) {
  if (roots.empty()) return {};
  const Graph& graph = roots.front().graph();
  std::vector<bool> seen(graph.size(), false);
  std::vector<NodeId> stack, found;
  for (Expr root : roots) stack.push_back(root.id());
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (seen[id] || (is_beyond && is_beyond(id))) continue;
    seen[id] = true;
    found.push_back(id);
    const Node& node = graph[id];
    for (int i = 0; i < arity(node.op); ++i) stack.push_back(node.args[static_cast<std::size_t>(i)]);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Expr shift(Expr e, Offset by) {
  if (by == Offset{0, 0, 0}) return e;
  Graph& graph = e.graph();
  return substitute({e}, [&](const Node& node) {
    if (node.op != Op::field && node.op != Op::coordinate) return Expr();
    Node moved = node;
    for (std::size_t a = 0; a < 3; ++a) {
      if (node.op == Op::coordinate && a != node.axis) continue;
      const int sum = node.offset[a] + by[a];
      if (sum < -100 || sum > 100) throw InputError("nested derivatives reach more than 100 cells away");
      moved.offset[a] = static_cast<std::int8_t>(sum);
    }
    return graph.intern(moved);
  })[0];
}

void Reach::add(const Offset& read_at) {
  read = true;
  int off_centre = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    depth[a] = std::max(depth[a], std::abs(int{read_at[a]}));
    off_centre += read_at[a] != 0 ? 1 : 0;
  }
  corners = corners || off_centre > 1;
}

std::vector<Reach> reach(const std::vector<Expr>& roots) {
  if (roots.empty()) return {};
  const Graph& graph = roots.front().graph();
  std::vector<Reach> all(graph.fields().size());
  for (const NodeId id : reachable(roots))
    if (const Node& node = graph[id]; node.op == Op::field) all[static_cast<std::size_t>(node.symbol)].add(node.offset);
  return all;
}

}  // namespace hindsight

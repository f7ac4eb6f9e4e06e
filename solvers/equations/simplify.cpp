#include "solvers/equations/simplify.hpp"

#include <cmath>

#include "solvers/equations/interpret.hpp"

namespace hindsight {
namespace {

bool is_mask(Expr e) {
  return e.node().op == Op::where && e.arg(2).is_constant(0.0);
}
bool is_neg(Expr e) {
  return e.node().op == Op::neg;
}
bool has_exact_reciprocal(double c) {
  int exponent = 0;
  return std::isnormal(c) && std::fabs(std::frexp(c, &exponent)) == 0.5 && std::isnormal(1.0 / c);
}

Expr simplify_add(Expr a, Expr b) {
  if (a.is_constant(0.0)) return b;
  if (b.is_constant(0.0)) return a;
  if (is_neg(b)) return a - b.arg(0);
  if (is_neg(a)) return b - a.arg(0);
  if (b.is_constant()) return b + a;
  return {};
}

Expr simplify_sub(Expr a, Expr b) {
  if (b.is_constant(0.0)) return a;
  if (a.is_constant(0.0)) return -b;
  if (is_neg(b)) return a + b.arg(0);
  if (a.same_as(b) && !a.is_constant()) return a.graph().constant(0.0);
  return {};
}

Expr simplify_mul(Expr a, Expr b) {
  if (a.is_constant(0.0) || b.is_constant(0.0)) return a.graph().constant(0.0);
  if (a.is_constant(1.0)) return b;
  if (b.is_constant(1.0)) return a;
  if (a.is_constant(-1.0)) return -b;
  if (b.is_constant(-1.0)) return -a;
  if (b.is_constant()) return b * a;
  if (is_mask(a)) return where(a.arg(0), a.arg(1) * b, a.arg(2));
  if (is_mask(b)) return where(b.arg(0), a * b.arg(1), b.arg(2));
  if (a.is_constant() && b.node().op == Op::mul && b.arg(0).is_constant())
    return a.graph().constant(a.node().value * b.arg(0).node().value) * b.arg(1);
  if (is_neg(a) && is_neg(b)) return a.arg(0) * b.arg(0);
  if (is_neg(a)) return -(a.arg(0) * b);
  if (is_neg(b)) return -(a * b.arg(0));
  return {};
}

Expr simplify_div(Expr a, Expr b) {
  if (a.is_constant(0.0) && !b.is_constant(0.0)) return a;
  if (b.is_constant(1.0)) return a;
  if (b.is_constant(-1.0)) return -a;
  if (b.is_constant() && has_exact_reciprocal(b.node().value)) return a.graph().constant(1.0 / b.node().value) * a;
  if (is_mask(a)) return where(a.arg(0), a.arg(1) / b, a.arg(2));
  if (is_neg(a)) return -(a.arg(0) / b);
  return {};
}

Expr simplify_where(Expr condition, Expr yes, Expr no) {
  if (condition.is_constant()) return condition.node().value != 0.0 ? yes : no;
  if (yes.same_as(no)) return yes;
  return {};
}

}  // namespace

Expr simplify_local(Graph& graph, Op op, const std::vector<Expr>& args, int, int) {
  const bool continuous = op == Op::derivative || op == Op::div_grad || op == Op::upwind;
  bool constants = !args.empty() && !continuous;
  for (Expr a : args) constants = constants && a.is_constant();
  if (constants) {
    double v[3] = {0, 0, 0};
    for (std::size_t i = 0; i < args.size(); ++i) v[i] = args[i].node().value;
    const double value = apply(op, v[0], v[1], v[2]);
    if (!std::isfinite(value)) return {};  // stays an operation, which messages can name
    return graph.constant(value);
  }
  switch (op) {
    case Op::add:
      return simplify_add(args[0], args[1]);
    case Op::sub:
      return simplify_sub(args[0], args[1]);
    case Op::mul:
      return simplify_mul(args[0], args[1]);
    case Op::div:
      return simplify_div(args[0], args[1]);
    case Op::where:
      return simplify_where(args[0], args[1], args[2]);
    case Op::neg:
      if (is_neg(args[0])) return args[0].arg(0);
      if (is_mask(args[0])) return where(args[0].arg(0), -args[0].arg(1), args[0].arg(2));
      if (args[0].node().op == Op::sub) return args[0].arg(1) - args[0].arg(0);
      return {};
    default:
      return {};
  }
}

std::vector<Expr> fuse_multiply_add(const std::vector<Expr>& roots) {
  if (roots.empty()) return {};
  Graph& graph = roots.front().graph();
  std::vector<Expr> made(graph.size());  // by node
  for (NodeId id : reachable(roots)) {
    const Node node = graph[id];
    std::vector<Expr> args;
    for (int i = 0; i < arity(node.op); ++i) args.push_back(made[node.args[static_cast<std::size_t>(i)]]);
    Expr result(&graph, id);
    if (node.op == Op::add || node.op == Op::sub) {
      const Expr a = args[0], b = args[1];
      const bool subtract = node.op == Op::sub;
      if (b.node().op == Op::mul) {
        result = graph.make(Op::fma, {subtract ? -b.arg(0) : b.arg(0), b.arg(1), a});
      } else if (a.node().op == Op::mul) {
        result = graph.make(Op::fma, {a.arg(0), a.arg(1), subtract ? -b : b});
      } else {
        result = graph.make(node.op, args);
      }
    } else if (!args.empty()) {
      result = graph.make(node.op, args, node.axis, node.symbol);
    }
    made[id] = result;
  }
  std::vector<Expr> out;
  for (Expr root : roots) out.push_back(made[root.id()]);
  return out;
}

}  // namespace hindsight

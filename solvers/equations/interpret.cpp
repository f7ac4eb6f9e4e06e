#include "solvers/equations/interpret.hpp"

#include <cmath>
#include <limits>

#include "runtime/error.hpp"

namespace hindsight {

double apply(Op op, double a, double b, double c) {
  switch (op) {
    case Op::neg:
      return -a;
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return b == 0.0 ? (a == 0.0 || a != a
                             ? std::numeric_limits<double>::quiet_NaN()
                             : std::copysign(std::numeric_limits<double>::infinity(), a) * std::copysign(1.0, b))
                      : a / b;
    case Op::pow:
      return std::pow(a, b);
    case Op::fma:
      return std::fma(a, b, c);
    case Op::minimum:
      return a <= b ? a : b;
    case Op::maximum:
      return a >= b ? a : b;
    case Op::absolute:
      return std::fabs(a);
    case Op::sign:
      return (a > 0.0 ? 1.0 : 0.0) - (a < 0.0 ? 1.0 : 0.0);
    case Op::sqrt:
      return std::sqrt(a);
    case Op::exp:
      return std::exp(a);
    case Op::log:
      return std::log(a);
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::cos(a);
    case Op::tan:
      return std::tan(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::less:
      return a < b ? 1.0 : 0.0;
    case Op::less_equal:
      return a <= b ? 1.0 : 0.0;
    case Op::equal:
      return a == b ? 1.0 : 0.0;
    case Op::logical_and:
      return a != 0.0 && b != 0.0 ? 1.0 : 0.0;
    case Op::logical_or:
      return a != 0.0 || b != 0.0 ? 1.0 : 0.0;
    case Op::logical_not:
      return a == 0.0 ? 1.0 : 0.0;
    case Op::where:
      return a != 0.0 ? b : c;
    default:
      throw Error(ExitCode::bug, "an operation without a value was evaluated");
  }
}

std::unordered_map<NodeId, double> interpret_all(const std::vector<Expr>& roots, const Bindings& bindings) {
  std::unordered_map<NodeId, double> value;
  if (roots.empty()) return value;
  const Graph& graph = roots.front().graph();
  for (NodeId id : reachable(roots)) {
    const Node& node = graph[id];
    switch (node.op) {
      case Op::constant:
        value[id] = node.value;
        break;
      case Op::scalar:
        value[id] = bindings.scalar(node.symbol);
        break;
      case Op::field:
        value[id] = bindings.field(node.symbol, node.offset);
        break;
      case Op::coordinate:
        value[id] = bindings.coordinate(node.axis, node.offset[node.axis]);
        break;
      default: {
        double v[3] = {0, 0, 0};
        for (std::size_t i = 0; i < static_cast<std::size_t>(arity(node.op)); ++i) v[i] = value.at(node.args[i]);
        value[id] = apply(node.op, v[0], v[1], v[2]);
      }
    }
  }
  return value;
}

std::vector<double> interpret(const std::vector<Expr>& roots, const Bindings& bindings) {
  const std::unordered_map<NodeId, double> value = interpret_all(roots, bindings);
  std::vector<double> out;
  for (Expr root : roots) out.push_back(value.at(root.id()));
  return out;
}

}  // namespace hindsight

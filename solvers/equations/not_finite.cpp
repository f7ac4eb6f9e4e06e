#include "solvers/equations/not_finite.hpp"

#include <fmt/format.h>

#include <cmath>

#include "solvers/equations/print.hpp"

namespace hindsight {
namespace {

constexpr std::size_t longest = 100;  // of an expression in a message

bool is_whole(double value) {
  return value == std::nearbyint(value);
}

/// What is wrong with an operation on these arguments; empty when they are only too large.
std::string without_value(Op op, double a, double b) {
  if (op == Op::div && b == 0) return "division by zero";
  if (op == Op::sqrt) return fmt::format("square root of a negative number ({:.6g})", a);
  if (op == Op::log && a == 0) return "logarithm of zero";
  if (op == Op::log) return fmt::format("logarithm of a negative number ({:.6g})", a);
  if (op == Op::pow && a == 0 && b < 0) return "zero to a negative power";
  if (op == Op::pow && a < 0 && !is_whole(b)) return fmt::format("power of a negative number ({:.6g}^{:.6g})", a, b);
  return "";
}

}  // namespace

bool NotFinite::is_overflow() const {
  return arity(at.node().op) > 0 && without_value(at.node().op, arguments[0], arguments[1]).empty();
}

std::string NotFinite::text() const {
  std::string expression = to_text(at);
  if (expression.size() > longest) expression = expression.substr(0, longest) + "...";
  if (arity(at.node().op) == 0) return fmt::format("'{}' is {}", expression, value);
  const std::string what = without_value(at.node().op, arguments[0], arguments[1]);
  return fmt::format("{} in '{}'", what.empty() ? "overflow" : what, expression);
}

std::optional<NotFinite> find_not_finite(Expr root, const Bindings& bindings) {
  const std::unordered_map<NodeId, double> value = interpret_all({root}, bindings);
  const auto is_finite = [&](NodeId id) { return std::isfinite(value.at(id)); };
  if (is_finite(root.id())) return std::nullopt;
  const Graph& graph = root.graph();
  for (NodeId id = root.id();;) {
    const Node& node = graph[id];
    const auto arguments = static_cast<std::size_t>(arity(node.op));
    NodeId cause = id;
    for (std::size_t i = arguments; i-- > 0;) {
      const bool is_taken = node.op != Op::where || i == (value.at(node.args[0]) != 0.0 ? 1U : 2U);
      if (is_taken && !is_finite(node.args[i])) cause = node.args[i];
    }
    if (cause != id) {
      id = cause;
      continue;
    }
    NotFinite found{Expr(&root.graph(), id), {}, value.at(id)};
    for (std::size_t i = 0; i < arguments; ++i) found.arguments[i] = value.at(node.args[i]);
    return found;
  }
}

}  // namespace hindsight

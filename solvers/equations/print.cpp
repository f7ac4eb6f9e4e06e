#include "solvers/equations/print.hpp"

#include <fmt/format.h>

#include <cmath>

namespace hindsight {
namespace {

enum Strength {
  strength_or,
  strength_and,
  strength_not,
  strength_compare,
  strength_sum,
  strength_product,
  strength_sign,
  strength_power,
  strength_atom
};

constexpr std::size_t longest = 4000;  // longer parts are shown as (...)

struct Piece {
  std::string text;
  int strength;
};

std::string guard(const Piece& piece, int least) {
  return piece.strength < least ? "(" + piece.text + ")" : piece.text;
}

std::string offset_text(const Offset& offset) {
  std::string inside;
  for (std::size_t a = 0; a < 3; ++a)
    if (offset[a] != 0)
      inside += fmt::format(
          "{}{}{:+d}", inside.empty() ? "" : ",", "xyz" [a], int { offset[a] });
  return inside.empty() ? "" : "[" + inside + "]";
}

const char* function_name(Op op) {
  switch (op) {
    case Op::absolute:
      return "abs";
    case Op::sign:
      return "sign";
    case Op::sqrt:
      return "sqrt";
    case Op::exp:
      return "exp";
    case Op::log:
      return "log";
    case Op::sin:
      return "sin";
    case Op::cos:
      return "cos";
    case Op::tan:
      return "tan";
    case Op::tanh:
      return "tanh";
    case Op::minimum:
      return "min";
    case Op::maximum:
      return "max";
    case Op::where:
      return "where";
    default:
      return "?";
  }
}

/// Without the mark of names that no case can give.
std::string name_text(const std::string& name) {
  return name.starts_with('@') ? name.substr(1) : name;
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  Piece print(NodeId id) {
    if (const auto known = known_.find(id); known != known_.end()) return known->second;
    Piece piece = make(graph_[id]);
    if (piece.text.size() > longest) piece = {"(...)", strength_atom};
    known_.emplace(id, piece);
    return piece;
  }

 private:
  Piece make(const Node& node) {
    const auto part = [&](std::size_t i) { return print(node.args[i]); };
    const auto infix = [&](const char* symbol, int strength, int right) {
      return Piece{guard(part(0), strength) + symbol + guard(part(1), right), strength};
    };
    const auto compare = [&](const char* symbol) {
      return Piece{guard(part(0), strength_sum) + symbol + guard(part(1), strength_sum), strength_compare};
    };
    switch (node.op) {
      case Op::constant:
        return {fmt::format("{:.6g}", node.value), node.value < 0 ? strength_sign : strength_atom};
      case Op::scalar:
        return {name_text(graph_.scalars()[node.symbol]), strength_atom};
      case Op::field:
        return {name_text(graph_.fields()[node.symbol]) + offset_text(node.offset), strength_atom};
      case Op::coordinate:
        return {std::string(1, "xyz"[node.axis]) + offset_text(node.offset), strength_atom};
      case Op::neg:
        return {"-" + guard(part(0), strength_product), strength_sign};
      case Op::add:
        return infix(" + ", strength_sum, strength_sum);
      case Op::sub:
        return infix(" - ", strength_sum, strength_product);
      case Op::mul:
        if (node.args[0] == node.args[1]) return {guard(part(0), strength_atom) + "^2", strength_power};
        return infix("*", strength_product, strength_sign);
      case Op::div:
        return infix("/", strength_product, strength_power);
      case Op::pow:
        return {guard(part(0), strength_atom) + "^" + guard(part(1), strength_power), strength_power};
      case Op::fma: {
        const Piece product{guard(part(0), strength_product) + "*" + guard(part(1), strength_sign), strength_product};
        return {product.text + " + " + guard(part(2), strength_sum), strength_sum};
      }
      case Op::less:
        return compare(" < ");
      case Op::less_equal:
        return compare(" <= ");
      case Op::equal:
        return compare(" == ");
      case Op::logical_and:
        return infix(" and ", strength_and, strength_not);
      case Op::logical_or:
        return infix(" or ", strength_or, strength_and);
      case Op::logical_not:
        return {"not " + guard(part(0), strength_not), strength_not};
      case Op::derivative:
        return {fmt::format("d{}({})", std::string(node.symbol, "xyz"[node.axis]), part(0).text), strength_atom};
      case Op::div_grad:
        return {fmt::format("div({}*grad({}))", guard(part(0), strength_product), part(1).text), strength_atom};
      case Op::upwind:
        return {fmt::format("upwind({}, {}, {})", part(0).text, part(1).text, "xyz"[node.axis]), strength_atom};
      default:
        break;
    }
    std::string text = function_name(node.op);
    text += "(";
    for (int i = 0; i < arity(node.op); ++i) text += (i ? ", " : "") + part(static_cast<std::size_t>(i)).text;
    return {text + ")", strength_atom};
  }

  const Graph& graph_;
  std::unordered_map<NodeId, Piece> known_;
};

}  // namespace

std::string to_text(Expr e) {
  Printer printer(e.graph());
  for (NodeId id : reachable({e})) printer.print(id);  // arguments first: no deep recursion
  return printer.print(e.id()).text;
}

int flops(const std::vector<Expr>& roots) {
  if (roots.empty()) return 0;
  const Graph& graph = roots.front().graph();
  std::unordered_map<NodeId, bool> per_cell;
  int count = 0;
  for (NodeId id : reachable(roots)) {
    const Node& node = graph[id];
    bool varies = node.op == Op::field || (node.op == Op::coordinate && node.axis == 0);
    for (int i = 0; i < arity(node.op); ++i) varies = varies || per_cell.at(node.args[static_cast<std::size_t>(i)]);
    per_cell[id] = varies;
    if (varies && arity(node.op) > 0 && node.op != Op::where && node.op != Op::neg) count += node.op == Op::fma ? 2 : 1;
  }
  return count;
}

}  // namespace hindsight

#include "solvers/equations/vector_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hindsight {
namespace {

using Level = KernelText::Level;

struct Pattern {
  Op op;
  const char* text;
};

/// The C of operations on vectors, where it is not that of their cells.
constexpr Pattern patterns[] = {
    {Op::fma, "FMA({0}, {1}, {2})"},
    {Op::minimum, "CHOICE({0} <= {1}, {0}, {1})"},
    {Op::maximum, "CHOICE({0} >= {1}, {0}, {1})"},
    {Op::absolute, "MAGNITUDE({0})"},
    {Op::sign, "CHOICE({0} > ALL(0.0), ALL(1.0), ALL(0.0)) - CHOICE({0} < ALL(0.0), ALL(1.0), ALL(0.0))"},
};

/// Of those that are true or false.
constexpr Pattern masks[] = {
    {Op::less, "{0} < {1}"},
    {Op::less_equal, "{0} <= {1}"},
    {Op::equal, "{0} == {1}"},
};

template <std::size_t count>
const char* find(const Pattern (&all)[count], Op op) {
  const auto* const found = std::ranges::find(all, op, &Pattern::op);
  return found == std::end(all) ? nullptr : found->text;
}

/// What compilers know of vectors as of doubles.
bool is_arithmetic(Op op) {
  return op == Op::neg || op == Op::add || op == Op::sub || op == Op::mul || op == Op::div;
}

bool is_true_or_false(Op op) {
  return find(masks, op) != nullptr || op == Op::logical_and || op == Op::logical_or || op == Op::logical_not;
}

// Beyond it, neighbours are no part of the two vectors that are next to a cell's own.
constexpr int farthest = 7;

}  // namespace

bool VectorText::suits(const KernelText& text) {
  const Graph& graph = text.graph();
  const auto is_of_doubles = [&](int symbol) { return graph.kind(symbol).element == Element::float64; };
  const auto is_known = [&](NodeId id) {
    if (text.level(id) != Level::cell || text.is_leaf(id)) return true;
    const Op op = graph[id].op;
    return is_arithmetic(op) || find(patterns, op) != nullptr || is_true_or_false(op) || op == Op::where;
  };
  for (std::size_t i = 0; i < text.kernel().outputs.size(); ++i)
    if (const int symbol = text.output_field(i); symbol >= 0 && !is_of_doubles(symbol)) return false;
  return graph.element() == Element::float64 && std::ranges::all_of(text.nodes(), is_known) &&
         std::ranges::all_of(text.fields_read(), is_of_doubles);
}

VectorText::VectorText(const KernelText& text, bool may_read_more, std::int8_t rows) : text_(text), rows_(rows) {
  for (const NodeId id : text.nodes()) {
    const Node& node = text.graph()[id];
    if (may_read_more && !text.is_given(id) && node.op == Op::field && node.offset[0] != 0 &&
        text.graph().kind(node.symbol).layout == 0)
      beside_[{node.symbol, node.offset[1], node.offset[2]}].insert(node.offset[0]);
  }
}

std::string VectorText::name(NodeId id) const {
  return rows_ == 0 ? KernelText::name(id) : fmt::format("{}_{}", KernelText::name(id), int{rows_});
}

std::string VectorText::all(NodeId id) const {
  return text_.level(id) == Level::cell ? name(id) : fmt::format("ALL({})", KernelText::name(id));
}

/// One neighbour alone is read as it lies: two vectors would have to be read for it.
std::string VectorText::read(const Node& node) const {
  const int by = node.offset[0];
  const auto y = static_cast<std::int8_t>(node.offset[1] + rows_);
  const auto row = beside_.find({node.symbol, node.offset[1], node.offset[2]});
  if (by == 0 || row == beside_.end() || row->second.size() < 2 || by < -farthest || by > farthest)
    return fmt::format("AT({})", text_.read_text(node.symbol, {node.offset[0], y, node.offset[2]}));
  const std::string cell = text_.read_text(node.symbol, {0, y, node.offset[2]});
  return by > 0 ? fmt::format("BEHIND({}, {})", cell, by) : fmt::format("BEFORE({}, {})", cell, -by);
}

/// All bits of a lane where it is true.
std::string VectorText::mask(NodeId id) const {
  const Node& node = text_.graph()[id];
  if (text_.level(id) == Level::cell && !text_.is_leaf(id) && is_true_or_false(node.op)) return "m" + name(id);
  return fmt::format("({} != ALL(0.0))", all(id));
}

std::string VectorText::value_of_mask(const Node& node) const {
  if (node.op == Op::logical_and) return fmt::format("{} & {}", mask(node.args[0]), mask(node.args[1]));
  if (node.op == Op::logical_or) return fmt::format("{} | {}", mask(node.args[0]), mask(node.args[1]));
  if (node.op == Op::logical_not) return fmt::format("~{}", mask(node.args[0]));
  return fmt::format(fmt::runtime(find(masks, node.op)), all(node.args[0]), all(node.args[1]));
}

std::string VectorText::value(NodeId id) const {
  const Node& node = text_.graph()[id];
  if (text_.is_leaf(id))
    return node.op == Op::field && !text_.is_given(id) ? read(node) : fmt::format("AT({})", text_.value(id));
  if (node.op == Op::where)
    return fmt::format("CHOICE({}, {}, {})", mask(node.args[0]), all(node.args[1]), all(node.args[2]));
  if (is_true_or_false(node.op)) return fmt::format("CHOICE({}, ALL(1.0), ALL(0.0))", mask(id));
  std::array<std::string, 3> args;
  for (std::size_t a = 0; a < static_cast<std::size_t>(arity(node.op)); ++a) args[a] = all(node.args[a]);
  if (is_arithmetic(node.op)) return operation_text(node.op, args[0], args[1], args[2]);
  return fmt::format(fmt::runtime(find(patterns, node.op)), args[0], args[1], args[2]);
}

std::string VectorText::values() const {
  std::string text;
  for (const NodeId id : text_.nodes()) {
    if (text_.level(id) != Level::cell) continue;
    const Node& node = text_.graph()[id];
    if (!text_.is_leaf(id) && is_true_or_false(node.op))
      text += fmt::format("const vector_of_bits {} = (vector_of_bits)({});\n", mask(id), value_of_mask(node));
    text += fmt::format("const vector {} = {};\n", name(id), value(id));
  }
  return text;
}

}  // namespace hindsight

#include "solvers/equations/kernel_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// Exact and portable: hexadecimal floating point.
std::string literal(double value) {
  if (value != value) return "not_a_number";
  if (value > 1.7976931348623157e308) return "infinity";
  if (value < -1.7976931348623157e308) return "(-infinity)";
  return fmt::format("{:a}", value);
}

}  // namespace

KernelText::KernelText(const KernelSpec& kernel, const std::map<int, int>* scalars, bool repeats,
                       std::map<NodeId, std::string> given)
    : kernel_(kernel), scalars_(scalars), given_(std::move(given)) {
  const std::vector<Expr> roots = kernel.roots();
  graph_ = &roots.front().graph();
  nodes_ = reachable(roots, [&](NodeId id) { return given_.contains(id); });
  for (const auto& [id, text] : given_) nodes_.push_back(id);
  std::ranges::sort(nodes_);
  for (NodeId id : nodes_) level_[id] = level_of(id);
  if (!repeats) return;
  const std::set<int> read = fields_read();
  for (const auto& [from, to] : kernel.repeats.carried)
    if (const int symbol = graph_->field_index(to); read.contains(symbol)) carried_.emplace(from, symbol);
  for (const std::string& array : kernel.repeats.trail)
    if (const int symbol = graph_->field_index(array); read.contains(symbol)) trail_.insert(symbol);
}

std::vector<int> KernelText::carried() const {
  std::vector<int> all;
  for (const auto& [from, symbol] : carried_) all.push_back(symbol);
  return all;
}

std::vector<int> KernelText::trail_written() const {
  std::vector<int> all = carried();
  std::erase_if(all, [&](int symbol) { return !trail_.contains(symbol); });
  return all;
}

int KernelText::carried_from(std::size_t output) const {
  const auto found = carried_.find(kernel_.outputs[output].field);
  return found == carried_.end() ? -1 : found->second;
}

std::string KernelText::name(NodeId id) {
  return fmt::format("v{}", id);
}

KernelText::Level KernelText::level_of(NodeId id) const {
  if (given_.contains(id)) return Level::cell;
  const Node& node = (*graph_)[id];
  if (node.op == Op::field) return Level::cell;
  if (node.op == Op::coordinate) return node.axis == 0 ? Level::cell : Level::row;
  Level level = Level::launch;
  for (int i = 0; i < arity(node.op); ++i) level = std::max(level, level_.at(node.args[static_cast<std::size_t>(i)]));
  return level;
}

namespace {

template <class Number>
std::set<int> numbers_of(const Graph& graph, const std::vector<NodeId>& nodes, Op op, Number number) {
  std::set<int> found;
  for (const NodeId id : nodes)
    if (graph[id].op == op) found.insert(number(graph[id]));
  return found;
}

}  // namespace

std::set<int> KernelText::fields_read() const {
  return numbers_of(*graph_, nodes_, Op::field, [](const Node& node) { return int{node.symbol}; });
}

std::set<int> KernelText::scalars() const {
  return numbers_of(*graph_, nodes_, Op::scalar, [](const Node& node) { return int{node.symbol}; });
}

std::set<int> KernelText::axes() const {
  return numbers_of(*graph_, nodes_, Op::coordinate, [](const Node& node) { return int{node.axis}; });
}

std::string KernelText::values(Level level) const {
  std::string text;
  for (const NodeId id : nodes_)
    if (level_.at(id) == level) text += fmt::format("const double {} = {};\n", name(id), value(id));
  return text;
}

std::string KernelText::outputs() const {
  std::string text;
  for (std::size_t i = 0; i < kernel_.outputs.size(); ++i)
    text += fmt::format("o{}[row{} + i] = {};\n", i, suffix(graph_->kind(output_field(i)).layout),
                        name(kernel_.outputs[i].value.id()));
  return text;
}

namespace {

struct Pattern {
  Op op;
  const char* text;
};

/// The C of operations on the arguments {0}, {1} and {2}.
constexpr Pattern patterns[] = {
    {Op::neg, "-{0}"},
    {Op::add, "{0} + {1}"},
    {Op::sub, "{0} - {1}"},
    {Op::mul, "{0} * {1}"},
    {Op::div, "{0} / {1}"},
    {Op::pow, "pow({0}, {1})"},
    {Op::fma, "fma({0}, {1}, {2})"},
    {Op::minimum, "({0} <= {1} ? {0} : {1})"},
    {Op::maximum, "({0} >= {1} ? {0} : {1})"},
    {Op::absolute, "fabs({0})"},
    {Op::sign, "(({0} > 0.0 ? 1.0 : 0.0) - ({0} < 0.0 ? 1.0 : 0.0))"},
    {Op::sqrt, "sqrt({0})"},
    {Op::exp, "exp({0})"},
    {Op::log, "log({0})"},
    {Op::sin, "sin({0})"},
    {Op::cos, "cos({0})"},
    {Op::tan, "tan({0})"},
    {Op::tanh, "tanh({0})"},
    {Op::less, "({0} < {1} ? 1.0 : 0.0)"},
    {Op::less_equal, "({0} <= {1} ? 1.0 : 0.0)"},
    {Op::equal, "({0} == {1} ? 1.0 : 0.0)"},
    {Op::logical_and, "({0} != 0.0 & {1} != 0.0 ? 1.0 : 0.0)"},
    {Op::logical_or, "({0} != 0.0 | {1} != 0.0 ? 1.0 : 0.0)"},
    {Op::logical_not, "({0} == 0.0 ? 1.0 : 0.0)"},
    {Op::where, "({0} != 0.0 ? {1} : {2})"},
};

}  // namespace

std::string operation_text(Op op, const std::string& a, const std::string& b, const std::string& c) {
  for (const Pattern& pattern : patterns)
    if (pattern.op == op) return fmt::format(fmt::runtime(pattern.text), a, b, c);
  return "";
}

std::string KernelText::value(NodeId id) const {
  if (const auto given = given_.find(id); given != given_.end()) return given->second;
  const Node& node = (*graph_)[id];
  if (node.op == Op::constant) return literal(node.value);
  if (node.op == Op::scalar)
    return fmt::format("S[{}]", scalars_ != nullptr ? scalars_->at(node.symbol) : int{node.symbol});
  if (node.op == Op::field) {
    const auto is_own = [&](const auto& entry) { return entry.second == int{node.symbol}; };
    if (std::ranges::any_of(carried_, is_own)) return carried_name(node.symbol);
    const char* const at = trail_.contains(node.symbol) ? " + at" : "";
    return fmt::format("f{}[{}{}]", node.symbol, index(node.offset, graph_->kind(node.symbol).layout), at);
  }
  if (node.op == Op::coordinate) {
    const int offset = node.offset[node.axis];
    return fmt::format("X{}[{} + {}]", node.axis, "ijk"[node.axis], offset);
  }
  std::string text = operation_text(node.op, name(node.args[0]), name(node.args[1]), name(node.args[2]));
  if (!text.empty()) return text;
  throw Error(ExitCode::bug, "kernel '" + kernel_.name + "' has an operator that was not discretised");
}

std::set<int> KernelText::layouts() const {
  std::set<int> found;
  for (const int symbol : fields_read()) found.insert(graph_->kind(symbol).layout);
  for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) found.insert(graph_->kind(output_field(i)).layout);
  return found;
}

namespace {

std::string array(const std::string& name, Element element, bool is_read, const std::string& address) {
  const std::string type = is_read ? "const double*" : "double*";
  if (element == Element::float64) return fmt::format("{} const {} = {};\n", type, name, address);
  const std::string single = is_read ? "const float*" : "float*";
  return fmt::format("{0} const {1} = ({0}){2};\n", single, name, address);
}

}  // namespace

std::string KernelText::read_array(int symbol, const std::string& address) const {
  return array(fmt::format("f{}", symbol), graph_->kind(symbol).element, true, address);
}

std::string KernelText::written_array(std::size_t output, const std::string& address) const {
  return array(fmt::format("o{}", output), graph_->kind(output_field(output)).element, false, address);
}

std::string KernelText::index(const Offset& offset, int layout) {
  const std::string of = suffix(layout);
  std::string text = "row" + of + " + i";
  if (offset[0] != 0) text += fmt::format(" + {}", int{offset[0]});
  if (offset[1] != 0) text += fmt::format(" + {} * stride_y{}", int{offset[1]}, of);
  if (offset[2] != 0) text += fmt::format(" + {} * stride_z{}", int{offset[2]}, of);
  return text;
}

}  // namespace hindsight

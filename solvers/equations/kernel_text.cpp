#include "solvers/equations/kernel_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/error.hpp"
#include "solvers/equations/columns.hpp"

namespace hindsight {

std::string literal(double value) {
  if (value != value) return "not_a_number";
  if (value > 1.7976931348623157e308) return "infinity";
  if (value < -1.7976931348623157e308) return "(-infinity)";
  return fmt::format("{:a}", value);
}

KernelText::KernelText(const KernelSpec& kernel, const std::map<int, int>* scalars, bool repeats,
                       std::map<NodeId, std::string> given, std::map<int, std::string> elsewhere)
    : kernel_(kernel), scalars_(scalars), given_(std::move(given)), elsewhere_(std::move(elsewhere)) {
  const std::vector<Expr> roots = kernel.roots();
  graph_ = &roots.front().graph();
  nodes_ = reachable(roots, [&](NodeId id) { return given_.contains(id); });
  for (const auto& [id, text] : given_) nodes_.push_back(id);
  std::ranges::sort(nodes_);
  for (NodeId id : nodes_) level_[id] = level_of(id);
  if (graph_->element() == Element::float32) find_singles();
  if (!repeats) return;
  const std::set<int> read = fields_read();
  for (const auto& [from, to] : kernel.repeats.carried)
    if (const int symbol = graph_->field_index(to); read.contains(symbol)) carried_.emplace(from, symbol);
  for (const std::string& array : kernel.repeats.trail)
    if (const int symbol = graph_->field_index(array); read.contains(symbol)) trail_.insert(symbol);
}

/// Of graphs of singles.
void KernelText::find_singles() {
  std::set<NodeId> doubles;  // sums that go to the array of doubles which they read
  const auto is_array_of_singles = [&](int symbol) { return graph_->kind(symbol).element == Element::float32; };
  for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) {
    const Node& value = kernel_.outputs[i].value.node();
    const int array = output_field(i);
    if (is_array_of_singles(array) || (value.op != Op::add && value.op != Op::fma)) continue;
    for (int a = 0; a < arity(value.op); ++a) {
      const Node& read = (*graph_)[value.args[static_cast<std::size_t>(a)]];
      if (read.op == Op::field && read.symbol == array) doubles.insert(kernel_.outputs[i].value.id());
    }
  }
  const std::vector<NodeId> all = reachable(kernel_.roots());
  const auto is_single_read = [&](NodeId id) {
    return (*graph_)[id].op == Op::field && is_array_of_singles((*graph_)[id].symbol);
  };
  if (std::ranges::none_of(all, is_single_read)) return;  // where nothing is read, doubles are rounded at the end
  for (const auto& [id, axes] : Dependence::of(*graph_, all)) {
    if (doubles.contains(id)) continue;
    const bool is_mixed = axes >= Dependence::arrays || std::popcount(axes) > 1;
    if (is_single_read(id) || (arity((*graph_)[id].op) > 0 && is_mixed)) singles_.insert(id);
  }
}

const char* KernelText::type_in_use(NodeId id) const {
  const auto makes_single = [&](NodeId user) {
    const Node& node = (*graph_)[user];
    const auto end = node.args.begin() + arity(node.op);
    return std::find(node.args.begin(), end, id) == end || singles_.contains(user);
  };
  const auto is_it = [id](Expr root) { return root.id() == id; };
  const bool is_root = std::ranges::any_of(kernel_.roots(), is_it);
  const bool is_of_singles = graph_->element() == Element::float32;
  return is_of_singles && !is_root && std::ranges::all_of(nodes_, makes_single) ? "float" : type_of(id);
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
    if (level_.at(id) == level) text += fmt::format("const {} {} = {};\n", type_of(id), name(id), value(id));
  return text;
}

std::string KernelText::outputs() const {
  std::string text;
  for (std::size_t i = 0; i < kernel_.outputs.size(); ++i)
    text += fmt::format("{} = {};\n", written_text(i), name(kernel_.outputs[i].value.id()));
  return text;
}

std::string KernelText::read_text(int symbol, const Offset& offset) const {
  const char* const at = trail_.contains(symbol) ? " + at" : "";
  return fmt::format("f{}[{}{}]", symbol, index(offset, symbol), at);
}

std::string KernelText::written_text(std::size_t output, std::int8_t rows) const {
  return fmt::format("o{}[{}]", output, index({0, rows, 0}, output_field(output)));
}

namespace {

struct Pattern {
  Op op;
  const char* text;
};

/// The C of operations on the arguments {0}, {1} and {2}; {3} is behind what is a double without: "f" makes it a
/// single.
constexpr Pattern patterns[] = {
    {Op::neg, "-{0}"},
    {Op::add, "{0} + {1}"},
    {Op::sub, "{0} - {1}"},
    {Op::mul, "{0} * {1}"},
    {Op::div, "{0} / {1}"},
    {Op::pow, "pow{3}({0}, {1})"},
    {Op::fma, "fma{3}({0}, {1}, {2})"},
    {Op::minimum, "({0} <= {1} ? {0} : {1})"},
    {Op::maximum, "({0} >= {1} ? {0} : {1})"},
    {Op::absolute, "fabs{3}({0})"},
    {Op::sign, "(({0} > 0.0{3} ? 1.0{3} : 0.0{3}) - ({0} < 0.0{3} ? 1.0{3} : 0.0{3}))"},
    {Op::sqrt, "sqrt{3}({0})"},
    {Op::exp, "exp{3}({0})"},
    {Op::log, "log{3}({0})"},
    {Op::sin, "sin{3}({0})"},
    {Op::cos, "cos{3}({0})"},
    {Op::tan, "tan{3}({0})"},
    {Op::tanh, "tanh{3}({0})"},
    {Op::less, "({0} < {1} ? 1.0{3} : 0.0{3})"},
    {Op::less_equal, "({0} <= {1} ? 1.0{3} : 0.0{3})"},
    {Op::equal, "({0} == {1} ? 1.0{3} : 0.0{3})"},
    {Op::logical_and, "({0} != 0.0{3} & {1} != 0.0{3} ? 1.0{3} : 0.0{3})"},
    {Op::logical_or, "({0} != 0.0{3} | {1} != 0.0{3} ? 1.0{3} : 0.0{3})"},
    {Op::logical_not, "({0} == 0.0{3} ? 1.0{3} : 0.0{3})"},
    {Op::where, "({0} != 0.0{3} ? {1} : {2})"},
};

}  // namespace

bool are_of_singles(const std::vector<KernelSpec>& kernels) {
  return std::ranges::any_of(kernels, [](const KernelSpec& kernel) {
    const std::vector<Expr> roots = kernel.roots();
    return !roots.empty() && roots.front().graph().element() == Element::float32;
  });
}

std::string operation_text(Op op, const std::string& a, const std::string& b, const std::string& c, Element element) {
  const char* const suffix = element == Element::float64 ? "" : "f";
  for (const Pattern& pattern : patterns)
    if (pattern.op == op) return fmt::format(fmt::runtime(pattern.text), a, b, c, suffix);
  return "";
}

/// As an operation takes it.
std::string KernelText::argument(NodeId id, NodeId of) const {
  const bool is_same = singles_.contains(id) == singles_.contains(of);
  return is_same ? name(id) : fmt::format("({}){}", type_of(of), name(id));
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
    return read_text(node.symbol, node.offset);
  }
  if (node.op == Op::coordinate) {
    const int offset = node.offset[node.axis];
    return fmt::format("X{}[{} + {}]", node.axis, "ijk"[node.axis], offset);
  }
  std::string text =
      operation_text(node.op, argument(node.args[0], id), argument(node.args[1], id), argument(node.args[2], id),
                     singles_.contains(id) ? Element::float32 : Element::float64);
  if (!text.empty()) return text;
  throw Error(ExitCode::bug, "kernel '" + kernel_.name + "' has an operator that was not discretised");
}

std::set<int> KernelText::layouts() const {
  std::set<int> found;
  const auto add = [&](int symbol) {
    if (!elsewhere_.contains(symbol)) found.insert(graph_->kind(symbol).layout);
  };
  for (const int symbol : fields_read()) add(symbol);
  for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) add(output_field(i));
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

std::string KernelText::place_of(int symbol) const {
  const auto found = elsewhere_.find(symbol);
  return found == elsewhere_.end() ? suffix(graph_->kind(symbol).layout) : found->second;
}

std::string KernelText::index(const Offset& offset, int symbol) const {
  const std::string of = place_of(symbol);
  std::string text = "row" + of + " + i";
  if (offset[0] != 0) text += fmt::format(" + {}", int{offset[0]});
  if (offset[1] != 0) text += fmt::format(" + {} * stride_y{}", int{offset[1]}, of);
  if (offset[2] != 0) text += fmt::format(" + {} * stride_z{}", int{offset[2]}, of);
  return text;
}

}  // namespace hindsight

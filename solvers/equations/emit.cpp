#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "solvers/equations/kernel.hpp"
#include "solvers/equations/simplify.hpp"
#include "src/error.hpp"

namespace hindsight {
namespace {

/// Where a node's value can change: the loop it must be computed in.
enum class Level { launch, row, cell };

constexpr int lanes = 8;

const char* preamble = R"(#include <math.h>
typedef long long integer;
typedef double lanes __attribute__((vector_size(64), aligned(8)));
struct launch {
  double* const* fields;
  const double* scalars;
  const double* const* coordinates;
  double* const* sums;
  integer lo[3], hi[3], stride_y, stride_z, row_y, row_z;
};
)";

std::string name(NodeId id) {
  return fmt::format("v{}", id);
}

/// Exact and portable: hexadecimal floating point.
std::string literal(double value) {
  if (value != value) return "__builtin_nan(\"\")";
  if (value > 1.7976931348623157e308) return "__builtin_inf()";
  if (value < -1.7976931348623157e308) return "(-__builtin_inf())";
  return fmt::format("{:a}", value);
}

class KernelWriter {
 public:
  KernelWriter(const KernelSpec& kernel, Boxes boxes) : kernel_(kernel), boxes_(boxes) {
    const std::vector<Expr> roots = kernel.roots();
    graph_ = &roots.front().graph();
    nodes_ = reachable(roots);
    for (NodeId id : nodes_) level_[id] = level_of(id);
  }

  std::string text() {
    line(fmt::format("void {}(const struct launch* L) {{", kernel_.name));
    line("const double* const S = L->scalars;");
    for (int symbol : read_fields()) line(fmt::format("const double* const f{0} = L->fields[{0}];", symbol));
    for (std::size_t i = 0; i < kernel_.outputs.size(); ++i)
      line(fmt::format("double* const o{} = L->fields[{}];", i, graph_->field_index(kernel_.outputs[i].field)));
    for (int axis : axes()) line(fmt::format("const double* const X{0} = L->coordinates[{0}];", axis));
    write_nodes(Level::launch);
    if (boxes_ == Boxes::cell) {
      line("const integer i = 0, row = 0; (void)i; (void)row;");
      write_nodes(Level::row);
      write_cell();
      line("}");
      return text_;
    }
    line("for (integer k = L->lo[2]; k < L->hi[2]; ++k)");
    line("for (integer j = L->lo[1]; j < L->hi[1]; ++j) {");
    line("const integer row = L->stride_y * j + L->stride_z * k; (void)row;");
    write_nodes(Level::row);
    if (kernel_.sums.empty() || boxes_ == Boxes::line)
      write_plain_row();
    else
      write_row_with_sums();
    line("}");
    line("}");
    return text_;
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  Level level_of(NodeId id) const {
    const Node& node = (*graph_)[id];
    if (node.op == Op::field) return Level::cell;
    if (node.op == Op::coordinate) return node.axis == 0 ? Level::cell : Level::row;
    Level level = Level::launch;
    for (int i = 0; i < arity(node.op); ++i) level = std::max(level, level_.at(node.args[static_cast<std::size_t>(i)]));
    return level;
  }

  std::set<int> read_fields() const {
    std::set<int> symbols;
    for (NodeId id : nodes_)
      if ((*graph_)[id].op == Op::field) symbols.insert((*graph_)[id].symbol);
    return symbols;
  }

  std::set<int> axes() const {
    std::set<int> found;
    for (NodeId id : nodes_)
      if ((*graph_)[id].op == Op::coordinate) found.insert((*graph_)[id].axis);
    return found;
  }

  void write_nodes(Level level) {
    for (NodeId id : nodes_)
      if (level_.at(id) == level) line(fmt::format("const double {} = {};", name(id), value(id)));
  }

  std::string value(NodeId id) const {
    const Node& node = (*graph_)[id];
    const std::string a = name(node.args[0]), b = name(node.args[1]), c = name(node.args[2]);
    switch (node.op) {
      case Op::constant:
        return literal(node.value);
      case Op::scalar:
        return fmt::format("S[{}]", node.symbol);
      case Op::field:
        return fmt::format("f{}[{}]", node.symbol, index(node.offset));
      case Op::coordinate:
        return fmt::format(
            "X{}[{} + {}]", node.axis, "ijk" [node.axis], int { node.offset[node.axis] });
      case Op::neg:
        return "-" + a;
      case Op::add:
        return a + " + " + b;
      case Op::sub:
        return a + " - " + b;
      case Op::mul:
        return a + " * " + b;
      case Op::div:
        return a + " / " + b;
      case Op::pow:
        return fmt::format("pow({}, {})", a, b);
      case Op::fma:
        return fmt::format("__builtin_fma({}, {}, {})", a, b, c);
      case Op::minimum:
        return fmt::format("({0} <= {1} ? {0} : {1})", a, b);
      case Op::maximum:
        return fmt::format("({0} >= {1} ? {0} : {1})", a, b);
      case Op::absolute:
        return fmt::format("__builtin_fabs({})", a);
      case Op::sign:
        return fmt::format("(({0} > 0.0 ? 1.0 : 0.0) - ({0} < 0.0 ? 1.0 : 0.0))", a);
      case Op::sqrt:
        return fmt::format("__builtin_sqrt({})", a);
      case Op::exp:
        return fmt::format("exp({})", a);
      case Op::log:
        return fmt::format("log({})", a);
      case Op::sin:
        return fmt::format("sin({})", a);
      case Op::cos:
        return fmt::format("cos({})", a);
      case Op::tan:
        return fmt::format("tan({})", a);
      case Op::tanh:
        return fmt::format("tanh({})", a);
      case Op::less:
        return fmt::format("({} < {} ? 1.0 : 0.0)", a, b);
      case Op::less_equal:
        return fmt::format("({} <= {} ? 1.0 : 0.0)", a, b);
      case Op::equal:
        return fmt::format("({} == {} ? 1.0 : 0.0)", a, b);
      case Op::logical_and:
        return fmt::format("({} != 0.0 & {} != 0.0 ? 1.0 : 0.0)", a, b);
      case Op::logical_or:
        return fmt::format("({} != 0.0 | {} != 0.0 ? 1.0 : 0.0)", a, b);
      case Op::logical_not:
        return fmt::format("({} == 0.0 ? 1.0 : 0.0)", a);
      case Op::where:
        return fmt::format("({} != 0.0 ? {} : {})", a, b, c);
      case Op::derivative:
      case Op::div_grad:
      case Op::upwind:
        break;
    }
    throw Error(ExitCode::bug, "kernel '" + kernel_.name + "' has an operator that was not discretised");
  }

  static std::string index(const Offset& offset) {
    std::string text = "row + i";
    if (offset[0] != 0) text += fmt::format(" + {}", int{offset[0]});
    if (offset[1] != 0) text += fmt::format(" + {} * L->stride_y", int{offset[1]});
    if (offset[2] != 0) text += fmt::format(" + {} * L->stride_z", int{offset[2]});
    return text;
  }

  void write_outputs() {
    for (std::size_t i = 0; i < kernel_.outputs.size(); ++i)
      line(fmt::format("o{}[row + i] = {};", i, name(kernel_.outputs[i].value.id())));
  }

  /// What is done at one cell; sums go to one accumulator per cell.
  void write_cell() {
    write_nodes(Level::cell);
    write_outputs();
    for (std::size_t s = 0; s < kernel_.sums.size(); ++s)
      line(fmt::format("L->sums[{}][i] += {};", kernel_.sums[s].accumulator, name(kernel_.sums[s].value.id())));
  }

  void write_plain_row() {
    line("#pragma GCC ivdep");
    line("for (integer i = L->lo[0]; i < L->hi[0]; ++i) {");
    write_cell();
    line("}");
  }

  /// Blocks of cells: a vectorised loop that leaves the summands in the cache, then the interleaved partial sums.
  void write_row_with_sums() {
    const std::size_t count = kernel_.sums.size();
    line("enum { block = 256 };");
    line(fmt::format("lanes part[{0}]; double summand[{0}][block];", count));
    line(fmt::format("for (int s = 0; s < {}; ++s) for (int l = 0; l < {}; ++l) part[s][l] = 0.0;", count, lanes));
    line("for (integer first = L->lo[0]; first < L->hi[0]; first += block) {");
    line("const integer size = L->hi[0] - first < block ? L->hi[0] - first : block;");
    line("#pragma GCC ivdep");
    line("for (integer m = 0; m < size; ++m) {");
    line("const integer i = first + m;");
    write_nodes(Level::cell);
    write_outputs();
    for (std::size_t s = 0; s < count; ++s)
      line(fmt::format("summand[{}][m] = {};", s, name(kernel_.sums[s].value.id())));
    line("}");
    line(fmt::format("for (int s = 0; s < {}; ++s) {{", count));
    line("integer m = 0;");
    line(fmt::format("for (; m + {0} <= size; m += {0}) part[s] += *(const lanes*)(summand[s] + m);", lanes));
    line("for (; m < size; ++m) part[s][m & 7] += summand[s][m];");
    line("}");
    line("}");
    for (std::size_t s = 0; s < count; ++s) {
      line(fmt::format("L->sums[{}][L->row_y * j + L->row_z * k] +=", kernel_.sums[s].accumulator));
      line(fmt::format("((part[{0}][0] + part[{0}][4]) + (part[{0}][2] + part[{0}][6])) +", s));
      line(fmt::format("((part[{0}][1] + part[{0}][5]) + (part[{0}][3] + part[{0}][7]));", s));
    }
  }

  const KernelSpec& kernel_;
  Boxes boxes_;
  const Graph* graph_;
  std::vector<NodeId> nodes_;
  std::map<NodeId, Level> level_;
  std::string text_;
};

}  // namespace

std::vector<Expr> KernelSpec::roots() const {
  std::vector<Expr> all;
  for (const Output& output : outputs) all.push_back(output.value);
  for (const Sum& sum : sums) all.push_back(sum.value);
  return all;
}

KernelSpec fused(KernelSpec kernel) {
  const std::vector<Expr> roots = fuse_multiply_add(kernel.roots());
  std::size_t i = 0;
  for (KernelSpec::Output& output : kernel.outputs) output.value = roots[i++];
  for (KernelSpec::Sum& sum : kernel.sums) sum.value = roots[i++];
  return kernel;
}

std::string emit_c(const std::vector<KernelSpec>& kernels, Boxes boxes) {
  std::string text = preamble;
  for (const KernelSpec& kernel : kernels) text += KernelWriter(kernel, boxes).text();
  return text;
}

KernelLibrary::KernelLibrary(const std::vector<KernelSpec>& kernels, Boxes boxes, const Communicator& comm) {
  if (kernels.empty()) return;
  module_ = host::compile(emit_c(kernels, boxes), comm);
  for (const KernelSpec& kernel : kernels)
    functions_.push_back(reinterpret_cast<KernelFunction>(module_.function(kernel.name)));
}

}  // namespace hindsight

#include "solvers/equations/tape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "runtime/error.hpp"
#include "solvers/equations/kernel_text.hpp"

namespace hindsight {
namespace {

using Operation = TapeKernel::Operation;
using Access = TapeKernel::Access;
using Pair = TapeKernel::Pair;

constexpr std::int32_t write = 100, sum = 101;  // codes behind those of Op
constexpr std::int64_t lanes = 8;               // as in compiled kernels
constexpr std::int64_t widest = 64;             // cells of a block
constexpr std::int64_t cached = 32 << 10;       // values of a block

/// Writes a kernel's operations down, and where their values are. A place is used again when nobody needs its value.
class TapeWriter {
 public:
  explicit TapeWriter(const KernelSpec& kernel)
      : kernel_(kernel), graph_(kernel.roots().front().graph()), uses_(graph_.size()), place_(graph_.size()) {
    const std::vector<NodeId> nodes = reachable(kernel.roots());
    for (const NodeId id : nodes)
      for (int i = 0; i < arity(graph_[id].op); ++i) ++uses_[graph_[id].args[static_cast<std::size_t>(i)]];
    for (const Expr root : kernel.roots()) ++uses_[root.id()];
    for (std::size_t o = 0; o < kernel.outputs.size(); ++o) outputs_[kernel.outputs[o].value.id()].push_back(o);
    write_arrays();
    for (const KernelSpec::Sum& each : kernel.sums) accumulators.push_back(each.accumulator);
    for (const NodeId id : nodes)
      if (arity(graph_[id].op) == 0) add_leaf(id);
    for (const NodeId id : nodes)
      if (arity(graph_[id].op) == 0) write_outputs(id);
    for (const NodeId id : nodes)
      if (arity(graph_[id].op) > 0) add_operation(id);
    for (std::size_t s = 0; s < kernel.sums.size(); ++s)  // in this order: several may have one accumulator
      hand_over_to(sum, s, kernel.sums[s].value.id());
  }

  std::vector<Operation> operations;
  std::vector<Access> reads, writes;
  std::vector<Pair> scalars;
  std::vector<std::int32_t> accumulators;
  std::vector<std::pair<std::int32_t, double>> constants;  // places and values
  std::int32_t places = 0;

 private:
  void write_arrays() {
    for (const KernelSpec::Output& output : kernel_.outputs) {
      const int symbol = graph_.field_index(output.field);
      const ArrayKind kind = graph_.kind(symbol);
      writes.push_back({symbol, kind.layout, kind.element == Element::float32, 0, 0, {0, 0, 0}});
    }
  }

  std::int32_t take() {
    if (free_.empty()) return places++;
    const std::int32_t place = free_.back();
    free_.pop_back();
    return place;
  }

  /// Constants and scalars keep their places from block to block.
  void add_leaf(NodeId id) {
    const Node& node = graph_[id];
    const std::int32_t place = place_[id] = places++;
    const std::array<std::int32_t, 3> at{node.offset[0], node.offset[1], node.offset[2]};
    if (node.op == Op::constant) {
      constants.emplace_back(place, node.value);
      ++uses_[id];
    } else if (node.op == Op::scalar) {
      scalars.push_back({node.symbol, place});
      ++uses_[id];
    } else if (node.op == Op::coordinate) {
      reads.push_back({node.axis, 0, 0, 1, place, {at[0], at[1], at[2]}});
    } else {
      const ArrayKind kind = graph_.kind(node.symbol);
      const bool is_single = kind.element == Element::float32;
      reads.push_back({node.symbol, kind.layout, is_single, 0, place, {at[0], at[1], at[2]}});
    }
  }

  void add_operation(NodeId id) {
    const Node& node = graph_[id];
    if (operation_text(node.op, "", "", "").empty())
      throw Error(ExitCode::bug, "kernel '" + kernel_.name + "' has an operator that was not discretised");
    Operation operation{static_cast<std::int32_t>(node.op), 0, 0, 0, 0};
    std::int32_t* const args[] = {&operation.a, &operation.b, &operation.c};
    for (int i = 0; i < arity(node.op); ++i) *args[i] = place_[node.args[static_cast<std::size_t>(i)]];
    for (int i = 0; i < arity(node.op); ++i) used(node.args[static_cast<std::size_t>(i)]);
    operation.to = place_[id] = take();
    operations.push_back(operation);
    write_outputs(id);
  }

  /// To its outputs. All arrays have been read by then.
  void write_outputs(NodeId id) {
    if (const auto found = outputs_.find(id); found != outputs_.end())
      for (const std::size_t output : found->second) hand_over_to(write, output, id);
  }

  void hand_over_to(std::int32_t code, std::size_t number, NodeId id) {
    operations.push_back({code, static_cast<std::int32_t>(number), place_[id], 0, 0});
    used(id);
  }

  void used(NodeId id) {
    if (--uses_[id] == 0) free_.push_back(place_[id]);
  }

  const KernelSpec& kernel_;
  const Graph& graph_;
  std::unordered_map<NodeId, std::vector<std::size_t>> outputs_;
  std::vector<std::size_t> uses_;    // by node
  std::vector<std::int32_t> place_;  // by node
  std::vector<std::int32_t> free_;
};

const char* const structures = R"(struct operation { int code, to, a, b, c; };
struct access { int symbol, layout, is_single, is_coordinate, value, offset[3]; };
struct pair { int symbol, value; };
struct tape {
  const struct operation* operations;
  const struct access* reads;
  const struct access* writes;
  const struct pair* scalars;
  const int* accumulators;
  double* values;
  double* parts;
  integer operation_count, read_count, scalar_count, sum_count, width;
};
static integer place(const struct access* A, const struct launch* L, integer i, integer j, integer k) {
  const struct strides* const stride = L->strides + A->layout;
  return i + A->offset[0] + (j + A->offset[1]) * stride->y + (k + A->offset[2]) * stride->z;
}
)";

const char* const reads = R"(  for (integer r = 0; r < T->read_count; ++r) {
    const struct access* const A = T->reads + r;
    double* const to = T->values + A->value * width;
    if (A->is_coordinate) {
      const integer at[3] = {i, j, k};
      const integer step = A->symbol == 0;
      const double* const from = L->coordinates[A->symbol] + at[A->symbol] + A->offset[A->symbol];
      EACH to[l] = from[l * step];
    } else if (A->is_single) {
      const float* const from = (const float*)L->fields[A->symbol] + place(A, L, i, j, k);
      EACH to[l] = from[l];
    } else {
      const double* const from = L->fields[A->symbol] + place(A, L, i, j, k);
      EACH to[l] = from[l];
    }
  }
)";

const char* const writes = R"(    case {}: {{
      const struct access* const A = T->writes + o->to;
      const integer at = place(A, L, i, j, k);
      if (A->is_single) {{ float* const array = (float*)L->fields[A->symbol] + at; EACH array[l] = a[l]; }}
      else {{ double* const array = L->fields[A->symbol] + at; EACH array[l] = a[l]; }}
      break;
    }}
)";

const char* const scalars = R"(  for (integer s = 0; s < T->scalar_count; ++s)
    EVERY(T->width) T->values[T->scalars[s].value * T->width + l] = L->scalars[T->scalars[s].symbol];
)";

const char* const rows = R"(  for (integer k = L->lo[2]; k < L->hi[2]; ++k)
  for (integer j = L->lo[1]; j < L->hi[1]; ++j) {
    for (integer n = 0; n < 8 * T->sum_count; ++n) T->parts[n] = 0.0;
    for (integer i = L->lo[0]; i < L->hi[0]; i += T->width)
      walk_block(T, L, i, j, k, L->hi[0] - i < T->width ? L->hi[0] - i : T->width);
    for (integer s = 0; s < T->sum_count; ++s) {
      const double* const part = T->parts + 8 * s;
      L->sums[T->accumulators[s]][L->row_y * j + L->row_z * k] +=
          ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
    }
  }
)";

const char* const line = R"(  for (integer k = L->lo[2]; k < L->hi[2]; ++k)
  for (integer j = L->lo[1]; j < L->hi[1]; ++j)
    for (integer i = L->lo[0]; i < L->hi[0]; i += T->width)
      walk_block(T, L, i, j, k, L->hi[0] - i < T->width ? L->hi[0] - i : T->width);
)";

/// All operations at the cells of a block.
std::string block(Boxes boxes) {
  std::string text =
      "static void walk_block(const struct tape* T, const struct launch* L, integer i, integer j, integer k, integer "
      "m) "
      "{\n";
  text += boxes == Boxes::cell ? "  enum { width = 1 };\n" : "  const integer width = T->width;\n";
  text += reads;
  text += R"(  for (const struct operation* o = T->operations; o != T->operations + T->operation_count; ++o) {
    const double* const a = T->values + o->a * width;
    const double* const b = T->values + o->b * width;
    const double* const c = T->values + o->c * width;
    double* const to = T->values + o->to * width;
    switch (o->code) {
)";
  for (int op = 0; op <= static_cast<int>(Op::upwind); ++op)
    if (const std::string value = operation_text(static_cast<Op>(op), "a[l]", "b[l]", "c[l]"); !value.empty())
      text += fmt::format("    case {}: EACH to[l] = {}; break;\n", op, value);
  text += fmt::format(fmt::runtime(writes), write);
  text += boxes == Boxes::rows
              ? fmt::format(
                    "    case {}: for (integer l = 0; l < m; ++l) T->parts[8 * o->to + (l & 7)] += a[l]; break;\n", sum)
              : fmt::format("    case {}: EACH L->sums[T->accumulators[o->to]][i + l] += a[l]; break;\n", sum);
  return text + "    }\n  }\n}\n";
}

}  // namespace

std::size_t length_of(const KernelSpec& kernel) {
  return reachable(kernel.roots()).size() + kernel.outputs.size();
}

std::string emit_tape_loop(Boxes boxes) {
  std::string text = std::string(host::c_names) + launch_text + structures;
  text += "#define EVERY(count) for (integer l = 0; l < (count); ++l)\n";
  text += boxes == Boxes::cell ? "#define EACH EVERY(1)\n" : "#define EACH _Pragma(\"GCC ivdep\") EVERY(m)\n";
  text += block(boxes);
  text += fmt::format("void {}(const struct tape* T, const struct launch* L) {{\n", tape_function);
  text += scalars;
  if (boxes == Boxes::cell) return text + "  walk_block(T, L, 0, 0, 0, 1);\n}\n";
  return text + (boxes == Boxes::rows ? rows : line) + "}\n";
}

TapeKernel::TapeKernel(const KernelSpec& kernel, Boxes boxes, Loop loop) : loop_(loop) {
  TapeWriter written(kernel);
  std::int64_t width = boxes == Boxes::cell ? 1 : widest;
  while (width > lanes && width * written.places > cached) width /= 2;
  values_.resize(static_cast<std::size_t>(width * written.places));
  for (const auto& [place, value] : written.constants) std::fill_n(values_.begin() + width * place, width, value);
  parts_.resize(static_cast<std::size_t>(lanes) * kernel.sums.size());
  const auto keep = [](auto& to, const auto& from) { to.assign(from.begin(), from.end()); };
  keep(operations_, written.operations);
  keep(reads_, written.reads);
  keep(writes_, written.writes);
  keep(scalars_, written.scalars);
  keep(accumulators_, written.accumulators);
  tape_ = {operations_.data(),
           reads_.data(),
           writes_.data(),
           scalars_.data(),
           accumulators_.data(),
           values_.data(),
           parts_.data(),
           static_cast<std::int64_t>(operations_.size()),
           static_cast<std::int64_t>(reads_.size()),
           static_cast<std::int64_t>(scalars_.size()),
           static_cast<std::int64_t>(kernel.sums.size()),
           width};
}

}  // namespace hindsight

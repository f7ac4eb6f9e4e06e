// The equation graph: an immutable, hash-consed expression DAG (a Wengert list in SSA form). Text from a case file and
// C++ operator overloading build the same graph; discretisation, derivatives, simplification and code emission are
// functions from graph to graph.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/element.hpp"

namespace hindsight {

enum class Op : std::uint8_t {
  // leaves
  constant,    ///< value
  scalar,      ///< symbol: index into Graph::scalars(); a number per launch: parameter, time t, step h, series value
  field,       ///< symbol: index into Graph::fields(), read at `offset` cells from here
  coordinate,  ///< axis: cell-centre coordinate, read at `offset` (only the entry of its own axis is used)
  // arithmetic
  neg,
  add,
  sub,
  mul,
  div,
  pow,
  fma,
  minimum,
  maximum,
  absolute,
  sign,
  // functions
  sqrt,
  exp,
  log,
  sin,
  cos,
  tan,
  tanh,
  // conditions: 1 or 0
  less,
  less_equal,
  equal,
  logical_and,
  logical_or,
  logical_not,
  where,  ///< args: condition, value if condition != 0, value otherwise
  // continuous operators, gone after discretise()
  derivative,  ///< d^n/d(axis)^n of args[0]; n = symbol (1 or 2)
  div_grad,    ///< div(args[0] * grad(args[1]))
  upwind,      ///< args[0] * d(args[1])/d(axis), one-sided against the sign of args[0]
};

/// Number of arguments of an operation (0 to 3).
int arity(Op op);

using NodeId = std::uint32_t;

/// A relative position in cells, x fastest.
using Offset = std::array<std::int8_t, 3>;

struct Node {
  Op op = Op::constant;
  std::uint8_t axis = 0;    ///< coordinate, derivative, upwind: 0, 1, 2
  Offset offset{0, 0, 0};   ///< field, coordinate
  double value = 0.0;       ///< constant
  std::int32_t symbol = 0;  ///< scalar, field: index; derivative: order of the derivative
  std::array<NodeId, 3> args{0, 0, 0};
};

/// Random numbers as a field: one number per cell that depends on these constants, on the cell and, if it changes with
/// the step, on the number of the step. It depends on nothing else, so for derivatives it is data.
struct Noise {
  bool is_normal = true;  ///< standard normal numbers; else uniform ones in (0, 1)
  bool changes_with_step = true;
  std::uint32_t seed = 0, stream = 0;
  int symbol = 0;  ///< of the field, set by Graph::noise()
};

/// How the array of a field lies in memory. Layout 0 is that of the grid's fields; others are numbered by whoever
/// launches kernels (Launch::strides).
struct ArrayKind {
  Element element = Element::float64;
  int layout = 0;
};

class Graph;

/// A handle to a node: cheap to copy, valid as long as its graph. Arithmetic on two of them builds new nodes.
class Expr {
 public:
  Expr() = default;
  Expr(Graph* graph, NodeId id) : graph_(graph), id_(id) {}
  Graph& graph() const { return *graph_; }
  NodeId id() const { return id_; }
  const Node& node() const;
  bool is_valid() const { return graph_ != nullptr; }
  bool is_constant() const { return node().op == Op::constant; }
  bool is_constant(double value) const { return is_constant() && node().value == value; }
  Expr arg(int i) const { return {graph_, node().args[static_cast<std::size_t>(i)]}; }
  /// The same node (hash-consing makes equal expressions the same node).
  bool same_as(Expr other) const { return graph_ == other.graph_ && id_ == other.id_; }

 private:
  Graph* graph_ = nullptr;
  NodeId id_ = 0;
};

/// Owns nodes and the names of the symbols they refer to. Nodes are never changed or removed. Arguments have smaller
/// ids than the node that uses them, so ascending ids are a topological order.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Expr constant(double value);
  /// The scalar of this name, added at the end of scalars() when new.
  Expr scalar(const std::string& name);
  /// The field of this name at an offset, added at the end of fields() when new.
  Expr field(const std::string& name, Offset offset = {0, 0, 0});
  Expr coordinate(int axis, Offset offset = {0, 0, 0});
  /// The field of these random numbers, listed in noises().
  Expr noise(Noise noise);
  /// General constructor; folds constants and applies the local algebra of simplify.hpp.
  Expr make(Op op, const std::vector<Expr>& args, int axis = 0, int symbol = 0);

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  const std::vector<std::string>& scalars() const { return scalars_.all; }
  const std::vector<std::string>& fields() const { return fields_.all; }
  const std::vector<Noise>& noises() const { return noises_; }
  /// What arrays hold whose kind nobody says. With singles, kernels compute singles in what depends on arrays of these
  /// (KernelText).
  Element element() const { return element_; }
  void set_element(Element element) { element_ = element; }
  /// Of a field symbol; the graph's elements in the grid's layout unless it was said.
  ArrayKind kind(int field) const;
  void set_kind(int field, ArrayKind kind) { kinds_[field] = kind; }
  /// Index of a name, or -1.
  int scalar_index(std::string_view name) const;
  int field_index(std::string_view name) const;
  /// The existing node equal to `node`, or a new one; no simplification.
  Expr intern(const Node& node);

 private:
  /// Names in the order in which they came, and their indices.
  struct Names {
    std::vector<std::string> all;
    std::map<std::string, int, std::less<>> index;
    int find_or_add(const std::string& name);
    int find(std::string_view name) const;
  };
  void grow_index();
  std::vector<Node> nodes_;
  std::vector<NodeId> index_;  // a hash table: nodes + 1, 0 where there is none; a power of two of them
  Names scalars_, fields_;
  std::vector<Noise> noises_;
  Element element_ = Element::float64;
  std::unordered_map<int, ArrayKind> kinds_;
};

inline const Node& Expr::node() const {
  return (*graph_)[id_];
}

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator+(Expr a, double b);
Expr operator-(Expr a, double b);
Expr operator*(Expr a, double b);
Expr operator/(Expr a, double b);
Expr operator+(double a, Expr b);
Expr operator-(double a, Expr b);
Expr operator*(double a, Expr b);
Expr operator/(double a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
/// Small integer exponents become products, other exponents std::pow.
Expr pow(Expr a, Expr b);
Expr pow(Expr a, double b);
Expr sqrt(Expr a);
Expr exp(Expr a);
Expr log(Expr a);
Expr sin(Expr a);
Expr cos(Expr a);
Expr tan(Expr a);
Expr tanh(Expr a);
Expr abs(Expr a);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr where(Expr condition, Expr yes, Expr no);
/// 1 where any of them differs from zero, else 0.
Expr any_not_zero(const std::vector<Expr>& values);
Expr derivative(Expr a, int axis, int order);
Expr laplacian(Expr a, int dimensions);
/// |grad a|^2
Expr grad2(Expr a, int dimensions);
Expr div_grad(Expr k, Expr a);
Expr upwind(Expr velocity, Expr a, int axis);

/// All nodes that the roots depend on, ascending (arguments before users).
/// @param is_beyond nodes that are left out, with what only they depend on.
std::vector<NodeId> reachable(const std::vector<Expr>& roots, const std::function<bool(NodeId)>& is_beyond = {});

/// The same expression read `by` cells further: every field and coordinate offset is increased.
Expr shift(Expr e, Offset by);

/// Replaces nodes: `replace(node)` returns a valid Expr to put in place of a leaf, or an invalid one to keep it.
/// Works over a whole set of roots at once, sharing work.
/// @param is_kept nodes that stay as they are, with all that they depend on.
template <class Replace>
std::vector<Expr> substitute(const std::vector<Expr>& roots, Replace replace,
                             const std::function<bool(NodeId)>& is_kept = {});

/// Which cells an expression reads of one field: the largest offset per axis and direction, and whether any single
/// read is off centre in more than one axis (then ghost corners are needed).
struct Reach {
  bool read = false;                  ///< read at all
  std::array<int, 3> depth{0, 0, 0};  ///< max |offset| per axis
  bool corners = false;

  void add(const Offset& read_at);
};

/// Indexed by field symbol, for everything the roots read.
std::vector<Reach> reach(const std::vector<Expr>& roots);

template <class Replace>
std::vector<Expr> substitute(const std::vector<Expr>& roots, Replace replace,
                             const std::function<bool(NodeId)>& is_kept) {
  if (roots.empty()) return {};
  Graph& graph = roots.front().graph();
  std::unordered_map<NodeId, Expr> made;
  const auto replaced = [&](NodeId id) {
    const auto found = made.find(id);
    return found == made.end() ? Expr(&graph, id) : found->second;
  };
  for (NodeId id : reachable(roots, is_kept)) {
    const Node node = graph[id];
    Expr result = arity(node.op) == 0 ? replace(node) : Expr();
    if (!result.is_valid()) {
      if (arity(node.op) == 0) {
        result = Expr(&graph, id);
      } else {
        std::vector<Expr> args;
        bool changed = false;
        for (int i = 0; i < arity(node.op); ++i) {
          const NodeId old = node.args[static_cast<std::size_t>(i)];
          args.push_back(replaced(old));
          changed = changed || args.back().id() != old;
        }
        result = changed ? graph.make(node.op, args, node.axis, node.symbol) : Expr(&graph, id);
      }
    }
    made.emplace(id, result);
  }
  std::vector<Expr> out;
  for (Expr root : roots) out.push_back(replaced(root.id()));
  return out;
}

}  // namespace hindsight

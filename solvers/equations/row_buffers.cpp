#include "solvers/equations/row_buffers.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace hindsight {
namespace {

/// Nodes up to a shift: nodes of one class have the same value, each at an offset of its own. What depends on the
/// coordinate of one axis alone is the same whatever its offset along the others.
class Classes {
 public:
  Classes(const Graph& graph, const std::vector<NodeId>& nodes) : graph_(graph) {
    for (const NodeId id : nodes) place_.emplace(id, find(id));
    members_.resize(numbers_.size());
    for (const auto& [id, place] : place_)
      if (place.axes == all_axes) members_[place.number].push_back(id);
  }
  /// By class, those of one value that depends on all axes.
  const std::vector<std::vector<NodeId>>& members() const { return members_; }
  const Offset& offset(NodeId id) const { return place_.at(id).offset; }

 private:
  static constexpr unsigned all_axes = 7;
  struct Place {
    std::size_t number = 0;
    unsigned axes = 0;       ///< that it depends on, a bit for each
    Offset offset{0, 0, 0};  ///< along these
  };
  using Part = std::tuple<std::size_t, int, int, int>;  // a class, and its offset from the node
  /// Operation, axis, symbol, bits of a constant; arguments.
  using Key = std::tuple<int, int, int, double, std::vector<Part>>;

  /// The offset along each axis is that of the first argument that depends on it.
  static void take(Place& place, const Place& part) {
    for (std::size_t a = 0; a < 3; ++a)
      if (depends(part, a) && !depends(place, a)) place.offset[a] = part.offset[a];
    place.axes |= part.axes;
  }
  static bool depends(const Place& place, std::size_t axis) { return ((place.axes >> axis) & 1U) != 0; }

  Place find(NodeId id) {
    const Node& node = graph_[id];
    Place place;
    if (node.op == Op::field) place = {0, all_axes, node.offset};
    if (node.op == Op::coordinate) place = {0, 1U << node.axis, node.offset};
    std::vector<Part> parts;
    for (int i = 0; i < arity(node.op); ++i) take(place, place_.at(node.args[static_cast<std::size_t>(i)]));
    for (int i = 0; i < arity(node.op); ++i) {
      const Place& part = place_.at(node.args[static_cast<std::size_t>(i)]);
      std::array<int, 3> apart{0, 0, 0};
      for (std::size_t a = 0; a < 3; ++a)
        if (depends(part, a)) apart[a] = part.offset[a] - place.offset[a];
      parts.emplace_back(part.number, apart[0], apart[1], apart[2]);
    }
    const Key key{static_cast<int>(node.op), node.axis, node.symbol, node.value, parts};
    place.number = numbers_.emplace(key, numbers_.size()).first->second;
    return place;
  }

  const Graph& graph_;
  std::map<NodeId, Place> place_;
  std::map<Key, std::size_t> numbers_;
  std::vector<std::vector<NodeId>> members_;
};

/// Whether all arrays that are read are the graph's elements in the grid's layout, with ghosts around them.
bool reads_grid_alone(Expr e) {
  const Graph& graph = e.graph();
  return std::ranges::all_of(reachable({e}), [&](NodeId id) {
    if (graph[id].op != Op::field) return true;
    const ArrayKind kind = graph.kind(graph[id].symbol);
    return kind.layout == 0 && kind.element == graph.element();
  });
}

/// Operations at every cell, and arrays read, of an expression.
int work_of(Expr e, const std::map<NodeId, Offset>& buffered) {
  const Graph& graph = e.graph();
  std::map<NodeId, bool> of_cell;
  int work = 0;
  for (const NodeId id : reachable({e}, [&](NodeId other) { return buffered.contains(other); })) {
    bool& is_of_cell = of_cell[id];
    is_of_cell = graph[id].op == Op::field;
    for (int i = 0; i < arity(graph[id].op); ++i) {
      const NodeId arg = graph[id].args[static_cast<std::size_t>(i)];
      is_of_cell = is_of_cell || buffered.contains(arg) || of_cell.at(arg);
    }
    work += is_of_cell ? 1 : 0;
  }
  return work;
}

/// The values of a kernel that are not buffered yet.
class Candidates {
 public:
  Candidates(const std::vector<Expr>& roots, const std::map<NodeId, Offset>& buffered)
      : graph_(roots.front().graph()), classes_(graph_, reachable(roots)), buffered_(buffered) {
    const std::vector<NodeId> live = reachable(roots, [&](NodeId id) { return buffered.contains(id); });
    for (const std::vector<NodeId>& all : classes_.members()) {
      std::vector<NodeId> members;
      for (const NodeId id : all)
        if (std::ranges::binary_search(live, id)) members.push_back(id);
      if (is_possible(members)) values_.push_back(std::move(members));
    }
  }

  /// The one that saves most, if that is enough.
  const std::vector<NodeId>* best() const {
    constexpr int enough = 8;  // operations and reads per cell
    const std::vector<NodeId>* found = nullptr;
    int most = enough - 1;
    for (const std::vector<NodeId>& members : values_) {
      const int saved = (static_cast<int>(members.size()) - 1) * (work_of(value(members), buffered_) - 1);
      if (saved <= most) continue;
      most = saved;
      found = &members;
    }
    return found;
  }

  RowBuffer buffer(const std::vector<NodeId>& members) const {
    RowBuffer made;
    Offset back = classes_.offset(members.front());
    for (auto& o : back) o = static_cast<std::int8_t>(-o);
    made.value = shift(value(members), back);
    for (const NodeId id : members) {
      const Offset& at = classes_.offset(id);
      const bool is_first = made.readers.empty();
      made.readers.emplace(id, at);
      made.x = {is_first ? at[0] : std::min<int>(made.x[0], at[0]), is_first ? at[0] : std::max<int>(made.x[1], at[0])};
      made.y = {is_first ? at[1] : std::min<int>(made.y[0], at[1]), is_first ? at[1] : std::max<int>(made.y[1], at[1])};
    }
    return made;
  }

 private:
  Expr value(const std::vector<NodeId>& members) const { return {&graph_, members.front()}; }
  /// One alone saves nothing (and is not looked at further: long kernels have thousands of these).
  bool is_possible(const std::vector<NodeId>& members) const {
    return members.size() > 1 && arity(value(members).node().op) > 0 && reads_grid_alone(value(members)) &&
           std::ranges::all_of(members, [&](NodeId id) { return classes_.offset(id)[2] == 0; });
  }

  Graph& graph_;
  Classes classes_;
  const std::map<NodeId, Offset>& buffered_;
  std::vector<std::vector<NodeId>> values_;
};

}  // namespace

std::vector<RowBuffer> row_buffers(const KernelSpec& kernel) {
  constexpr std::size_t most = 4;
  if (!kernel.sums.empty()) return {};
  std::vector<RowBuffer> found;
  std::map<NodeId, Offset> buffered;
  while (found.size() < most) {
    const Candidates candidates(kernel.roots(), buffered);
    const std::vector<NodeId>* const best = candidates.best();
    if (best == nullptr) break;
    found.push_back(candidates.buffer(*best));
    buffered.insert(found.back().readers.begin(), found.back().readers.end());
  }
  return found;
}

}  // namespace hindsight

#include "solvers/equations/columns.hpp"

#include <algorithm>
#include <set>

namespace hindsight {
namespace {

/// Of an operation, in additions.
int work_of(Op op) {
  constexpr int much = 8;
  switch (op) {
    case Op::div:
    case Op::pow:
    case Op::sqrt:
    case Op::exp:
    case Op::log:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::tanh:
      return much;
    default:
      return arity(op) > 0 ? 1 : 0;
  }
}

}  // namespace

std::map<NodeId, unsigned> Dependence::of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::map<NodeId, unsigned> all;
  for (const NodeId id : nodes) {
    const Node& node = graph[id];
    unsigned own = node.op == Op::field ? arrays : node.op == Op::coordinate ? 1U << node.axis : 0U;
    for (int i = 0; i < arity(node.op); ++i) {
      const auto known = all.find(node.args[static_cast<std::size_t>(i)]);
      own |= known != all.end() ? known->second : arrays;
    }
    all.emplace(id, own);
  }
  return all;
}

std::vector<NodeId> column_values(const Graph& graph, const std::vector<NodeId>& nodes,
                                  const std::vector<Expr>& roots) {
  constexpr int enough = 3;
  constexpr std::size_t most = 8;
  const std::map<NodeId, unsigned> dependence = Dependence::of(graph, nodes);
  const auto is_of_x = [&](NodeId id) { return dependence.at(id) == Dependence::x; };
  std::set<NodeId> wanted;
  for (const Expr root : roots) wanted.insert(root.id());
  for (const NodeId id : nodes)
    for (int i = 0; i < arity(graph[id].op) && !is_of_x(id); ++i)
      wanted.insert(graph[id].args[static_cast<std::size_t>(i)]);
  std::vector<NodeId> found;
  for (const NodeId id : nodes) {
    if (!wanted.contains(id) || !is_of_x(id)) continue;
    int work = 0;
    for (const NodeId part : reachable({Expr(const_cast<Graph*>(&graph), id)}))
      if (dependence.at(part) == Dependence::x) work += work_of(graph[part].op);
    if (work >= enough && found.size() < most) found.push_back(id);
  }
  return found;
}

}  // namespace hindsight

// Values that a kernel needs at every cell and that depend on x alone: computed once for all rows.
#pragma once

#include <map>
#include <vector>

#include "solvers/equations/graph.hpp"

namespace hindsight {

/// The axes of the coordinates that each node depends on, a bit for each; `arrays` where it depends on an array, or on
/// a node that is none of these.
struct Dependence {
  static constexpr unsigned x = 1, arrays = 8;
  static std::map<NodeId, unsigned> of(const Graph& graph, const std::vector<NodeId>& nodes);
};

/// The values of the nodes, ascending, that depend on x and on no other axis and no array, are read by some that do, or
/// are roots, and take so many operations that keeping them for all rows pays.
std::vector<NodeId> column_values(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<Expr>& roots);

}  // namespace hindsight

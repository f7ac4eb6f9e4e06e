// A slow, plain evaluator of the graph: the reference that compiled kernels are tested against, bit by bit.
#pragma once

#include <functional>
#include <vector>

#include "solvers/equations/graph.hpp"

namespace hindsight {

/// Where leaves take their values from, at the cell under evaluation.
struct Bindings {
  std::function<double(int symbol)> scalar;
  std::function<double(int symbol, Offset offset)> field;
  std::function<double(int axis, int offset)> coordinate;
};

/// Values of all nodes that the roots depend on.
std::unordered_map<NodeId, double> interpret_all(const std::vector<Expr>& roots, const Bindings& bindings);

/// Values of the roots. Uses the operations of the C math library, std::fma for fma, and double throughout.
std::vector<double> interpret(const std::vector<Expr>& roots, const Bindings& bindings);

/// One operation on values, the meaning of every arithmetic Op: shared with constant folding.
double apply(Op op, double a, double b, double c);

}  // namespace hindsight

#include "solvers/steppers/kernels/tiny_values.hpp"

namespace hindsight {
namespace {

Expr zero_below(double least, Expr value) {
  Graph& graph = value.graph();
  if (graph.element() != Element::float64 || value.is_constant(0.0)) return value;
  return where(abs(value) < graph.constant(least), graph.constant(0.0), value);
}

}  // namespace

Expr kept(Expr value) {
  return zero_below(0x1p-340, value);
}

Expr kept_derivative(Expr value) {
  return zero_below(0x1p-660, value);
}

}  // namespace hindsight

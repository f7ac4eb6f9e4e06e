#include "solvers/steppers/implicit/petsc/term_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "solvers/equations/interpret.hpp"

namespace hindsight {
namespace {

double size_of(const Node& node, double value, const std::unordered_map<NodeId, double>& sizes,
               const std::unordered_map<NodeId, double>& values) {
  const auto size = [&](std::size_t i) { return sizes.at(node.args[i]); };
  switch (node.op) {
    case Op::neg:
      return size(0);
    case Op::add:
    case Op::sub:
      return size(0) + size(1);
    case Op::mul:
      return size(0) * size(1);
    case Op::div:
      return size(0) / std::fabs(values.at(node.args[1]));
    case Op::fma:
      return size(0) * size(1) + size(2);
    default:
      return std::fabs(value);
  }
}

double size_at(const Expr& equation, const Graph& graph, const Bindings& cell) {
  const std::unordered_map<NodeId, double> values = interpret_all({equation}, cell);
  std::unordered_map<NodeId, double> sizes;
  for (const NodeId id : reachable({equation})) sizes[id] = size_of(graph[id], values.at(id), sizes, values);
  return sizes.at(equation.id());
}

}  // namespace

double size_of_terms(const Model& model, std::size_t field, const Grid& grid, const CountedVector<std::int64_t>& places,
                     Tables& tables, const double* u) {
  constexpr std::size_t most_cells = 64;
  const Graph& graph = *model.graph;
  const Layout& layout = grid.layout();
  std::unordered_map<int, std::size_t> states;
  for (std::size_t f = 0; f < model.fields.size(); ++f) states[graph.field_index(model.fields[f])] = f;
  double largest = 0.0;
  const std::size_t stride = std::max<std::size_t>(1, places.size() / most_cells);
  for (std::size_t c = 0; c < places.size(); c += stride) {
    const auto number = static_cast<std::int64_t>(c);
    const Index3 cell{number % grid.cells()[0], number / grid.cells()[0] % grid.cells()[1],
                      number / grid.cells()[0] / grid.cells()[1]};
    const auto field_at = [&](int symbol, Offset offset) {
      const std::int64_t at = places[c] + offset[0] + layout.stride_y * offset[1] + layout.stride_z * offset[2];
      const auto state = states.find(symbol);
      if (state == states.end()) return tables.field(symbol)[at - layout.origin];
      return u[layout.field_stride * static_cast<std::int64_t>(state->second) + at];
    };
    const auto coordinate = [&](int axis, int offset) {
      return grid.coordinates(axis)[cell[static_cast<std::size_t>(axis)] + offset];
    };
    const double size = size_at(model.right_hand_sides[field], graph,
                                {[&](int symbol) { return tables.scalar(symbol); }, field_at, coordinate});
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  return grid.communicator().max(largest);
}

}  // namespace hindsight

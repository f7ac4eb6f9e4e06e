#include "adjoint/problem/moving_cells.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// The unknown's condition: of the owned cells, x fastest.
std::vector<double> evaluated(const Unknown& unknown, const Discretisation& problem,
                              const std::vector<int>& parameter_fields) {
  Graph& graph = *problem.model().graph;
  const KernelSpec spec{"where", {{"@where", unknown.where}}, {}};
  const int held = graph.field("@where").node().symbol;
  const Grid grid(problem.spec().axes, problem.communicator(), problem.grid().layout().halo, Machine::host(),
                  problem.element());
  Tables tables(graph, grid, 0);
  problem.communicator().together([&] {
    tables.allocate({held});
    tables.allocate(parameter_fields);
  });
  for (const int symbol : parameter_fields) tables.copy_array(symbol, problem.tables(), problem.machine());
  for (const std::string& name : problem.model().scalars)
    if (const int symbol = graph.scalar_index(name); symbol >= 0)
      tables.scalar(symbol) = problem.tables().scalar(symbol);
  const KernelLibrary library({spec}, boxes_of(grid.dimensions()), problem.communicator());
  tables.launch(library[0], grid.interior());
  std::vector<double> cells(static_cast<std::size_t>(grid.interior().cells()));
  pack_cells(grid, tables.cells(held), cells.data());
  return cells;
}

}  // namespace

MovingCells::MovingCells(const Unknown& unknown, const Discretisation& problem,
                         const std::vector<int>& parameter_fields) {
  const std::vector<double> condition = evaluated(unknown, problem, parameter_fields);
  const auto is_no_number = [](double value) { return !std::isfinite(value); };
  if (problem.communicator().any(std::ranges::any_of(condition, is_no_number)))
    throw InputError(unknown.where_place, "where: it is not a number in some cell");
  for (const double value : condition) moves_.push_back(value != 0.0 ? 1 : 0);
  if (!problem.communicator().any(std::ranges::count(moves_, 1) > 0))
    throw InputError(unknown.where_place,
                     "where: it holds in no cell, so that nothing of '" + unknown.label() + "' is unknown");
}

std::vector<double> MovingCells::only(std::vector<double> values) const {
  for (std::size_t k = 0; k < moves_.size(); ++k)
    if (moves_[k] == 0) values[k] = 0.0;
  return values;
}

}  // namespace hindsight

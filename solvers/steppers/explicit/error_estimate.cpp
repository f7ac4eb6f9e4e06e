#include "solvers/steppers/explicit/error_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hindsight {

ErrorEstimate::ErrorEstimate(const Model& model, const Active& active, const RungeKuttaKernels& scheme,
                             Tolerances tolerances)
    : model_(model), tolerances_(std::move(tolerances)), kernels_(model, active, "trial_") {
  Graph& graph = *model.graph;
  const int last = scheme.stages() + 1;
  kernels_.add(scheme.trial());
  kernels_.derive({});
  time_.emplace(model, active, last, 0);
  const auto symbol = [&](const std::string& name) { return int{graph.field(name).node().symbol}; };
  for (const std::string& name : model.fields) {
    first_.push_back(symbol(StageNames::stage(name, 1)));
    last_.push_back(symbol(StageNames::stage(name, last)));
    next_.push_back(symbol(RungeKuttaNames::next(name)));
  }
  ratio_ = symbol(RungeKuttaNames::ratio());
}

void ErrorEstimate::prepare(const Grid& grid, Tables& tables) {
  grid.communicator().together([&] {
    tables.allocate({ratio_});
    grid.operations().reserve_largest();
  });
  kernels_.prepare(grid, tables, {}, KernelSet::Libraries::one);
  tables.scalar(model_.graph->scalar_index(RungeKuttaNames::relative())) = tolerances_.relative;
  judge_by(tables, std::nullopt);
}

/// Of the other fields any error is allowed.
void ErrorEstimate::judge_by(Tables& tables, std::optional<std::size_t> field) const {
  for (std::size_t f = 0; f < model_.fields.size(); ++f)
    tables.scalar(model_.graph->scalar_index(RungeKuttaNames::absolute(model_.fields[f]))) =
        field && f != *field ? std::numeric_limits<double>::infinity() : tolerances_.absolute[f];
}

Stepper::WorstError ErrorEstimate::worst(const Tables& tables) const {
  const Grid& grid = tables.grid();
  std::vector<double> ratios(static_cast<std::size_t>(grid.interior().cells()));
  pack_cells(grid, tables.cells(ratio_), ratios.data());
  const auto is_less = [](double a, double b) { return std::isfinite(a) && !(b <= a); };
  const auto worst = std::ranges::max_element(ratios, is_less);
  return {*worst, owned_cell(grid, worst - ratios.begin())};
}

double ErrorEstimate::ratio(Tables& tables, const SeriesData& series, StepTime time, double* u, double* next) {
  time_->set(tables, series, time.at(1.0));
  tables.bind_state(first_, u);
  tables.bind_state(next_, next);
  tables.bind_state(last_, next);
  kernels_.evaluate_walls(tables);
  kernels_.kernels().front().run_value(tables);
  const Grid& grid = tables.grid();
  const Box box = grid.interior();
  const double here = grid.operations().largest(box.extent(), grid.block(box, tables.cells(ratio_)));
  return std::sqrt(grid.communicator().max(here));
}

}  // namespace hindsight

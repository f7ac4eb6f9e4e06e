#include "solvers/steppers/kernels/evaluation_time.hpp"

#include "solvers/steppers/kernels/derivation.hpp"
#include "solvers/steppers/stage_names.hpp"

namespace hindsight {

EvaluationTime::EvaluationTime(const Model& model, const Active& active, int stage, int first_sum)
    : t_(model.graph->scalar_index(StageNames::stage("t", stage))), places_(active.series.size()) {
  const auto symbol = [&](const std::string& name) { return model.graph->scalar_index(name); };
  for (std::size_t q = 0; q < model.series.size(); ++q)
    if (const int value = symbol(StageNames::stage(model.series[q], stage)); value >= 0) values_.push_back({q, value});
  const std::vector<SeriesVariable> variables = series_variables(active, stage, first_sum);
  for (std::size_t q = 0; q < variables.size(); ++q) {
    const SeriesVariable& variable = variables[q];
    if (const int direction = symbol(StageNames::dot(variable.name)); direction >= 0)
      directions_.push_back({q, direction});
    const std::array<int, 2> weights{symbol(variable.weights[0]), symbol(variable.weights[1])};
    if (weights[0] >= 0 && weights[1] >= 0) weights_.push_back({q, weights, variable.first_sum});
  }
}

void EvaluationTime::set_directions(Tables& tables, const SeriesData& series, double t) const {
  for (const Value& value : directions_) tables.scalar(value.symbol) = series.directions()[value.series].at(t);
}

void EvaluationTime::bind_knots(Tables& tables, const SeriesData& series, double t) {
  for (const Weights& weights : weights_) {
    Series::Place& place = places_[weights.series];
    place = series.active(weights.series).place(t);
    // Behind the last knot there is none, and the last one has all the weight.
    tables.scalar(weights.symbols[0]) = 1.0 - place.weight;
    tables.scalar(weights.symbols[1]) = place.weight;
    for (int knot = 0; knot < 2; ++knot)
      tables.bind_sum(weights.first_sum + knot,
                      series.sums(weights.series, place.knot + static_cast<std::size_t>(knot)));
  }
}

}  // namespace hindsight

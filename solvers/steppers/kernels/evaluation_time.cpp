#include "solvers/steppers/kernels/evaluation_time.hpp"

#include "solvers/steppers/stage_names.hpp"

namespace hindsight {

EvaluationTime::EvaluationTime(const Model& model, const Active& active, int stage, int first_sum, SeriesReads reads)
    : t_(model.graph->scalar_index(StageNames::stage("t", stage))), places_(active.series.size()) {
  const auto symbol = [&](const std::string& name) { return model.graph->scalar_index(name); };
  for (std::size_t q = 0; q < model.series.size(); ++q) {
    const std::string &name = model.series[q], rate = StageNames::rate(name);
    if (const int value = symbol(StageNames::stage(name, stage)); value >= 0) values_.push_back({q, false, value});
    if (reads == SeriesReads::values) continue;
    if (const int value = symbol(StageNames::stage(rate, stage)); value >= 0) values_.push_back({q, true, value});
  }
  for (const SeriesVariable& variable : series_variables(active, stage, first_sum, reads)) {
    if (const int direction = symbol(StageNames::dot(variable.name)); direction >= 0)
      directions_.push_back({variable.series, variable.is_rate, direction});
    const std::array<int, 2> weights{symbol(variable.weights[0]), symbol(variable.weights[1])};
    if (weights[0] >= 0 && weights[1] >= 0)
      weights_.push_back({variable.series, variable.is_rate, weights, variable.first_sum});
  }
}

void EvaluationTime::set_directions(Tables& tables, const SeriesData& series, double t) const {
  for (const Value& value : directions_) tables.scalar(value.symbol) = value.of(series.directions(), t);
}

void EvaluationTime::bind_knots(Tables& tables, const SeriesData& series, double t) {
  for (const Weights& weights : weights_) {
    Series::Place& place = places_[weights.series];
    const Series& values = series.active(weights.series);
    place = values.place(t);
    // Behind the last knot there is none, and the last one has all the weight.
    const std::array<double, 2> shares =
        weights.is_rate ? values.rate_shares(t) : std::array{1.0 - place.weight, place.weight};
    for (std::size_t knot = 0; knot < 2; ++knot) tables.scalar(weights.symbols[knot]) = shares[knot];
    for (int knot = 0; knot < 2; ++knot)
      tables.bind_sum(weights.first_sum + knot,
                      series.sums(weights.series, place.knot + static_cast<std::size_t>(knot)));
  }
}

}  // namespace hindsight

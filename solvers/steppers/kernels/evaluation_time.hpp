// The scalars by which the kernels of one evaluation know its time.
#pragma once

#include <array>
#include <vector>

#include "solvers/equations/model.hpp"
#include "solvers/steppers/kernels/derivation.hpp"
#include "solvers/steppers/kernels/series_data.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// The time of an evaluation, the values of series then, their rates where these are read, and how the knots of active
/// series share in both. A rate at a knot is that behind it; there is none before the first knot and from the last on.
class EvaluationTime {
 public:
  /// To be made when all kernels have been derived: scalars that none of them reads are left out.
  /// @param stage of the evaluation (StageNames). @param first_sum of the sums() of this evaluation.
  EvaluationTime(const Model& model, const Active& active, int stage, int first_sum,
                 SeriesReads reads = SeriesReads::values);
  /// Sums (Tables) that an evaluation takes.
  static int sums(const Active& active, SeriesReads reads = SeriesReads::values) {
    return (reads == SeriesReads::values ? 2 : 4) * static_cast<int>(active.series.size());
  }

  /// Time and values.
  void set(Tables& tables, const SeriesData& series, double t) const {
    if (t_ >= 0) tables.scalar(t_) = t;
    for (const Value& value : values_) tables.scalar(value.symbol) = value.of(series.values(), t);
  }
  /// The directions of active series.
  void set_directions(Tables& tables, const SeriesData& series, double t) const;
  /// Weights of the knots around t, and where their derivatives go.
  void bind_knots(Tables& tables, const SeriesData& series, double t);
  /// Of the active series that kernels read, when knots were bound last.
  const std::vector<Series::Place>& places() const { return places_; }

 private:
  struct Value {
    std::size_t series;  ///< of the model's, or of the active ones
    bool is_rate;
    int symbol;
    double of(const std::vector<Series>& all, double t) const {
      return is_rate ? all[series].rate_at(t) : all[series].at(t);
    }
  };
  struct Weights {
    std::size_t series;  ///< of the active ones
    bool is_rate;
    std::array<int, 2> symbols;
    int first_sum;
  };
  int t_;
  std::vector<Value> values_, directions_;
  std::vector<Weights> weights_;
  std::vector<Series::Place> places_;
};

}  // namespace hindsight

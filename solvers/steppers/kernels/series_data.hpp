// The time series of a model: their values, directions, and where the derivatives with respect to their knots go.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

class SeriesData {
 public:
  SeriesData(const Model& model, const Active& active);

  /// @param values run parallel to model.series. Allocates a row of sums when a series is active.
  void prepare(const Grid& grid, const std::vector<Series>& values);
  /// Takes new values of the knots of a series (index into model.series).
  void set_values(std::size_t series, const std::vector<double>& values) { values_[series].values = values; }
  /// Takes directions of the active series.
  void set_directions(std::vector<Series> directions) { directions_ = std::move(directions); }
  /// Says where derivatives with respect to an active series go: knots x local rows.
  void bind_sums(std::size_t active_series, double* knots) { sums_[active_series] = knots; }

  const std::vector<Series>& values() const { return values_; }
  const std::vector<Series>& directions() const { return directions_; }
  const Series& active(std::size_t q) const { return values_[active_[q]]; }
  /// Number of knots of each active series.
  std::vector<std::size_t> knots() const;
  /// The rows of sums of a knot of an active series; behind the last one, rows that nobody reads.
  double* sums(std::size_t q, std::size_t knot) const;

 private:
  std::vector<std::size_t> active_;  // indices into model.series
  std::vector<Series> values_, directions_;
  std::vector<double*> sums_;
  std::int64_t rows_ = 0;
  Memory unread_;
};

}  // namespace hindsight

#include "solvers/steppers/kernels/series_data.hpp"

#include <algorithm>

namespace hindsight {

SeriesData::SeriesData(const Model& model, const Active& active) : sums_(active.series.size(), nullptr) {
  for (const std::string& name : active.series)
    active_.push_back(
        static_cast<std::size_t>(std::find(model.series.begin(), model.series.end(), name) - model.series.begin()));
}

void SeriesData::prepare(const Grid& grid, const std::vector<Series>& values) {
  values_ = values;
  rows_ = grid.local_rows();
  if (!active_.empty()) unread_ = Memory(rows_, grid.machine());
}

std::vector<std::size_t> SeriesData::knots() const {
  std::vector<std::size_t> counts;
  for (const std::size_t series : active_) counts.push_back(values_[series].values.size());
  return counts;
}

double* SeriesData::sums(std::size_t q, std::size_t knot) const {
  if (knot >= active(q).values.size()) return unread_.data();
  return sums_[q] + static_cast<std::int64_t>(knot) * rows_;
}

}  // namespace hindsight

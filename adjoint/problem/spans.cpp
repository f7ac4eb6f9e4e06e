#include "adjoint/problem/spans.hpp"

#include <algorithm>

namespace hindsight {

Spans::Spans(const TimeLine& line, std::int64_t most) {
  first_span_.push_back(0);
  first_step_.push_back(0);
  for (std::size_t s = 0; s < line.stretches(); ++s) {
    const std::int64_t end = line.first_step(s + 1), steps = end - first_step_.back();
    const std::int64_t parts = (steps + most - 1) / most;
    longest_ = std::max(longest_, (steps + parts - 1) / parts);
    first_span_.push_back(first_span_.back() + parts);
    first_step_.push_back(end);
  }
}

std::size_t Spans::stretch(std::int64_t i) const {
  return static_cast<std::size_t>(std::upper_bound(first_span_.begin(), first_span_.end(), i) - first_span_.begin()) -
         1;
}

}  // namespace hindsight

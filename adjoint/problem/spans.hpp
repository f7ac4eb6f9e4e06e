// The steps of a run, divided into spans that are taken in one call each.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/memory.hpp"
#include "solvers/time/time_line.hpp"

namespace hindsight {

/// Spans of at most so many steps; at every landing time one begins, so that within one no state is looked at. Those
/// between two landings are equally long, but for a step: the longer ones come first. Memory grows with the landings;
/// it counts.
class Spans {
 public:
  struct Span {
    std::int64_t first = 0, count = 1;  ///< steps
  };
  /// @param line whose steps are known.
  Spans(const TimeLine& line, std::int64_t most);

  /// Steps of the longest one.
  std::int64_t longest() const { return longest_; }
  /// Number of spans.
  std::int64_t count() const { return first_span_.back(); }
  Span at(std::int64_t i) const {
    const std::size_t s = first_span_.size() == 2 ? 0 : stretch(i);
    const std::int64_t parts = first_span_[s + 1] - first_span_[s], steps = first_step_[s + 1] - first_step_[s];
    const std::int64_t part = i - first_span_[s], each = steps / parts, longer = steps % parts;
    return {first_step_[s] + part * each + std::min(part, longer), part < longer ? each + 1 : each};
  }

 private:
  std::size_t stretch(std::int64_t i) const;

  std::int64_t longest_ = 1;
  CountedVector<std::int64_t> first_span_, first_step_;  // of each stretch, and of what is behind the last one
};

}  // namespace hindsight

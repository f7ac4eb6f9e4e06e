// The times of all steps, known before the first: the same forward and backward.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/steppers/step_time.hpp"

namespace hindsight {

/// Steps of equal length between landing times (observations, outputs, the end), none longer than asked for: each
/// stretch is divided into ceil(length/step) steps. State k belongs to time(k); step k leads from state k to k+1.
/// Memory made by the constructor grows with the landings, not with the steps, and counts (runtime/memory.hpp).
class TimePlan {
 public:
  /// @param landings any order; those outside (from, to) are ignored; ones closer than 1e-9 steps are merged.
  /// @throws InputError when step is not positive or exceeds to - from, or to <= from.
  TimePlan(double from, double to, double step, std::vector<double> landings);

  std::int64_t steps() const { return steps_; }
  /// The run ends with state k: steps() is k until reopen().
  void end_at(std::int64_t k) { steps_ = k; }
  void reopen() { steps_ = first_step_.back(); }
  StepTime step(std::int64_t k) const {
    const std::size_t s = first_step_.size() == 2 ? 0 : stretch(k);
    return {ends_[s] + static_cast<double>(k - first_step_[s]) * lengths_[s], lengths_[s], k};
  }
  double time(std::int64_t k) const;
  /// Steps of one length between two landing times.
  struct Stretch {
    double from = 0.0, to = 0.0, step = 0.0;
  };
  /// The first stretch with the shortest steps, with the longest.
  Stretch shortest() const;
  Stretch longest() const;
  /// The state at a landing time. @throws Error(bug) when the plan does not land there.
  std::int64_t state_at(double time) const;

 private:
  std::size_t stretch(std::int64_t k) const;
  CountedVector<double> ends_;              // times where stretches begin, and the end
  CountedVector<std::int64_t> first_step_;  // of each stretch, and the total
  CountedVector<double> lengths_;           // of the steps of each stretch
  std::int64_t steps_ = 0;
  double tolerance_ = 0.0;
};

}  // namespace hindsight

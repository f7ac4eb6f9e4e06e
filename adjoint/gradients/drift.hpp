// Whether the costs that a plan rests on still hold.
#pragma once

#include <algorithm>
#include <utility>

namespace hindsight {

/// A gradient that takes another time than planned has the costs measured again before the next one, once: what
/// measuring does not explain (caches, transfers that share a disk) is expected from then on. The same on all ranks
/// when they are asked the same.
class Drift {
 public:
  /// After a gradient. Those shorter than a tenth of a second tell nothing.
  void see(double seconds, double planned) {
    constexpr double telling_seconds = 0.1, tolerated = 1.2;
    if (seconds < telling_seconds) return;
    const double ratio = seconds / (planned * unexplained_);
    const bool is_off = std::max(ratio, 1.0 / ratio) > tolerated;
    if (is_off && was_measured_) unexplained_ = seconds / planned;
    wants_measuring_ = is_off && !was_measured_;
    was_measured_ = false;
  }
  bool wants_measuring() const { return wants_measuring_; }
  /// Costs were measured, or must not be.
  void settle() { was_measured_ = std::exchange(wants_measuring_, false); }

 private:
  double unexplained_ = 1.0;  // seconds over planned ones
  bool wants_measuring_ = false, was_measured_ = false;
};

}  // namespace hindsight

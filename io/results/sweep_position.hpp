// How far an evaluation is: in steps, and where their number shows only as they are taken, in simulated time.
#pragma once

#include <cstdint>
#include <optional>

#include "solvers/time/time_line.hpp"

namespace hindsight {

struct SweepPosition {
  std::int64_t done = 0;   ///< steps, forward and reversed
  std::int64_t total = 0;  ///< 0: not known yet
  /// Of the evaluation that is done; none where nobody can tell, because a condition ends it.
  std::optional<double> part = {};
  /// How far in simulated time, as long as the number of steps is not known.
  struct Reached {
    double time = 0.0, end = 0.0;
    bool may_end_before = false;  ///< a condition ends the run: `end` is the latest one
  };
  std::optional<Reached> reached = {};

  /// Of an evaluation whose steps are known in advance. @param total above 0.
  static SweepPosition counted(std::int64_t done, std::int64_t total) {
    return {.done = done, .total = total, .part = static_cast<double>(done) / static_cast<double>(total)};
  }
};

/// What an evaluation does.
struct SweepExtent {
  bool has_condition = false;  ///< which ends the run
  bool reverses = false;
  std::int64_t planned = 0;  ///< steps in all, where they are known in advance
};

/// Whether the steps of a run are known before the first one is taken.
inline bool counts_in_advance(const TimeLine& time, bool has_condition) {
  return time.is_known() && !has_condition;
}

/// After so many steps forward and reversed. Where the number of steps is not known in advance, the way forward is as
/// far as the time that it has reached and counts for half of a gradient; the way back is counted in the steps that
/// there were.
SweepPosition position_of(const TimeLine& time, const SweepExtent& extent, std::int64_t forward, std::int64_t reversed);

}  // namespace hindsight

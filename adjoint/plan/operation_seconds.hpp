// What operations cost, measured or given.
#pragma once

#include <algorithm>
#include <array>

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

/// Seconds of one step. What is kept for long leaves the caches, which costs more than recomputing when a state is
/// small enough for them.
struct StepSeconds {
  double forward = 1.0;       ///< a plain step
  double record = 1.0;        ///< recording a step, its record to be kept, and going on
  double reverse_kept = 1.0;  ///< of a step whose record was kept
  double record_last = 0.0;   ///< recording a step to reverse it at once
  double reverse = 1.0;       ///< of a step just recorded
  /// Records that are reversed at once hold the state alone, and all else is computed again as the step is reversed.
  bool reverses_from_state = false;
  double save = 0.0;  ///< what a plain step takes longer when its result is kept in the memory it was made in
  double load = 0.0;  ///< what a plain step takes longer from a state that was kept there
  /// What a gradient takes beside these operations per step of the run: the objective, its adjoint, looks for values
  /// that are not finite, the driver itself.
  double aside = 0.0;
};

/// Seconds of one state to and from a slow tier.
struct TransferSeconds {
  double write = 0.0, read = 0.0;
  double write_delay = 0.0, read_delay = 0.0;  ///< of the steps beside it: processor time that no spare core gives
};

/// Seconds of all operations.
struct OperationSeconds : StepSeconds {
  std::array<double, tier_count> write{}, read{};  ///< of one state
  /// By which such a transfer delays the steps beside it.
  std::array<double, tier_count> write_delay{}, read_delay{};
  Tier memory = Tier::host;  ///< where states are made and kept by reference
  /// Of an action that is looked at before it comes, because loads are read ahead.
  double look = 0.0;
  /// Of one unit of host memory that is written for the first time: of those that lie ready, and of more, where that is
  /// known (FreshMemory).
  double touch = 0.0, touch_more = 0.0;
  double ready_units = 0.0;  ///< where touch_more is known
  double of_memory(double units) const {
    return touch_more == 0.0 ? touch * units
                             : touch * std::min(units, ready_units) + touch_more * std::max(0.0, units - ready_units);
  }

  ScheduleCosts of_schedule() const { return {forward, record_last + reverse, write, read, write_delay, read_delay}; }
};

/// How far transfers to and from slow tiers run beside the steps: states that may wait to be written, and states read
/// ahead. 0 and 0: transfers stop the work.
struct Overlap {
  int queue = 0, prefetch = 0;
  /// Tiers that hold copies: not the memory that states are made in, unless it holds them coded.
  std::array<bool, tier_count> transfers{true, false, true};
  bool is_on() const { return queue > 0 || prefetch > 0; }
};

}  // namespace hindsight

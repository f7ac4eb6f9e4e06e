// What operations cost, measured or given.
#pragma once

#include <array>

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

/// Seconds of one operation.
struct OperationSeconds {
  double forward = 1.0;                     ///< a plain step
  double record = 1.0, reverse_kept = 1.0;  ///< of a step whose record goes into a slot
  double record_last = 0.0, reverse = 1.0;  ///< of a step recorded to be reversed at once
  double save = 0.0,
         load = 0.0;  ///< what a step takes longer whose state stays in the memory it was made in; that begins so
  std::array<double, tier_count> write{}, read{};  ///< of one state
  /// By which such a transfer delays the steps beside it.
  std::array<double, tier_count> write_delay{}, read_delay{};
  Tier memory = Tier::host;  ///< where states are made and kept by reference

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

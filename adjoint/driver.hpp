// Executes a schedule's actions on a time-stepping problem. Knows no schedule, no tier and no field.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/store/pool.hpp"

namespace hindsight {

/// What reversing a step needs: the state it starts from and its stages.
struct StepRecord {
  Buffer base, stages;
};

/// A problem whose steps can be repeated and reversed. States are passed in and returned.
class ReversibleSteps {
 public:
  virtual ~ReversibleSteps() = default;
  virtual Buffer initial_state() = 0;
  /// State k -> state k+1. `first` is true when this step has not been taken before in this gradient.
  virtual Buffer advance(std::int64_t k, const Buffer& state, bool first) = 0;
  /// The same, keeping what reverse() needs in `record`. A repeated step need not return the next state: nobody needs
  /// it.
  virtual Buffer record(std::int64_t k, const Buffer& state, bool first, StepRecord& record) = 0;
  /// The end is reached: sets the adjoint of the last state.
  virtual void turn(std::int64_t steps, const Buffer& last) = 0;
  /// Adjoint of state k+1 -> adjoint of state k.
  virtual void reverse(std::int64_t k, const StepRecord& record) = 0;
};

/// Steps executed, and slots used at most, per tier.
struct DriverCounts {
  std::int64_t plain = 0, recorded = 0, reversed = 0;
  std::array<std::int64_t, tier_count> peak{};
};

/// What the slots of all tiers hold; made before the first step, so that nothing is allocated while stepping.
class CheckpointSlots {
 public:
  explicit CheckpointSlots(const Capacities& capacities) {
    for (std::size_t t = 0; t < tier_count; ++t)
      slots_[t].resize(static_cast<std::size_t>(std::max<std::int64_t>(0, capacities.slots[t])));
  }
  StepRecord& operator[](Slot slot) {
    return slots_[static_cast<std::size_t>(slot.tier)].at(static_cast<std::size_t>(slot.index));
  }

 private:
  std::array<std::vector<StepRecord>, tier_count> slots_;
};

/// Runs all actions. @param slots at least as many as the schedule uses; empty before and after. @param progress called
/// every few steps with (steps done forward, steps reversed); may be empty.
DriverCounts drive(ActionStream stream, ReversibleSteps& steps, CheckpointSlots& slots,
                   const std::function<void(std::int64_t, std::int64_t)>& progress);

}  // namespace hindsight

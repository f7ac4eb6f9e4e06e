// The dynamic program of states and stage records that share one memory (mixed.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "adjoint/schedule/schedule.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

/// Time quadratic in the steps times the units; memory 12 bytes per step and unit.
class MixedProgram {
 public:
  /// @param units of one state each. @param record_units that a record takes. @param record_gives_state a record also
  /// gives back the state after its step.
  MixedProgram(std::int64_t steps, std::int64_t units, std::int64_t record_units, bool record_gives_state);
  static double operations(std::int64_t steps, std::int64_t units);
  /// What it keeps, and what a stream of its actions does; saturating.
  static ScheduleMemory memory(std::int64_t steps, std::int64_t units, std::int64_t record_units,
                               bool record_gives_state);

  /// Forward steps in all, recording ones included.
  std::int64_t total() const { return total_; }
  bool is_feasible() const;
  static ActionStream actions(std::shared_ptr<const MixedProgram> program);

 private:
  static constexpr std::int32_t as_live = -1;  // do what would be done without the record
  class Totals;
  std::size_t place(std::int64_t units, std::int64_t steps) const {
    return static_cast<std::size_t>(units * (steps_ + 1) + steps);
  }
  std::int64_t steps_, units_, record_, total_ = 0;
  bool gives_state_;
  CountedVector<std::int32_t> live_, given_;  // where to cut (0: store a record of the first step), by units and steps
};

/// The units that records of all steps but the last take; saturating.
std::int64_t saturating_units(std::int64_t steps, std::int64_t record_units);

}  // namespace hindsight

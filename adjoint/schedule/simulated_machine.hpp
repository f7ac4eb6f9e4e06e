// Executes a schedule without a solver, checks every action, counts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/schedule/action.hpp"
#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

/// The machine that every schedule is proven on: it knows the live step, the live record, the slots and the adjoint's
/// front, and refuses whatever does not fit. Used by the tests, by `hindsight schedule`, and by the driver in debug
/// runs.
class SimulatedMachine {
 public:
  /// With an unknown number of steps the run ends after request.at_most. @param is_online the schedule does not know
  /// the number of steps before it turns, and may record steps in vain until then.
  SimulatedMachine(const ScheduleRequest& request, bool is_online);
  /// @throws Error(ExitCode::bug) naming the action and the invariant it breaks.
  void execute(const Action& action);
  /// To be called when the stream has ended. @throws if Done was missing, a step was not reversed or a slot leaks.
  void finish() const;
  const ScheduleCounts& counts() const { return counts_; }
  std::optional<std::int64_t> live_state() const { return live_state_; }

 private:
  struct Held {
    std::int64_t step;
    Content content;
    bool is_head = true;  ///< a record's further units are not
  };
  [[noreturn]] void refuse(const std::string& why) const;
  void require(bool holds, const char* why) const;
  void apply(const Advance& action);
  void apply(const Record& action);
  void apply(const Reverse& action);
  void apply(const Retreat& action);
  void apply(const Save& action);
  void apply(const Load& action);
  void apply(const Move& action);
  void apply(const Release& action);
  void apply(const Turn& action);
  void apply(const Done& action);
  void check_step_ahead(std::int64_t from, std::int64_t to) const;
  std::int64_t units(Content content) const;
  std::optional<Held>& slot(Slot slot);
  Held& full(Slot slot);
  void fill(Slot slot, Held held);
  void clear(Slot slot);

  ScheduleRequest request_;
  std::int64_t steps_;
  bool is_online_;
  ScheduleCounts counts_;
  std::int64_t action_number_ = 0;
  Action action_ = Done{};
  std::optional<std::int64_t> live_state_ = 0;
  std::optional<std::int64_t> live_record_;
  bool is_walked_ = false;      ///< the live state came by Retreat
  bool record_needed_ = false;  ///< the live record is in no slot and not reversed
  std::int64_t front_ = -1;     ///< the next step to be reversed is front_ - 1; -1 before Turn
  bool done_ = false;
  std::array<std::vector<std::optional<Held>>, tier_count> slots_;
  std::array<std::int64_t, tier_count> in_use_{};
};

/// Runs a whole schedule on the machine; with an unknown number of steps the run ends after `request.at_most`.
/// @throws InputError when the schedule refuses the request, Error(ExitCode::bug) when it breaks an invariant or what
/// it executes is not what it predicted.
ScheduleCounts simulate(const ScheduleKind& kind, const ScheduleRequest& request);

}  // namespace hindsight

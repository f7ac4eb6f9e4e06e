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

/// Executed work, as `hindsight schedule` and result.json show it.
struct ScheduleCounts {
  std::int64_t plain = 0;     ///< steps advanced without recording, the first sweep included
  std::int64_t recorded = 0;  ///< steps recorded
  std::int64_t reversed = 0;
  std::array<std::int64_t, tier_count> writes{}, reads{}, peak{};  ///< per tier; peak slots in use
  std::int64_t total() const { return plain + recorded; }
};

/// The machine that every schedule is proven on: it knows the live step, the live record, the slots and the adjoint's
/// front, and refuses whatever does not fit. Used by the tests, by `hindsight schedule`, and by the driver in debug
/// runs.
class SimulatedMachine {
 public:
  SimulatedMachine(std::int64_t steps, Capacities capacities);
  /// @throws Error(ExitCode::bug) naming the action and the invariant it breaks.
  void execute(const Action& action);
  /// To be called when the stream has ended. @throws if Done was missing, a step was not reversed or a slot leaks.
  void finish() const;
  const ScheduleCounts& counts() const { return counts_; }

 private:
  struct Held {
    std::int64_t step;
    Content content;
  };
  [[noreturn]] void refuse(const std::string& why) const;
  void require(bool holds, const char* why) const;
  void apply(const Advance& action);
  void apply(const Record& action);
  void apply(const Reverse& action);
  void apply(const Save& action);
  void apply(const Load& action);
  void apply(const Move& action);
  void apply(const Release& action);
  void apply(const Turn& action);
  void apply(const Done& action);
  void check_step_ahead(std::int64_t from, std::int64_t to) const;
  std::optional<Held>& slot(Slot slot);
  Held& full(Slot slot);
  void fill(Slot slot, Held held);
  void clear(Slot slot);

  std::int64_t steps_;
  Capacities capacities_;
  ScheduleCounts counts_;
  std::int64_t action_number_ = 0;
  Action action_ = Done{};
  std::optional<std::int64_t> live_state_ = 0;
  std::optional<std::int64_t> live_record_;
  bool record_needed_ = false;  ///< the live record is in no slot and not reversed
  std::int64_t front_ = -1;     ///< the next step to be reversed is front_ - 1; -1 before Turn
  bool done_ = false;
  std::array<std::vector<std::optional<Held>>, tier_count> slots_;
  std::array<std::int64_t, tier_count> in_use_{};
};

/// Runs a whole schedule on the machine. @throws InputError when the schedule refuses the request, Error(ExitCode::bug)
/// when it breaks an invariant or its plain steps are not those that it predicted.
ScheduleCounts simulate(const ScheduleKind& kind, const ScheduleRequest& request);

}  // namespace hindsight

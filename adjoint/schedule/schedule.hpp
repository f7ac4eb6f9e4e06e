// Schedules: generators of actions.
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adjoint/schedule/action.hpp"
#include "runtime/registry.hpp"

namespace hindsight {

/// In a schedule, `co_await OneAtATime{}`: from here on it must not run ahead, because it asks for the end.
struct OneAtATime {};
/// In a schedule, `co_await EndOfRun{}`: the number of steps if the executor has said it (finish_at), else -1.
struct EndOfRun {};

/// A generator of actions, written as a coroutine that co_yields them. Move-only. The coroutine runs ahead by up to
/// `ahead` actions, so that an action costs a store and not a switch; what it says cannot depend on what is done with
/// it, unless it awaits OneAtATime.
class ActionStream {
 public:
  static constexpr std::size_t ahead = 64;

  struct promise_type {
    std::array<Action, ahead> buffer;
    std::size_t filled = 0, taken = 0, limit = ahead;
    std::int64_t end = -1;
    std::exception_ptr error;

    struct Answer {
      std::int64_t value;
      bool await_ready() const noexcept { return true; }
      void await_suspend(std::coroutine_handle<>) const noexcept {}
      std::int64_t await_resume() const noexcept { return value; }
    };
    Answer await_transform(OneAtATime) noexcept {
      limit = 1;
      return {end};
    }
    Answer await_transform(EndOfRun) noexcept { return {end}; }

    struct SuspendWhenFull {
      bool is_full;
      bool await_ready() const noexcept { return !is_full; }
      void await_suspend(std::coroutine_handle<>) const noexcept {}
      void await_resume() const noexcept {}
    };
    ActionStream get_return_object() { return ActionStream(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    template <class Kind>
    SuspendWhenFull yield_value(const Kind& action) noexcept {
      store(buffer[filled++], action);
      return {filled >= limit};
    }
    SuspendWhenFull yield_value(const Action& action) noexcept {
      buffer[filled++] = action;
      return {filled >= limit};
    }
    // Member by member: a block copy of what was just written in parts would stall the processor.
    template <class Kind>
    static void store(Action& to, const Kind& action) noexcept {
      if constexpr (std::is_same_v<Kind, Save> || std::is_same_v<Kind, Load>) {
        to.template emplace<Kind>(Slot{action.slot.tier, action.slot.index}, action.step, action.content);
      } else if constexpr (std::is_same_v<Kind, Release>) {
        to.template emplace<Kind>(Slot{action.slot.tier, action.slot.index});
      } else {
        to.template emplace<Kind>(action);
      }
    }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
  };
  using Handle = std::coroutine_handle<promise_type>;

  ActionStream() = default;
  explicit ActionStream(Handle handle) : handle_(handle) {}
  ActionStream(ActionStream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ActionStream& operator=(ActionStream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~ActionStream() {
    if (handle_) handle_.destroy();
  }

  /// The next action, valid until the next call; Done is the last one, after it nullptr.
  const Action* next() {
    if (!handle_) return nullptr;
    promise_type& promise = handle_.promise();
    if (promise.taken == promise.filled && !refill()) return nullptr;
    return &promise.buffer[promise.taken++];
  }
  /// The action after the one that next() gave last, which is no longer valid then; nullptr at the end.
  const Action* peek() {
    promise_type& promise = handle_.promise();
    if (promise.taken == promise.filled && !refill()) return nullptr;
    return &promise.buffer[promise.taken];
  }
  /// Says that state `steps` is the last one. Only before Turn, and only to a schedule that was asked for an unknown
  /// number of steps.
  void finish_at(std::int64_t steps) { handle_.promise().end = steps; }

 private:
  bool refill() {
    promise_type& promise = handle_.promise();
    promise.filled = promise.taken = 0;
    if (!handle_.done()) handle_.resume();
    if (promise.filled == 0 && promise.error) std::rethrow_exception(promise.error);
    return promise.filled > 0;
  }

  Handle handle_;
};

using PerTier = std::array<std::int64_t, tier_count>;

/// Capacities of the tiers in units of one state (a stage record takes `record_units`); unlimited where below 0.
struct Capacities {
  PerTier slots{0, 0, 0};
  std::int64_t operator[](Tier tier) const { return slots[index_of(tier)]; }
  std::int64_t& operator[](Tier tier) { return slots[index_of(tier)]; }
};

/// Costs of one operation, in any common unit.
struct ScheduleCosts {
  double forward = 1;  ///< one plain step
  double reverse = 1;  ///< recording and reversing one step
  std::array<double, tier_count> write{}, read{};
  std::array<double, tier_count> write_delay{}, read_delay{};  ///< of the steps that a transfer runs beside
};

inline constexpr std::int64_t unknown_steps = -1;

/// Most families have one tier or two: the memory that states are made in, for which they say host, and a slower one,
/// for which they say disk. These are the tiers that play them.
struct TierRoles {
  Tier memory = Tier::host, slow = Tier::disk;
};

/// What a schedule is asked to do.
struct ScheduleRequest {
  std::int64_t steps = 1;            ///< n >= 1, or unknown_steps for an online schedule
  Capacities capacities{};           ///< slots include the one that holds the initial state
  Content content = Content::state;  ///< store-all, online: whether slots keep states alone or stage records too
  ScheduleCosts costs{};             ///< of families that weigh them
  std::int64_t record_units = 1;     ///< units that a stage record takes
  bool record_gives_state = false;   ///< a record also gives back the state after its step (stiffly accurate methods)
  std::int64_t period = 0;           ///< steps between checkpoints of periodic families; 0: the schedule chooses
  std::int64_t at_most = 0;          ///< unknown_steps: the run ends here at the latest
  std::int64_t records = 0;          ///< online: records of the last steps that are kept; 0: as many as fit
  std::int64_t table_bytes = std::numeric_limits<std::int64_t>::max();  ///< host memory that a dynamic program may take
                                                                        ///< where there is another way
  TierRoles roles{};  ///< see make_schedule() (roles.hpp); capacities and costs are those of the tiers
};

/// Work of a schedule, predicted or executed, as `hindsight schedule` and result.json show it.
struct ScheduleCounts {
  std::int64_t plain = 0;     ///< steps advanced without recording, the first sweep included
  std::int64_t recorded = 0;  ///< steps recorded
  std::int64_t kept = 0;      ///< of these, the ones whose record went into a slot
  std::int64_t reversed = 0;
  std::int64_t retreated = 0;         ///< steps that a state was walked back
  PerTier writes{}, reads{}, peak{};  ///< per tier; peak: units in use at most
  std::int64_t total() const { return plain + recorded; }
};

/// forward * (plain + retreated) + reverse * reversed + forward * (steps recorded more than once) + sum over tiers of
/// writes * write + reads * read.
double total_cost(const ScheduleCounts& counts, const ScheduleCosts& costs);

/// Not predicted: traffic of a tier that costs nothing.
inline constexpr std::int64_t unpredicted = -1;

/// A request met.
struct Schedule {
  /// What it will execute, exactly; `peak` is the most units it will use. Writes and reads of free tiers may be
  /// `unpredicted`. With an unknown number of steps nothing but `peak` is predicted.
  ScheduleCounts predicted;
  std::function<ActionStream()> actions;  ///< each call starts anew
};

/// Stage records as a planner offers them to families that can keep some in host memory.
struct RecordOffer {
  bool is_possible = false;  ///< host memory may hold records
  bool is_wanted = false;    ///< by families that can do with states or with records
  std::int64_t units = 1;    ///< that a record takes
  double reverse = 1;        ///< cost of recording and reversing a step whose record is kept in between
};

/// Host memory that a family keeps, in bytes: of each stream of actions, of all together, and what is given back when
/// the schedule is made.
struct ScheduleMemory {
  std::int64_t stream = 0, shared = 0, making = 0;
};

/// One registered family. `make` throws InputError when the request cannot be met (no slot at all, ...), saying what is
/// needed.
struct ScheduleKind {
  std::string name;     ///< what a case calls it: checkpoints.schedule
  std::string summary;  ///< one line for a person
  Schedule (*make)(const ScheduleRequest&);
  bool is_online = false;  ///< it learns the number of steps from ActionStream::finish_at, known or not
  /// Adds to a planner's request what the family makes of it: records, a period. Null: nothing.
  void (*complete)(ScheduleRequest&, const RecordOffer&) = nullptr;
  /// What `make` takes in operations of a dynamic program. Null: next to nothing.
  double (*operations)(const ScheduleRequest&) = nullptr;
  bool takes_any_tiers = false;  ///< fast to slow, whichever have slots: roles are nothing to it
  /// What the schedule of a request keeps at most, as it is made and as it runs. Null: next to nothing.
  ScheduleMemory (*memory)(const ScheduleRequest&) = nullptr;
  bool walks_back = false;  ///< it retreats: only steps that can be taken backwards, inexactly, can follow it
};

/// In the order in which they are shown. What is added must be there before the first case is read.
Registry<ScheduleKind>& schedules();

}  // namespace hindsight

// Schedules: generators of actions.
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adjoint/schedule/action.hpp"

namespace hindsight {

/// A generator of actions, written as a coroutine that co_yields them. Move-only. The coroutine runs ahead by up to
/// `ahead` actions, so that an action costs a store and not a switch; what it says cannot depend on what is done with
/// it.
class ActionStream {
 public:
  static constexpr std::size_t ahead = 64;

  struct promise_type {
    std::array<Action, ahead> buffer;
    std::size_t filled = 0, taken = 0;
    std::exception_ptr error;

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
      return {filled == ahead};
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

/// Slots per tier; unlimited where the value is below 0.
struct Capacities {
  std::array<std::int64_t, tier_count> slots{0, 0, 0};
  std::int64_t operator[](Tier tier) const { return slots[static_cast<std::size_t>(tier)]; }
};

/// What a schedule is asked to do.
struct ScheduleRequest {
  std::int64_t steps = 1;            ///< n >= 1
  Capacities capacities;             ///< slots include the one that holds the initial state
  Content content = Content::state;  ///< store-all: whether its slots keep states or stage records
};

/// One registered schedule. `start` throws InputError when the request cannot be met (no slot at all, ...), saying what
/// is needed. `plain_steps` is the number of plain steps the schedule predicts for itself.
struct ScheduleKind {
  std::string name;
  std::string summary;  ///< one line for a person
  ActionStream (*start)(const ScheduleRequest&);
  std::int64_t (*plain_steps)(const ScheduleRequest&);
  /// Host slots that it will use at most.
  std::int64_t (*slots_used)(const ScheduleRequest&);
};

/// The explicit list of all schedules, in the order they are shown.
const std::vector<ScheduleKind>& schedules();
/// By name. @throws InputError with the nearest name.
const ScheduleKind& schedule_kind(const std::string& name);

}  // namespace hindsight

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

/// A synchronous generator of actions, written as a coroutine that co_yields them. Move-only; frames of nested
/// generators are allocated once per nesting, never per action where that can be avoided.
class ActionStream {
 public:
  struct promise_type {
    const Action* current = nullptr;  // lives in the coroutine's frame until it is resumed
    std::exception_ptr error;
    ActionStream get_return_object() { return ActionStream(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(const Action& action) noexcept {
      current = &action;
      return {};
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
    if (!handle_ || handle_.done()) return nullptr;
    handle_.resume();
    if (!handle_.done()) return handle_.promise().current;
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return nullptr;
  }

 private:
  Handle handle_;
};

/// Slots per tier; unlimited where the value is below 0.
struct Capacities {
  std::array<std::int64_t, tier_count> slots{0, 0, 0};
  std::int64_t operator[](Tier tier) const { return slots[static_cast<std::size_t>(tier)]; }
};

/// What a schedule is asked to do.
struct ScheduleRequest {
  std::int64_t steps = 1;  ///< n >= 1
  Capacities capacities;   ///< slots include the one that holds the initial state
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

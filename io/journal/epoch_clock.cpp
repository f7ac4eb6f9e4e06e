#include "io/journal/epoch_clock.hpp"

#include <algorithm>
#include <utility>

namespace hindsight {
namespace {

constexpr double look_interval = 0.05;     // seconds between looks at clocks and signals
constexpr double part_for_epochs = 0.007;  // of the time: 1 % with what comes unforeseen
constexpr double shortest_interval = 2.0;  // seconds between epochs
constexpr double guessed_rate = 3e8;       // bytes per second

}  // namespace

double EpochClock::guessed_seconds(double bytes) {
  return bytes / guessed_rate;
}

void EpochClock::begin(double now, std::int64_t bytes) {
  average_ = 0.02 + guessed_seconds(static_cast<double>(bytes));
  looked_at_ = began_ = now;
  plan();
}

std::int64_t EpochClock::looked(double now, double longest, std::int64_t asked) {
  looked_at_ = now;
  if (looks_++ > 0) longest_wait_ = std::max(0.5 * longest_wait_, longest);
  const auto steps = static_cast<double>(asked - std::exchange(asked_, asked));
  const double more = std::clamp(look_interval / std::max(1e-9, longest), 0.25, 2.0);
  return asked + std::max<std::int64_t>(1, static_cast<std::int64_t>(steps * more));
}

void EpochClock::kept(double now, double seconds) {
  seconds_ += seconds;
  average_ = seconds_ / static_cast<double>(++epochs_);
  looked_at_ = now;
  plan();
}

/// So that all epochs together, with the next one, stay a part of the time.
void EpochClock::plan() {
  planned_at_ = looked_at_;
  next_ = limits_.interval ? looked_at_ + *limits_.interval
                           : std::max(looked_at_ + shortest_interval, began_ + (seconds_ + average_) / part_for_epochs);
}

double EpochClock::seconds_to_stop(double parts) const {
  return 0.3 + 2 * std::max(look_interval, longest_wait_) + 2 * average_ + (worth_keeping(parts) ? parts : 0.0);
}

bool EpochClock::worth_keeping(double parts) const {
  constexpr double most = 0.2, without_limit = 10.0;  // of the time that there is; seconds
  return parts <= (limits_.stop_after ? most * *limits_.stop_after : without_limit);
}

}  // namespace hindsight

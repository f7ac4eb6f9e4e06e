// The time that a process has, and durations as people write them.
#pragma once

#include <optional>
#include <string>

namespace hindsight {

/// When the process has to have ended, if it has to.
class TimeLimit {
 public:
  /// @param after seconds since the process started.
  explicit TimeLimit(std::optional<double> after) : after_(after) {}
  /// Whether the time is up if stopping takes so many seconds.
  bool is_late(double seconds_to_stop) const;
  std::optional<double> after() const { return after_; }

 private:
  std::optional<double> after_;
};

/// Since the process started.
double process_seconds();

/// "90s", "55min", "2h", "1h30min" -> seconds. @throws InputError
double parse_duration(const std::string& text);

}  // namespace hindsight

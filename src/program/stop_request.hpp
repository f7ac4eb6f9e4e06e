// Asked to stop: by a signal, or because the time is up.
#pragma once

#include <array>
#include <csignal>
#include <optional>
#include <string>

namespace hindsight {

/// While it lives, SIGTERM, SIGINT and SIGUSR1 are requests to stop; a second one ends the process at once, with the
/// exit code of a stopped run. Signals that follow the first within half a second count as the same.
class StopRequest {
 public:
  /// @param after seconds since the process started when it has to have ended.
  explicit StopRequest(std::optional<double> after);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// "SIGUSR1"; empty: no signal came to this rank.
  static std::string signal();
  /// Whether the time is up if stopping takes so many seconds.
  bool is_late(double seconds_to_stop) const;
  std::optional<double> after() const { return after_; }

 private:
  std::optional<double> after_;
  std::array<struct sigaction, 3> before_{};
};

/// Since the process started.
double process_seconds();

/// "90s", "55min", "2h", "1h30min" -> seconds. @throws InputError
double parse_duration(const std::string& text);

}  // namespace hindsight

// One line on a terminal that says how far a run is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace hindsight {

/// "42 s", "17 min", "3.2 h".
std::string duration_text(double seconds);

/// "forward  1200/2000 steps  60 %  350 steps/s  ETA 2 s", without the ETA while nothing is done.
std::string progress_line(const std::string& name, const std::string& unit, std::int64_t done, std::int64_t total,
                          double seconds);

/// Prints "forward  1200/2000 steps  60 %  350 steps/s  ETA 2 s" on stderr, rewriting the line, at most ten times a
/// second; prints nothing when stderr is no terminal, on ranks other than 0, or when quiet. update() costs a few
/// nanoseconds when it is not time to print.
class Progress {
 public:
  Progress(bool enabled, int rank);
  ~Progress();
  /// A new phase: the count starts again.
  void phase(const std::string& name, std::int64_t total, const std::string& unit = "steps");
  void update(std::int64_t done);
  /// Prints "warning: TEXT", on a terminal or not.
  void warn(const std::string& text);
  /// Clears the line.
  void finish();

 private:
  void print(std::int64_t done, double seconds);
  bool warns_ = false, enabled_ = false;
  std::string name_, unit_;
  std::int64_t total_ = 0, next_look_ = 0, stride_ = 1;
  std::chrono::steady_clock::time_point start_, printed_;
  bool line_open_ = false;
};

}  // namespace hindsight

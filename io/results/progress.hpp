// One line on a terminal that says how far a run is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "io/results/sweep_position.hpp"

namespace hindsight {

/// "42 s", "17 min", "3.2 h".
std::string duration_text(double seconds);

/// Seconds that an evaluation will still take after so many, at the pace that it had. None where that cannot be told.
std::optional<double> seconds_to_go(const SweepPosition& position, double seconds);

/// "forward  1200/2000 steps  60 %  350 steps/s  ETA 2 s", without the ETA while nothing is done. Where the number of
/// steps is not known yet: "forward  t = 6 of 10  1200 steps  60 %  350 steps/s  ETA 2 s"; where a condition ends the
/// run: "forward  t = 6 of 10 at the latest  1200 steps  350 steps/s".
std::string progress_line(const std::string& name, const SweepPosition& position, double seconds);

/// Prints progress_line() on stderr, rewriting the line, at most ten times a second; prints nothing when stderr is no
/// terminal, on ranks other than 0, or when quiet. update() costs a few nanoseconds when it is not time to print.
class Progress {
 public:
  Progress(bool enabled, int rank);
  ~Progress();
  /// A new phase: the count starts again.
  void phase(const std::string& name);
  void update(const SweepPosition& position);
  /// Prints "warning: TEXT", on a terminal or not.
  void warn(const std::string& text);
  /// Clears the line.
  void finish();

 private:
  void print(const SweepPosition& position, double seconds);
  bool warns_ = false, enabled_ = false;
  std::string name_;
  std::int64_t next_look_ = 0, stride_ = 1;
  std::chrono::steady_clock::time_point start_, printed_;
  bool line_open_ = false;
};

}  // namespace hindsight

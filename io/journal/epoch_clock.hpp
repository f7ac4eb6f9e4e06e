// When a run keeps an epoch: a calculation with times that it is given; it reads no clock itself.
//
// An epoch costs the steps a while. Where no interval is asked for, the next one comes when all epochs so far and one
// more, at their average cost, are a small part of the time since the run began. Whether one is due is looked at
// between steps, about every 50 ms: how many steps pass until the next look follows from how many passed since the last
// one. So a step compares two integers (SweepKeeper::is_due).
#pragma once

#include <cstdint>
#include <optional>

namespace hindsight {

/// Times `now` are seconds since some moment, the same in all calls. Ranks agree on what they look at: a rank's own
/// times differ, so decisions need the largest of all ranks. Pure: no call waits, allocates or fails.
class EpochClock {
 public:
  struct Limits {
    std::optional<double> interval;    ///< seconds from an epoch to the next; none: as often as their cost allows
    std::optional<double> stop_after;  ///< seconds that the process may take from its start; none: no limit
  };
  /// Seconds that it takes to write bytes, before an epoch was measured.
  static double guessed_seconds(double bytes);

  explicit EpochClock(const Limits& limits) : limits_(limits) {}
  /// The run begins: before, nothing is due. @param bytes that an epoch may have, for a first guess of its cost.
  void begin(double now, std::int64_t bytes);
  bool is_due(double now) const { return now >= next_; }
  /// Seconds from the last epoch to the next.
  double interval() const { return next_ - planned_at_; }
  /// Whether half of that is over.
  bool is_half_due(double now) const { return now >= 0.5 * (planned_at_ + next_); }

  /// Seconds since the last look, or the end of the last epoch.
  double waited(double now) const { return now - looked_at_; }
  /// All ranks look. @param longest seconds that any of them waited for this look. @param asked how often it was asked
  /// whether to look since the process began, the same on all ranks. @returns at which number to look again.
  std::int64_t looked(double now, double longest, std::int64_t asked);
  bool is_first_look() const { return looks_ <= 1; }

  /// An epoch is kept. @param seconds that it took, of the slowest rank.
  void kept(double now, double seconds);
  /// Seconds that all epochs of this process took.
  double seconds_of_epochs() const { return seconds_; }

  /// Seconds from now until the process has stopped with an epoch, if it is to stop at the next look. @param parts
  /// seconds that writing parts of the sweep takes (SweepParts), if they are worth_keeping().
  double seconds_to_stop(double parts) const;
  /// Whether the process has to stop. @param process_seconds since it started.
  bool is_late(double process_seconds, double parts) const {
    return limits_.stop_after && process_seconds + seconds_to_stop(parts) >= *limits_.stop_after;
  }
  /// Whether a process that stops writes parts of the sweep that take so many seconds, or they are computed again.
  bool worth_keeping(double parts) const;

 private:
  void plan();

  Limits limits_;
  double began_ = 0.0, looked_at_ = 0.0, planned_at_ = 0.0, next_ = 0.0;
  double seconds_ = 0.0, average_ = 0.0;  // of epochs
  double longest_wait_ = 0.0;             // between looks, of late
  std::int64_t epochs_ = 0, looks_ = 0, asked_ = 0;
};

}  // namespace hindsight

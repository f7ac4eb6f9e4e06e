// The tolerance of lossy codecs that makes the most of an accepted error of the gradient.
#pragma once

#include <optional>

namespace hindsight {

/// How lossy codecs were held to the accepted error of the gradient: all relative, the largest over the unknowns, of
/// all tiers together.
struct LossyError {
  double accepted = 0.0, predicted = 0.0, measured = 0.0;
  double tolerance = 0.0;
  int gradients = 0;  ///< that finding the tolerance took
};

/// Looks for a tolerance whose error is a good part of what is accepted. Errors are taken to add up, and that of a
/// tier to be proportional to its tolerance. Each attempt() is measured by the caller, who then tells what it saw().
class ToleranceSearch {
 public:
  /// @param floor error of tiers whose tolerance is not sought, part of all that will be seen.
  ToleranceSearch(double accepted, double floor, double first) : accepted_(accepted), floor_(floor), attempt_(first) {}

  /// The tolerance to try; none when the search is over.
  std::optional<double> attempt() const { return is_over_ ? std::nullopt : std::optional(attempt_); }
  /// What the attempt leads to, as far as that is foreseen; of the first one nothing is.
  std::optional<double> predicted() const { return predicted_; }
  /// @param measured error of the attempt. @param is_used whether any state was coded with it; else it makes no
  /// difference and is the last one. @returns whether the attempt is the best one so far.
  bool saw(double measured, bool is_used);

 private:
  double room() const { return accepted_ - floor_; }
  double next(double measured) const;

  double accepted_, floor_, attempt_;
  std::optional<double> predicted_, best_;  // best_: measured
  int attempts_ = 0;
  bool is_over_ = false;
};

}  // namespace hindsight

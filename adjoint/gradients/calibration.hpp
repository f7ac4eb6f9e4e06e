// Lossy codecs held to the error of the gradient that is accepted of them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "adjoint/gradients/planned_checkpoints.hpp"
#include "adjoint/gradients/tolerance_search.hpp"

namespace hindsight {

/// Finds the tolerance that leads to a part of the accepted error, by comparison with the gradient of checkpoints
/// without lossy codecs. What a tier with a tolerance of its own adds is part of the error.
class Calibration {
 public:
  /// A gradient with the checkpoints that are planned. @throws NumericsError when states become impossible.
  using Evaluate = std::function<UnknownValues()>;

  /// @param checkpoints, simulation, options must outlive this.
  Calibration(PlannedCheckpoints& checkpoints, const Simulation& simulation, const CheckpointOptions& options);

  /// Whether an error is accepted of any codec that changes states.
  bool is_asked_for() const { return accepted_ > 0.0; }
  /// After the first calibration; and whether another one is under way, of which nothing is known yet.
  const std::optional<LossyError>& error() const { return error_; }
  bool is_under_way() const { return is_under_way_; }
  /// Finds the tolerance and plans with it. @param between is called between steps of a run that looks ahead.
  /// Collective. @throws InputError when no tolerance holds to what is accepted.
  void calibrate(const Evaluate& evaluate, const std::function<void()>& between);
  /// The tier has fewer slots than when its error was measured.
  void tier_has_shrunk() { has_shrunk_ = true; }
  /// Whether the error of this gradient may be larger than what was measured. Collective.
  bool is_outdated(const UnknownValues& gradient) const;

  void save(ArchiveWriter& to) const;
  /// Codecs get the tolerance of the process before.
  void restore(ArchiveReader& from);
  /// Its plan is not that of this process.
  void forget() { error_.reset(); }

 private:
  class UnderWay;
  UnknownValues exact_gradient(const Evaluate& evaluate);
  double error_at(std::optional<double> tolerance, const UnknownValues& exact, const Evaluate& evaluate,
                  const std::function<void()>& between);
  bool is_used() const;
  double norm(const UnknownValues& gradient) const;
  [[noreturn]] void refuse_fixed_tiers(double error) const;
  [[noreturn]] void refuse(double measured) const;

  PlannedCheckpoints& checkpoints_;
  const Simulation& simulation_;
  const CheckpointOptions& options_;
  std::vector<Tier> tuned_, fixed_;  // slow tiers whose codecs change states: with a tolerance to be found, and others
  double accepted_ = 0.0;            // the least of the accepted errors of the gradient; 0: none is given
  std::optional<LossyError> error_;
  double norm_ = 0.0;  // of the gradient then
  bool has_shrunk_ = false, is_under_way_ = false;
};

}  // namespace hindsight

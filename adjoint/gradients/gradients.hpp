// Gradients of a problem within budgets of memory and disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/gradients/calibration.hpp"
#include "adjoint/gradients/drift.hpp"
#include "adjoint/gradients/gradient_options.hpp"
#include "adjoint/gradients/planned_checkpoints.hpp"

namespace hindsight {

/// A problem whose gradients are made with checkpoints on a plan, which follows measured costs and is made again when
/// these change, when a tier turns out full, and when lossy codecs are held to an accepted error. All calls that change
/// anything are collective.
class Gradients {
 public:
  /// Builds the simulation, on the host, and plans.
  Gradients(SimulationSpec spec, const Communicator& comm, GradientOptions options = {});
  /// Plans for a simulation with an adjoint. @throws InputError when budgets are too small, ResourceError when they
  /// are, because less was found free than they were made from.
  Gradients(std::shared_ptr<Simulation> simulation, const Communicator& comm, GradientOptions options = {});
  ~Gradients();
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;

  Simulation& simulation() { return *simulation_; }
  const Simulation& simulation() const { return *simulation_; }
  /// The unknowns, by the order of the spec.
  const UnknownValues& values() const { return simulation_->values(); }
  void set_values(const UnknownValues& values) { simulation_->set_values(values); }
  /// The objective and its derivatives at these values. @throws NumericsError when a state is not finite.
  Evaluation evaluate(const StateObserver& observer = {});

  const CheckpointPlan& plan() const { return checkpoints_->plan(); }
  const PlannedCheckpoints& checkpoints() const { return *checkpoints_; }
  /// Bytes of a tier that a gradient may use on this rank: of memory with working memory, of a disk given in slots what
  /// these take; 0 of a tier that is not there.
  std::int64_t budget(Tier tier) const { return checkpoints_->means().budget(tier); }
  /// Bytes of a tier's memory in use at most since the last gradient began.
  std::int64_t peak_bytes(Tier tier) const;
  /// Of codecs of which an error is accepted; after the first gradient.
  const std::optional<LossyError>& lossy_error() const { return calibration_->error(); }
  /// The largest drift of states that were walked back to, of all gradients so far (WalkDrift); none: no gradient has
  /// walked back.
  const std::optional<double>& drift() const { return walked_; }
  /// What went wrong and was mended so far, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Whether the plan is one that the keeper had.
  bool is_restored() const { return is_restored_; }
  /// Plans again with the costs and the disk's codec of another process that works on a like problem, so that both have
  /// one plan. Throws as planning does.
  void plan_alike(const OperationSeconds& known, const std::string& disk_codec);
  /// Nobody will go on with the gradient under way: files that are kept for that are removed.
  void discard() { checkpoints_->tiers().close(Tier::disk); }

 private:
  void plan_in_budget(const std::function<void()>& plan);
  void make_ready();
  bool restore();
  void pause();
  bool goes_on() const { return options_.keeper != nullptr && options_.keeper->has_sweep(); }
  void calibrate();
  Evaluation evaluate_once(const StateObserver& observer);
  GradientResult sweep(const StateObserver& observer, double& seconds);
  std::int64_t steps_of_evaluation() const;
  void warn(const std::string& text);
  void report_damage(const DriverCounts& counts);

  std::shared_ptr<Simulation> simulation_;
  Communicator comm_;
  GradientOptions options_;
  std::vector<std::string> warnings_;
  std::size_t warnings_of_budget_ = 0;  // that more is asked for than is there
  std::unique_ptr<PlannedCheckpoints> checkpoints_;
  std::unique_ptr<Calibration> calibration_;
  Drift drift_;
  std::optional<double> walked_;
  std::int64_t steps_before_ = 0;  // of the gradient before, where nothing but states tells them
  bool is_restored_ = false;
  bool is_attached_ = false;  // to the keeper
};

}  // namespace hindsight

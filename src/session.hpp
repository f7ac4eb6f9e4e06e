// A case made ready to run: its simulation, its gradients, its priors, and the journal of what was evaluated.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adjoint/gradients/gradients.hpp"
#include "adjoint/problem/unknown_sums.hpp"
#include "io/case/case.hpp"
#include "io/checkpoints/checkpoint_files.hpp"
#include "io/results/progress.hpp"
#include "runtime/resident.hpp"
#include "src/run_journal.hpp"

namespace hindsight {

/// What a session can evaluate beside the objective.
enum class Sensitivities { none, adjoint, adjoint_and_tangent };

/// What a session is made from beside the case.
struct SessionOptions {
  std::string costs = {};      ///< as of `hindsight plan --cost`, in seconds
  bool only_plan = false;      ///< no gradient will be asked for
  std::int64_t gradients = 1;  ///< that memory is made once for
  /// Of this session alone: its budget is the session's.
  std::shared_ptr<Machine> machine{std::shared_ptr<void>(), &Machine::host()};
  DiskOptions disk = {};
  RunJournal* journal = nullptr;  ///< keeps what the session works out; must outlive it
  bool shows_progress = false;    ///< says on a terminal how far it is, and warns there
};

/// Bytes of this program that are resident after start-up and at most; and by how much that grew which is no page of a
/// file (libraries come as they are used for the first time), with what counts in the budget already then. Each of the
/// rank that has the most.
struct ResidentBytes {
  std::int64_t start = 0, peak = 0, growth = 0;
};

class Session {
 public:
  /// Builds the simulation and plans its gradients. Collective. The case's log-scale and prior settings are kept with
  /// the unknowns.
  Session(Case c, const Communicator& comm, Sensitivities sensitivities, SessionOptions options = {});
  /// A tier's files stay for a process that goes on, unless the last evaluation has failed for good.
  ~Session();

  const Case& source() const { return case_; }
  const Communicator& communicator() const { return comm_; }
  Simulation& simulation() { return *simulation_; }
  const Simulation& simulation() const { return *simulation_; }
  /// Of a session with derivatives.
  const Gradients& gradients() const { return *gradients_; }
  bool has_gradients() const { return gradients_ != nullptr; }
  const CheckpointPlan& plan() const { return gradients_->plan(); }
  /// What the plan was made from; budgets are the least of all ranks.
  const PlanInputs& plan_inputs() const { return gradients_->checkpoints().inputs(); }
  /// The slow tiers that are open.
  const SlowTiers& tiers() const { return gradients_->checkpoints().tiers(); }
  std::int64_t budget(Tier tier) const { return gradients_->budget(tier); }
  std::int64_t peak_bytes(Tier tier) const { return gradients_->peak_bytes(tier); }
  /// What went wrong and was mended since the session began, one line each.
  std::vector<std::string> warnings() const;
  /// What the case's author should know, one sentence each (notes.hpp).
  const std::vector<std::string>& notes() const { return notes_; }

  /// Notes, and warns, where the last run came to its latest end and its condition was not met.
  void look_at_end();

  /// Until now. Collective.
  ResidentBytes resident_bytes() const;
  /// What an epoch of this rank has, about.
  std::int64_t epoch_bytes() const;

  /// The objective, priors included; observer as in Simulation.
  double objective(const StateObserver& observer);
  /// With the priors of the unknowns included.
  Evaluation gradient(const StateObserver& observer);
  /// {objective, its derivative in a direction} by the tangent model, priors included.
  std::pair<double, double> tangent(const UnknownValues& direction);

  /// As in unknown_sums.hpp. Collective.
  double dot(const UnknownValues& a, const UnknownValues& b) const { return hindsight::dot(*simulation_, a, b); }
  double relative_difference(const UnknownValues& a, const UnknownValues& b) const {
    return hindsight::relative_difference(*simulation_, a, b);
  }

 private:
  /// An evaluation as the journal's log has it.
  struct Logged {
    std::string kind, failure;  // failure: of the numerics, in words
    double derivative = 0.0;
    Evaluation evaluation;
  };
  void log_unlogged();
  Logged once(const std::string& kind, std::int64_t steps, const std::function<void(Logged&)>& work);
  void write(BlockWriter& to, const Logged& logged, double values) const;
  void read(BlockReader& from, Logged& logged, double values);
  GradientOptions gradient_options();
  SweepOptions watched(const StateObserver& observer);
  bool has_condition() const { return simulation_->spec().until.has_value(); }
  std::int64_t known_steps(std::int64_t steps) const;
  void tell_position(const SweepPosition& position);

  Case case_;
  Communicator comm_;
  SessionOptions options_;
  std::shared_ptr<Simulation> simulation_;
  std::vector<std::string> notes_;
  Progress progress_;
  std::int64_t steps_of_gradient_ = 0;  // planned
  Resident resident_at_start_;
  std::int64_t counted_at_start_ = 0;                  // bytes
  bool has_failed_ = false;                            // the last evaluation, for good
  std::optional<std::pair<Logged, double>> unlogged_;  // it has failed at these values (their dot product)
  std::unique_ptr<Gradients> gradients_;               // null where no derivatives are asked for
};

}  // namespace hindsight

// A case made ready to run: its simulation, its priors, its checkpoint plan.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/plan/plan.hpp"
#include "adjoint/problem/simulation.hpp"
#include "io/case/case.hpp"
#include "io/results/progress.hpp"
#include "runtime/resident.hpp"
#include "src/drift.hpp"
#include "src/run_journal.hpp"
#include "src/slow_tiers.hpp"

namespace hindsight {

/// A gradient with the priors of the unknowns included.
struct Evaluation {
  double objective = 0.0;
  UnknownValues gradient;
  DriverCounts counts;
  double seconds = 0.0;
};

/// What a plan is made from beside the case.
struct PlanOptions {
  std::string costs;           ///< as of `hindsight plan --cost`, in seconds
  bool only_plan = false;      ///< no gradient will be asked for
  std::int64_t gradients = 1;  ///< that memory is made once for
  /// Of this session alone: its budget is the session's.
  std::shared_ptr<Machine> machine{std::shared_ptr<void>(), &Machine::host()};
  DiskOptions disk;
  RunJournal* journal = nullptr;  ///< keeps what the session works out; must outlive it
};

/// How lossy codecs were held to the accepted error of the gradient: all relative, the largest over the unknowns, of
/// all tiers together.
struct LossyError {
  double accepted = 0.0, predicted = 0.0, measured = 0.0;
  double tolerance = 0.0;  ///< of the tiers whose tolerance was left open
  int gradients = 0;       ///< that it took so far
};

/// Bytes of this program that are resident after start-up and at most; and by how much that grew which is no page of a
/// file (libraries come as they are used for the first time), with what counts in the budget already then. Each of the
/// rank that has the most.
struct ResidentBytes {
  std::int64_t start = 0, peak = 0, growth = 0;
};

/// Slow tiers whose codecs change states, whether the plan uses them or not: with a tolerance to be found, and others.
struct LossyTiers {
  std::vector<Tier> tuned, fixed;
  double accepted = 0.0;  ///< the least of the accepted errors of the gradient; 0: none is given
};

class Session {
 public:
  /// Builds the simulation. Collective. The case's log-scale and prior settings are kept with the unknowns.
  Session(Case c, const Communicator& comm, bool adjoint, bool tangent, bool quiet, PlanOptions options = {});
  /// A tier's files stay for a process that goes on, unless the last evaluation has failed for good.
  ~Session();

  const Case& source() const { return case_; }
  const Communicator& communicator() const { return comm_; }
  Simulation& simulation() { return *simulation_; }
  const Simulation& simulation() const { return *simulation_; }
  const CheckpointPlan& plan() const { return plan_; }
  /// What the plan was made from; budgets are the least of all ranks.
  const PlanInputs& plan_inputs() const { return inputs_; }
  /// Seconds since the process started when the plan was made; and what making the memory of checkpoints took then.
  double planned_at() const { return planned_at_; }
  double memory_seconds() const { return memory_seconds_; }
  /// Bytes of a tier that a gradient may use on this rank: of memory with working memory, of a disk given in slots what
  /// these take; 0 of a tier that is not there.
  std::int64_t budget(Tier tier) const;
  /// Where the budget of host memory comes from, in words; empty: the case gives it.
  const std::string& source_of_host_budget() const { return host_source_; }
  /// Bytes of a tier's memory in use at most since the last gradient began.
  std::int64_t peak_bytes(Tier tier) const;
  /// The slow tiers that are open.
  const SlowTiers& tiers() const { return *tiers_; }
  /// Of codecs that a case gives an accepted error; after the first gradient.
  const std::optional<LossyError>& lossy_error() const { return lossy_error_; }
  /// What went wrong and was mended since the session began, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// What the case's author should know, one sentence each (notes.hpp).
  const std::vector<std::string>& notes() const { return notes_; }

  /// Until now. Collective.
  ResidentBytes resident_bytes() const;
  /// What an epoch of this rank has, about.
  std::int64_t epoch_bytes() const;

  /// The objective, priors included; observer as in Simulation.
  double objective(const StateObserver& observer);
  Evaluation gradient(const StateObserver& observer);
  /// {objective, its derivative in a direction} by the tangent model, priors included.
  std::pair<double, double> tangent(const UnknownValues& direction);

  /// Sum over all ranks of products of two sets of values, each replicated one counted once; an empty block counts as
  /// zeros. Collective.
  double dot(const UnknownValues& a, const UnknownValues& b) const;
  /// |a - b| / |b|, the largest over the unknowns. Of one that hardly counts, because |b| times the unknown's value is
  /// next to nothing beside those of others, |b| is taken as that next to nothing. Collective.
  double relative_difference(const UnknownValues& a, const UnknownValues& b) const;

 private:
  /// An evaluation as the journal's log has it.
  struct Logged {
    std::string kind, failure;  // failure: of the numerics, in words
    double derivative = 0.0;
    Evaluation evaluation;
  };
  Logged once(const std::string& kind, std::int64_t steps, const std::function<void(Logged&)>& work);
  void write(BlockWriter& to, const Logged& logged, double values) const;
  void read(BlockReader& from, Logged& logged, double values);
  SweepOptions watched(const StateObserver& observer, const ProgressObserver& progress);
  void save_plan(ArchiveWriter& to) const;
  CheckpointPlan read_plan(ArchiveReader& from);
  bool restore_plan();
  bool fits_here() const;
  bool make_room();
  bool goes_on() const;
  Evaluation gradient_now(const StateObserver& observer);
  double add_priors(UnknownValues* gradient) const;
  std::vector<Tier> memories() const;
  void make_ready();
  void read_budgets();
  void choose_overlap();
  bool has_working_memory(Tier tier) const;
  void require_working_memory() const;
  std::int64_t bytes_for_tables(std::int64_t taken) const;
  void count_units();
  std::int64_t units_of(Tier tier) const;
  std::int64_t bytes_of_transfers(Tier memory) const;
  std::int64_t bytes_of_tables() const;
  bool has_room_beside_transfers(Tier tier) const;
  bool is_in_slots(Tier tier) const;
  const std::optional<CaseBudget>& given(Tier tier) const;
  void read_budget(Tier tier);
  bool warn_of_host_budget();
  void count_transfers();
  void plan_measured();
  void measure_steps(int repeats, double batch);
  void measure_transfers();
  void measure_memory();
  void keep_in_memory();
  CheckpointPlan plan_alone();
  void make_plan();
  void drop_plan();
  void make_checkpoints();
  bool open_tiers();
  void shrink(const TierIsFull& full, double seconds);
  void foresee_sizes();
  LossyTiers lossy_tiers() const;
  void calibrate(const LossyTiers& tiers);
  UnknownValues exact_gradient(const LossyTiers& tiers);
  double error_at(const LossyTiers& tiers, std::optional<double> tolerance, const UnknownValues& exact);
  void refuse_fixed_tiers(const LossyTiers& tiers, double error) const;
  void plan_again(const OperationSeconds* known = nullptr);
  void choose_codec();
  Evaluation evaluate(const StateObserver& observer);
  std::int64_t tier_bytes(Tier tier) const;
  void warn(const std::string& text);
  void report_damage(const DriverCounts& counts);

  Case case_;
  Communicator comm_;
  PlanOptions options_;
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<SlowTiers> tiers_;
  std::vector<std::string> warnings_, notes_;
  bool is_warned_of_budget_ = false;
  PlanInputs inputs_;
  PerTier budgets_{}, transfer_bytes_{};  // of memory; and what transfers take of it
  std::string host_source_;
  PerTier most_units_{-1, -1, -1};  // found to fit when a tier was full; -1: not found yet
  CheckpointPlan plan_;
  double planned_at_ = 0.0, memory_seconds_ = 0.0;
  Drift drift_;
  bool does_without_disk_ = false;  // though it was asked for
  std::optional<LossyError> lossy_error_;
  double calibrated_norm_ = 0.0;  // of the gradient then
  bool has_shrunk_ = false;       // since then, a tier
  bool is_calibrating_ = false;   // a process that goes on has to do it again
  Progress progress_;
  Resident resident_at_start_;
  std::int64_t counted_at_start_ = 0;  // bytes
  bool has_failed_ = false;            // the last evaluation
};

}  // namespace hindsight

// A case made ready to run: its experiments, their gradients, its priors, and the journal of what was evaluated.
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
#include "src/experiments.hpp"
#include "src/run_journal.hpp"
#include "src/shared_shots.hpp"

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
  /// Groups that share the shots, each with a session of its own whose ranks are the group's; null: there is one. They
  /// must outlive it.
  const ShotGroups* groups = nullptr;
  std::optional<unsigned> shuffle_shots = {};  ///< for tests: the seed of random orders in which shots are done
  bool shows_progress = false;                 ///< says on a terminal how far it is, and warns there
};

/// Bytes of this program that are resident after start-up and at most; and by how much that grew which is no page of a
/// file (libraries come as they are used for the first time), with what counts in the budget already then. Each of the
/// rank that has the most.
struct ResidentBytes {
  std::int64_t start = 0, peak = 0, growth = 0;
};

class Session {
 public:
  /// Builds the simulations and plans their gradients. Collective. The case's log-scale and prior settings are kept
  /// with the unknowns.
  Session(Case c, const Communicator& comm, Sensitivities sensitivities, SessionOptions options = {});
  /// A tier's files stay for a process that goes on, unless the last evaluation has failed for good.
  ~Session();

  const Case& source() const { return case_; }
  const Communicator& communicator() const { return comm_; }
  /// That share the shots.
  const ShotGroups& groups() const { return shots_->groups(); }
  /// Of the experiment in use, the first one or the last that was evaluated; values are those of all.
  Simulation& simulation() { return experiments_->simulation(); }
  const Simulation& simulation() const { return experiments_->simulation(); }
  const Experiments& experiments() const { return *experiments_; }
  bool has_shots() const { return experiments_->are_shots(); }
  /// How many shots evaluations are of (begin_stage()), excluded ones among them.
  std::size_t selected_shots() const { return shots_->selected(); }
  /// By the last evaluation, in their order; of a case without shots none.
  const std::vector<ShotResult>& shot_results() const { return shot_results_; }
  /// From the next evaluation on, what misfits see in each shot is kept until the evaluation after it.
  void keep_simulated() { keeps_simulated_ = true; }
  /// What a misfit has seen in the last evaluation, beside what was observed.
  struct Compared {
    std::string shot;  ///< empty: the case has none
    Term::Residuals residuals;
    std::shared_ptr<const std::vector<PointObservation>> observations;
    std::vector<double> simulated;
    std::function<bool(std::span<double>)> filter;  ///< Term::filter()
  };
  /// Of all misfits, shot by shot; of shots where it is kept. For the ranks of a group.
  void for_each_compared(const std::function<void(std::size_t misfit, const Compared&)>& look) const;
  /// Shots that do not count, because they failed at the first evaluation or could not be read.
  const std::vector<ExcludedShot>& excluded_shots() const { return case_.excluded_shots; }
  /// What the first gradient is predicted to take, over all experiments; of plans that predict.
  struct Planned {
    double seconds = 0.0;
    std::int64_t plain = 0, recorded = 0;  ///< steps
  };
  Planned planned() const;
  /// Forward, of the last evaluation.
  std::int64_t steps() const;
  /// Of the last evaluation: those of like misfits of all shots together.
  std::vector<Term::Residuals> residuals() const;
  /// Of a session with derivatives: of the experiment in use.
  const Gradients& gradients() const { return *experiments_->gradients(); }
  bool has_gradients() const { return experiments_->gradients() != nullptr; }
  const CheckpointPlan& plan() const { return gradients().plan(); }
  /// What the plan was made from; budgets are the least of all ranks.
  const PlanInputs& plan_inputs() const { return gradients().checkpoints().inputs(); }
  /// The slow tiers that are open.
  const SlowTiers& tiers() const { return gradients().checkpoints().tiers(); }
  /// Of all kinds of experiments together.
  std::int64_t budget(Tier tier) const;
  std::int64_t peak_bytes(Tier tier) const;
  /// The largest drift of states that were walked back to since the session began, in all groups; none: no gradient has
  /// walked back. Collective over them.
  std::optional<double> drift() const;
  /// What went wrong and was mended since the session began, one line each, in all groups. Collective over them.
  std::vector<std::string> warnings() const;
  /// What the case's author should know, one sentence each (notes.hpp).
  const std::vector<std::string>& notes() const { return notes_; }

  /// Notes, and warns, where the last run came to its latest end and its condition was not met.
  void look_at_end();

  /// Until now. Collective.
  ResidentBytes resident_bytes() const;
  /// What an epoch of this rank has, about.
  std::int64_t epoch_bytes() const;

  /// Part of an inversion: evaluations that follow are of these shots; none named: of all. What else of the case a
  /// stage changes, such as how misfits are taken, is changed here. The same in all groups. @param name for progress;
  /// empty: no stage. @throws InputError when all of the shots are excluded.
  void begin_stage(const std::string& name, const InversionStage& stage);

  /// Takes effect from the next evaluation on. Collective.
  void set_values(const UnknownValues& values) { simulation().set_values(values); }
  /// As Simulation has them, of all experiments.
  void fix_end();
  void loosen_solvers(double factor);
  void break_gradient(const std::string& what, double size);

  /// The sum over all experiments, priors included; observer as in Simulation, of a case without shots.
  double objective(const StateObserver& observer);
  /// With the priors of the unknowns included.
  Evaluation gradient(const StateObserver& observer);
  /// Of each unknown parameter field, how strongly waves shake its cells (Illumination), over all experiments; zeros of
  /// other unknowns.
  UnknownValues illumination();
  /// {objective, its derivative in a direction} by the tangent model, priors included.
  std::pair<double, double> tangent(const UnknownValues& direction);

  /// As in unknown_sums.hpp. Collective.
  double dot(const UnknownValues& a, const UnknownValues& b) const { return hindsight::dot(simulation(), a, b); }
  double relative_difference(const UnknownValues& a, const UnknownValues& b) const {
    return hindsight::relative_difference(simulation(), a, b);
  }

 private:
  /// An evaluation as the journal's log has it.
  struct Logged {
    std::string kind, failure;  // failure: of the numerics, in words
    double derivative = 0.0;
    Evaluation evaluation;

    /// Adds the values of another one.
    void add(const Logged& other);
  };
  /// What is evaluated of one experiment.
  struct Work {
    std::string kind;
    bool with_gradient;
    std::function<std::int64_t()> steps;  ///< that it has, for those who look on
    std::function<void(Evaluation&, double& derivative)> evaluate;
  };
  Logged sum(const Work& work);
  void evaluate(const Work& work, Logged& result);
  void of_shots(const Work& work, Logged& result);
  std::optional<Error> evaluate_shots(const Work& work);
  double end_shots(const std::optional<Error>& failure);
  std::optional<Error> failure_of(std::size_t shot, const Work& work);
  static std::optional<Error> failure_of(const std::function<void()>& work);
  Error failure_in(std::size_t shot, const Error& error) const;
  InputError none_is_left() const;
  std::optional<Error> take_kept_shots();
  void enter_kept_shots();
  void take_total(const ShotPart& total, Logged& result) const;
  void take_results();
  void exclude(std::size_t shot, const std::string& reason);
  void write_shots(BlockWriter& to) const;
  void read_shots(const RunJournal::KeptShots& kept);
  void write_part(BlockWriter& to, const ShotPart& part) const;
  ShotPart read_part(BlockReader& from) const;
  void look_at_compared(const std::string& shot, std::size_t experiment, const std::vector<Term::Residuals>& residuals,
                        const std::vector<double>& simulated,
                        const std::function<void(std::size_t misfit, const Compared&)>& look) const;
  std::int64_t simulated_bytes() const;
  static std::int64_t parts_of(std::size_t shots);
  std::size_t parts_in_memory() const;
  void write_results(ArchiveWriter& to) const;
  void read_results(BlockReader& from);
  void add_priors(Logged& total) const;
  void log_unlogged();
  Logged once(const Work& work);
  void write(BlockWriter& to, const Logged& logged, double values) const;
  void read(BlockReader& from, Logged& logged, double values);
  void share_costs();
  void in_all_groups(const std::function<void()>& work) const;
  Simulation::Wants wants(Sensitivities sensitivities) const;
  std::int64_t kept_bytes() const;
  GradientOptions gradient_options(std::size_t kind);
  std::string named(const std::string& phase) const;
  std::string shown(const std::string& phase) const;
  SweepOptions watched(const StateObserver& observer);
  bool has_condition() const { return simulation().spec().until.has_value(); }
  std::int64_t known_steps(std::int64_t steps) const;
  void tell_position(const SweepPosition& position);

  Case case_;
  Communicator comm_;
  SessionOptions options_;
  std::vector<std::string> notes_;
  Progress progress_;
  std::string stage_;                      // for progress; empty: none
  std::int64_t steps_of_gradient_ = 0;     // planned
  std::optional<NodeMemory> node_memory_;  // where groups share it
  Resident resident_at_start_;
  std::int64_t counted_at_start_ = 0;  // bytes
  bool keeps_simulated_ = false;
  bool has_failed_ = false;                            // the last evaluation, for good
  std::optional<std::pair<Logged, double>> unlogged_;  // it has failed at these values (their dot product)
  std::vector<ShotResult> shot_results_;
  /// Of this rank, in the journal.
  class JournaledParts final : public PartLog {
   public:
    explicit JournaledParts(Session& session) : session_(session) {}
    std::int64_t put(const ShotPart& part) override;
    ShotPart get(std::int64_t place) override;

   private:
    Session& session_;
  } journaled_parts_{*this};
  DriverCounts counts_of_shots_;         // of this group, of the evaluation under way
  std::optional<ShotSum> shot_sum_;      // the same
  std::optional<std::size_t> shot_now_;  // the same
  double values_of_shots_ = 0.0;         // the dot product of the unknowns' at which that is
  /// What an earlier process has worked out of the evaluation that was under way.
  struct KeptShots {
    struct Node {
      std::size_t first = 0, end = 0;
      std::optional<ShotPart> sum;           ///< in memory
      std::vector<std::int64_t> places;      ///< else, if there is one, in the sums of each rank that wrote it
      int file = 0;                          ///< of these
      std::shared_ptr<EarlierSums> earlier;  ///< whose they are; null: they are those of the journal
    };
    std::vector<Node> nodes;
    std::vector<std::pair<std::size_t, ShotResult>> results;
    std::vector<std::pair<std::size_t, std::string>> excluded;
    std::optional<std::size_t> under_way;
    DriverCounts counts;
    std::optional<double> values;  ///< the dot product of the unknowns', where anything was kept
  } kept_shots_;
  std::optional<WaitingPart> waiting_part(KeptShots::Node& node);
  std::size_t parts_in_memory_ = 0;  // of sums over shots, at most
  std::unique_ptr<SharedShots> shots_;
  std::unique_ptr<Experiments> experiments_;
};

}  // namespace hindsight

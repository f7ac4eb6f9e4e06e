// A simulation with its objective, ready to run, to differentiate and to be given new values of its unknowns.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adjoint/plan/operation_seconds.hpp"
#include "adjoint/problem/least_memory.hpp"
#include "adjoint/problem/simulated_steps.hpp"
#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

using ProgressObserver = std::function<void(std::int64_t forward, std::int64_t reversed)>;

/// Who watches and keeps a sweep. All may be left out.
struct SweepOptions {
  StateObserver observer = {};
  ProgressObserver progress = {};
  SweepKeeper* keeper = nullptr;
  BlockReader* kept = nullptr;  ///< where to go on: as the keeper was given it by the same call
};

struct GradientResult {
  double objective = 0.0;
  UnknownValues gradient;  ///< plain partial derivatives
  DriverCounts counts;
  double drift = 0.0;  ///< of the states that were walked back to, the largest (WalkDrift)
};

/// Bytes in host memory, and in that of the machine where states are; both are the same when that is the host.
struct WorkingBytes {
  std::int64_t host = 0, machine = 0;
};

class Simulation {
 public:
  struct Wants {
    bool adjoint = false, tangent = false;
    Stepper::Changes changes = Stepper::Changes::none;
    Machine* machine = &Machine::host();  ///< must outlive the simulation
    std::optional<NodeMemory> node = {};  ///< of this rank's node, where more ranks share it than the simulation has
    bool may_start_unstable = false;      ///< its sweeps are refused then, as later experiments' are
  };
  /// Builds, compiles, allocates. Collective.
  Simulation(SimulationSpec spec, const Communicator& comm, Wants wants);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  const SimulationSpec& spec() const { return spec_; }
  const Grid& grid() const { return problem_->grid(); }
  const TimeLine& time() const { return problem_->time(); }
  const Stepper& stepper() const { return problem_->stepper(); }
  /// For the evaluations that follow; see Stepper.
  void loosen_solvers(double factor) { problem_->stepper().loosen_solvers(factor); }
  const Objective& objective() const { return problem_->objective(); }
  /// Where fields and states are and kernels run.
  Machine& machine() const { return problem_->machine(); }
  /// All kernels, by what they belong to.
  std::vector<const KernelLibrary*> libraries() const;

  const UnknownValues& values() const { return parameters_->values(); }
  /// Which values of an unknown are unknown; derivatives by the others are zero.
  const MovingCells& moving(std::size_t unknown) const { return parameters_->moving(unknown); }
  /// Takes effect from the next sweep on. Collective.
  void set_values(const UnknownValues& values) { parameters_->set(values); }
  /// Takes the values of another experiment, which differs_in_values_alone() from the spec; unknowns keep theirs.
  /// Collective.
  void give(const GivenValues& given);
  /// Stepper::largest_step(). Collective.
  double largest_step() const { return problem_->stepper().largest_step(problem_->tables()); }
  /// The longest stable step over the steps of this run, at least 1; 1 where it is not known. What a step of waves
  /// rounds is a kick, which moves them by about as much more. Collective.
  double stability_ratio() const;
  /// Which terms of the objective count from now on.
  void count(Objective::Which terms) { problem_->objective().count(terms); }
  /// Of misfits, as Objective has it, for what is evaluated from now on.
  void set_filters(const std::vector<std::optional<FilterSpec>>& filters) {
    problem_->objective().set_filters(filters);
  }
  /// The terms that depend on parameters alone and, of a simulation with an adjoint, their derivatives; no step is
  /// taken. Collective.
  GradientResult of_parameters();
  ConstCellArray parameter_field(std::size_t i) const { return parameters_->field(i); }

  /// Bytes of one state; of one stage record (with the state it starts from, as far as it needs that).
  std::int64_t state_bytes() const { return problem_->state_bytes(); }
  std::int64_t record_bytes() const {
    return may_keep_first_levels() ? problem_->shape().padded_bytes() / states_->levels()
                                   : state_bytes() * record_units();
  }
  /// The units of one state that a record of a step takes in memory.
  std::int64_t record_units() const { return 1 + states_->record_states(); }
  /// Host memory that is kept about each state in the memory that states are made in.
  static constexpr std::int64_t state_table_bytes = Pool::table_bytes + Checkpoints::table_bytes;
  /// What gradients need in host memory to keep all spans, beside what they need without; 0: none are worth it.
  std::int64_t span_bytes() const;
  /// Lets gradients take spans of steps as one, if there are spans worth it: where a step takes about as long as a
  /// call. No checkpoints may be reserved. @returns whether they do now. Collective.
  bool use_spans(bool wanted);
  /// Units of memory of one state that a record takes more when it holds factors (Stepper::factor_states()).
  std::int64_t factor_units() const { return stepper().factor_states(); }
  /// Lets records hold them. No checkpoints may be reserved. Collective.
  void keep_factors(bool wanted);
  /// Lets records that are reversed at once hold the state alone, where steps can be reversed so. At any time.
  void reverse_from_state(bool wanted) { steps_->reverse_from_state(wanted); }
  /// Whether records need the first level alone of states of two levels.
  bool may_keep_first_levels() const {
    return states_->levels() > 1 && stepper().reverses_first_level() && !objective().differentiates_level_before();
  }
  /// Gradients may walk back, and throw WalkedTooFar where a state drifts by more; none: by however much. Of steps that
  /// can be taken backwards (Stepper::why_it_cannot_retreat()).
  /// Collective.
  void accept_drift(std::optional<double> most);
  /// What walking back keeps of each step, in memory of the host, on this rank.
  std::int64_t bytes_left_behind() const { return steps_->tape().bytes_per_step(); }
  /// Lets checkpoints be such records, and no states. None may be reserved. @returns whether they are. Collective.
  bool keep_first_levels(bool wanted);
  /// What gradients count as steps: spans, or steps.
  std::int64_t sweep_steps() const { return spans_in_gradients_ != nullptr ? spans_->count() : time().steps(); }
  /// Steps of the run in so many of them.
  std::int64_t steps_of(std::int64_t sweep_steps) const;
  /// Bytes of a checkpoint of one in memory.
  std::int64_t checkpoint_bytes() const { return states_->bytes(); }
  /// Of all that is neither a checkpoint nor a transfer's, with what gradients and tangents will add, if only for a
  /// moment.
  WorkingBytes working_bytes() const;
  /// What is given to a keeper at once, about.
  std::int64_t kept_bytes() const;
  /// Of the derivatives with respect to all unknowns.
  std::int64_t gradient_bytes() const { return parameters_->bytes(); }
  /// What all memory of this simulation counts in, but a device's.
  const std::shared_ptr<MemoryAccount>& memory() const { return memory_; }
  /// What fields and states hold.
  Element element() const { return problem_->element(); }
  /// How the cells lie in a state, for slow tiers.
  const StateShape& shape() const { return problem_->shape(); }

  /// Forward only. @returns the objective. @throws NumericsError naming field, step and place when it diverges.
  double run(const SweepOptions& options);
  /// Allocates and touches the memory of gradients on a schedule that uses at most these units of the memory that
  /// states are in, unless it is there already. @param tiers slow tiers, null where there is none; must outlive the
  /// gradients.
  /// @param walks_back whether schedules retreat().
  void reserve_checkpoints(std::int64_t units, const std::array<SlotTier*, tier_count>& tiers, bool walks_back = false);
  /// Gives the memory of checkpoints back.
  void free_checkpoints();
  /// Forward and backward on a schedule, within what was reserved. @param is_online see drive(). @throws Error(bug)
  /// when the schedule does not fit the steps or what was reserved, WalkedTooFar (accept_drift()).
  GradientResult gradient(const Schedule& schedule, bool is_online, const SweepOptions& options);
  /// The derivative of the objective in a direction, by the tangent model. @returns {objective, derivative}.
  std::pair<double, double> tangent(const UnknownValues& direction, const SweepOptions& options = {});
  /// Takes steps from the initial state until `visit` has seen enough; neither objective nor condition of the end.
  /// @param visit called with the initial state and after each step; false: enough, on all ranks. Collective.
  void walk(const std::function<bool(std::int64_t k, StateBlocks state)>& visit);

  /// What the last sweep saw of observations, and when it ended.
  void save_observed(BlockWriter& to) const;
  void restore_observed(BlockReader& from);
  /// From now on every sweep ends where the last one did: derivatives are those for a fixed number of steps.
  void fix_end() { steps_->fix_end(); }
  /// Whether a condition of the end ended the last run.
  bool has_met_end_condition() const { return problem_->has_met_end_condition(); }
  /// Hidden developer option of `hindsight check`, so that checks must fail: gradients made from now on are wrong
  /// (BrokenAdjoint).
  void break_gradient(const std::string& what, double size) { steps_->broken().set(what, size, spec_.unknowns); }

  /// Measures single steps (Measurements). Uses up to `units` of memory of one state beside the working memory, and
  /// `measured_table_bytes` of host memory for each. @param rehearses by short gradients too. Collective, the same on
  /// all ranks.
  StepSeconds measure(int repeats, double batch, std::int64_t units, bool rehearses = true);
  static constexpr std::int64_t measured_table_bytes = Pool::table_bytes + sizeof(StepRecord);
  /// Measures transfers of single states. Uses so many of the tier's slots and empties it. Collective.
  TransferSeconds measure(SlotTier& tier, std::int64_t slots);

 private:
  LeastMemory least_memory() const;
  std::vector<double> expected_steps() const;
  void find_spans();
  std::int64_t in_steps(std::int64_t parts, std::int64_t count) const;
  ProgressObserver progress_in_steps(const SweepOptions& options) const;
  void reserve(std::int64_t of_checkpoints);
  Checkpoints::RecordKind record_kind() const;
  void require_reserved(const Schedule& schedule) const;
  Buffer sweep_forward(ForwardSteps& steps, const SweepOptions& options);
  std::int64_t cells_bytes() const;

  std::shared_ptr<MemoryAccount> memory_ = std::make_shared<MemoryAccount>();
  SimulationSpec spec_;
  std::unique_ptr<Discretisation> problem_;
  std::unique_ptr<Parameters> parameters_;
  std::unique_ptr<States> states_;
  std::unique_ptr<const Spans> spans_;  // null: none are worth it
  const Spans* spans_in_gradients_ = nullptr;
  std::unique_ptr<SimulatedSteps> steps_;
  std::unique_ptr<Checkpoints> checkpoints_;
};

}  // namespace hindsight

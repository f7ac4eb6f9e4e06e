// A simulation with its objective, ready to run, to differentiate and to be given new values of its unknowns.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/objective/end_condition.hpp"
#include "adjoint/objective/objective.hpp"
#include "adjoint/plan/operation_seconds.hpp"
#include "adjoint/problem/least_memory.hpp"
#include "adjoint/problem/unknown_values.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "adjoint/sweep/driver.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/grid.hpp"
#include "solvers/steppers/stepper.hpp"
#include "solvers/time/time_line.hpp"

namespace hindsight {

struct ParameterField {
  std::string name;
  Expr expression;  ///< of coordinates; or invalid, and then `fill` gives the owned cells
  std::function<void(const Grid&, double* cells)> fill;
  std::string place = {};  ///< of the expression, for messages: " (case.yaml:3:20)"
};

/// What messages call the expressions of a model: "dt(u) (case.yaml:4:13)".
struct ExpressionNames {
  std::vector<std::string> equations, initial;                   ///< parallel to model.fields
  std::vector<std::array<std::array<std::string, 2>, 3>> walls;  ///< as model.walls
};

struct Unknown {
  enum class Kind { scalar, series, field, initial };
  std::string name;
  Kind kind = Kind::scalar;
  std::string label() const { return kind == Kind::initial ? "initial(" + name + ")" : name; }
  bool is_field() const { return kind == Kind::field || kind == Kind::initial; }
};

/// Everything about a simulation except where it runs. Plain data.
struct SimulationSpec {
  Model model;
  ExpressionNames names;
  std::string method = "rk4";
  std::vector<Axis> axes;
  double from = 0.0, to = 1.0, step = 1.0;
  std::string steps = "fixed";                   ///< who decides them (solvers/time/step_sources.hpp)
  std::vector<double> landings;                  ///< times that states must land on: outputs (observations are added)
  std::vector<double> scalar_values;             ///< parallel to model.scalars
  std::vector<Series> series;                    ///< parallel to model.series
  std::vector<ParameterField> parameter_fields;  ///< parallel to model.parameter_fields
  std::vector<Expr> initial;  ///< parallel to model.fields; of scalars, parameter fields and coordinates
  std::vector<Unknown> unknowns;
  TermSpecs terms;                ///< of the objective, in the order in which they are added up
  std::optional<StopSpec> until;  ///< then `to` is the latest end
};

/// Called with every state of the first sweep; `state` is the padded state (Tables::bind_state).
using StateObserver = std::function<void(std::int64_t k, double t, double* state)>;
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
};

class Simulation final : private ReversibleSteps {
 public:
  struct Wants {
    bool adjoint = false, tangent = false;
    Machine* machine = &Machine::host();  ///< must outlive the simulation
  };
  /// Builds, compiles, allocates. Collective.
  Simulation(SimulationSpec spec, const Communicator& comm, Wants wants);
  ~Simulation() override;

  const Grid& grid() const { return *grid_; }
  const TimeLine& time() const { return *time_; }
  const SimulationSpec& spec() const { return spec_; }
  const Stepper& stepper() const { return *stepper_; }
  const Objective& objective() const { return *objective_; }
  /// All kernels, by what they belong to.
  std::vector<const KernelLibrary*> libraries() const;

  const UnknownValues& values() const { return values_; }
  /// Takes effect from the next run on. Collective.
  void set_values(const UnknownValues& values);

  /// Bytes of one state; of one stage record (with the state it starts from); of all that is neither a checkpoint nor a
  /// transfer's, in a tier's memory.
  std::int64_t state_bytes() const;
  std::int64_t record_bytes() const;
  /// Host memory that is kept about each state in the memory that states are made in.
  static constexpr std::int64_t state_table_bytes = Pool::table_bytes + Checkpoints::table_bytes;
  std::int64_t working_bytes(Tier tier) const;
  /// Of what a keeper is given at once, about.
  std::int64_t kept_bytes() const;
  /// Of the derivatives with respect to all unknowns.
  std::int64_t gradient_bytes() const;
  /// What all memory of this simulation counts in, but a device's.
  const std::shared_ptr<MemoryAccount>& memory() const { return memory_; }
  /// How the cells lie in a state, for slow tiers.
  StateShape shape() const;

  /// Forward only. @returns the objective. @throws NumericsError naming field, step and place when it diverges.
  double run(const SweepOptions& options);
  /// The units of one state that a record of a step takes in memory.
  std::int64_t record_units() const { return 1 + stepper_->record_states(); }
  /// Allocates and touches the memory of gradients on a schedule that uses at most these units of the memory that
  /// states are in, unless it is there already. @param tiers slow tiers, null where there is none; must outlive the
  /// gradients.
  void reserve_checkpoints(std::int64_t units, const std::array<SlotTier*, tier_count>& tiers);
  /// Gives the memory of checkpoints back.
  void free_checkpoints();
  /// Forward and backward on a schedule, within what was reserved. @param is_online see drive().
  GradientResult gradient(const Schedule& schedule, bool is_online, const SweepOptions& options);
  /// What the last run saw of observations, and when it ended.
  void save_observed(BlockWriter& to) const;
  void restore_observed(BlockReader& from);
  /// Measures single steps from the initial state, all ranks at once; medians of `repeats`, about `batch`
  /// seconds each. Uses up to `units` of memory of one state beside the working memory, and `measured_table_bytes` of
  /// host memory for each. Collective, the same on all ranks.
  StepSeconds measure(int repeats, double batch, std::int64_t units);
  static constexpr std::int64_t measured_table_bytes = Pool::table_bytes + sizeof(StepRecord);
  /// Measures transfers of single states while steps are taken, when one follows the other. Uses so many of the tier's
  /// slots and empties it. Collective.
  TransferSeconds measure(SlotTier& tier, std::int64_t slots);
  /// Takes steps from the initial state until `visit` has seen enough; neither objective nor condition of the end.
  /// @param visit called with the initial state and after each step; false: enough, on all ranks. Collective.
  void walk(const std::function<bool(std::int64_t k, const double* state)>& visit);
  /// The derivative of the objective in a direction, by the tangent model. @returns {objective, derivative}.
  std::pair<double, double> tangent(const UnknownValues& direction, const SweepOptions& options = {});

  /// The local cells of an unknown's or a state's field without padding.
  std::vector<double> unpadded(const double* cell) const;
  /// Where fields and states are and kernels run.
  Machine& machine() const { return *wants_.machine; }
  Tier memory_tier() const { return machine().is_host() ? Tier::host : Tier::device; }
  /// Owned cells of a parameter field (local cell (0,0,0)).
  const double* parameter_field(std::size_t i) const;
  /// From now on every run ends where the last one did: derivatives are those for a fixed number of steps.
  void fix_end() { has_fixed_end_ = true; }
  /// Hidden developer option of `hindsight check`, so that checks must fail: of gradients made from now on, what comes
  /// from `what` counts 1 + size times. `what` is an unknown's label, "all" of them, or one of breakable_parts().
  /// @throws InputError naming what there is.
  void break_gradient(const std::string& what, double size);
  /// What adds to the adjoint: steps, integrals, misfits, initial (states that depend on unknowns), walls (that do).
  static const std::vector<std::string>& breakable_parts();

 private:
  /// Live at once beside checkpoints: the state, the next one, the base of the live record, the last one known finite,
  /// one of its repetitions.
  static constexpr std::int64_t live_states = 5;

  Buffer initial_state() override;
  Buffer advance(std::int64_t k, const Buffer& state, bool first) override;
  Buffer record(std::int64_t k, const Buffer& state, bool first, bool wanted, StepRecord& record) override;
  bool is_last(std::int64_t k) const override { return k == time_->steps(); }
  bool gains_by_batches() const;
  template <class Work>
  void batched(Work work);
  void turn(std::int64_t steps, const Buffer& last) override;
  void reverse(std::int64_t k, const StepRecord& record) override;
  void save(BlockWriter& to, bool turned) const override;
  void restore(BlockReader& from, bool turned) override;
  void save_state(BlockWriter& to, const Buffer& state) const override;
  Buffer restore_state(BlockReader& from, std::int64_t k) override;
  void save_records(const KeepPiece& keep, std::span<const StepRecord> records) const override;
  void restore_records(const ReadPiece& read, std::span<StepRecord> records) override;

  LeastMemory least_memory() const;
  void padded(const std::vector<double>& values, double* cell) const;
  void build_parameters();
  void fill_parameter_field(std::size_t i);
  void exchange_parameter_field(int symbol);
  void observe(std::int64_t k, const Buffer& state);
  void add_objective_adjoint(std::int64_t k, double* state);
  const std::vector<double*>& fields_of(const Buffer& state);
  void check_finite(std::int64_t k, const Buffer& state);
  [[noreturn]] void report_divergence(std::int64_t k);
  /// Derivatives summed up on the host: one per active scalar, and per knot of each active series.
  struct Sums {
    std::vector<double> scalars;
    std::vector<std::vector<double>> knots;
  };
  Sums add_up();
  /// Which part of the adjoint is wrong on purpose (simulation_broken.cpp).
  struct Broken {
    std::string what;
    double size;
    void scale_increments(const std::vector<double>& before, std::vector<double>& after) const;
    void scale_increments(const Sums& before, Sums& after) const;
  };
  template <class Work>
  void contribute(const char* part, Work work);
  template <class Work>
  void contribute(const char* part, Sums& sums, Work work);
  void contribute_broken(const std::function<void()>& work);
  const std::vector<int>& gradient_fields() const;
  std::vector<std::vector<double>> adjoint_arrays() const;
  void set_adjoint_arrays(const std::vector<std::vector<double>>& arrays);
  void break_unknown(const Unknown& unknown, std::vector<double>& derivatives) const;
  void reset_sums();
  UnknownValues collect_gradient();
  /// @throws NumericsError that names the unknowns by which a derivative is infinite or no number. Collective.
  void require_finite(const UnknownValues& gradient) const;
  void reserve(std::int64_t units);
  void reserve_adjoints();
  StepSeconds measure_operations(int repeats, double batch, std::int64_t units);
  double measure_aside(const StepSeconds& seconds, int repeats, double batch, std::int64_t units);
  std::int64_t pool_states(std::int64_t units) const;
  void make_pool(std::int64_t count);
  std::int64_t cells_bytes() const;
  double* const* stages_of(const StepRecord& record);
  void reach(std::int64_t k, const Buffer& state);
  void write_cells(BlockWriter& to, const double* state) const;
  void read_cells(BlockReader& from, double* state) const;
  void set_directions(const UnknownValues& direction);
  void initial_tangent(const UnknownValues& direction, double* state);

  std::shared_ptr<MemoryAccount> memory_ = std::make_shared<MemoryAccount>();
  SimulationSpec spec_;
  Wants wants_;
  Active active_;
  Communicator comm_;
  std::unique_ptr<Grid> grid_;
  std::unique_ptr<TimeLine> time_;
  std::unique_ptr<Stepper> stepper_;
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<Tables> tables_;
  UnknownValues values_;

  struct Symbols;
  std::unique_ptr<Symbols> symbols_;
  struct HostSide;
  std::unique_ptr<HostSide> host_side_;  // of a device
  KernelLibrary first_library_, initial_library_;
  std::unique_ptr<HaloExchange> parameter_exchange_;
  std::vector<FieldWalls> mirror_walls_;
  std::vector<Memory> initial_fields_;  // unknown initial states, in the order of the unknowns
  std::vector<Memory> scalar_sums_;     // rows, per active scalar
  std::vector<Memory> series_sums_;     // knots x rows, per active series
  std::unique_ptr<Pool> states_;
  std::int64_t state_count_ = 0;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::vector<double*> stages_;  // of the record in use
  std::vector<double*> fields_;  // of a state that is looked at
  std::optional<EndCondition> stop_;
  bool has_fixed_end_ = false, is_batched_ = false;
  Buffer lambda_, lambda_next_;
  std::unique_ptr<Pool> adjoint_pool_;
  std::vector<Series> series_directions_;
  Buffer last_good_;
  std::int64_t last_good_step_ = 0;
  const StateObserver* observer_ = nullptr;
  std::optional<Broken> broken_;
};

}  // namespace hindsight

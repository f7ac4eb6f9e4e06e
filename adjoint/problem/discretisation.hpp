// The steps and terms of a problem on a grid: what all parts of a simulation work with.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "adjoint/objective/objective.hpp"
#include "adjoint/problem/simulation_spec.hpp"
#include "runtime/machine.hpp"
#include "solvers/steppers/events/jumping_stepper.hpp"
#include "solvers/steppers/stepper.hpp"
#include "solvers/time/time_line.hpp"

namespace hindsight {

/// Symbols of the arrays of a state, one per field of the model, by what the state is bound as.
struct StateSymbols {
  LevelSymbols first, dot_first;      ///< the state that a step begins with, and its direction
  LevelSymbols between, dot_between;  ///< the state between steps, as terms read it, and its direction
  LevelSymbols lambda;                ///< the adjoint of a state
};

/// Whether steps or their constraints solve equations that read neighbours, which PETSc does.
bool solves_by_petsc(const SimulationSpec& spec);

/// Made in two stages: steps and terms first, which tell what a grid must have, then the grid and all that lies on it.
class Discretisation {
 public:
  /// Steps, terms and times. @param machine must outlive it; so must spec, of which the series are set.
  Discretisation(SimulationSpec& spec, const Communicator& comm, Stepper::Wants wants, Machine& machine);
  /// @throws InputError when the grid cannot be divided over so many ranks.
  void require_room_for(int ranks) const { Grid::division(spec_.axes, halo_, ranks); }
  /// The grid and its tables. Collective.
  void make_grid();
  /// Compiles and allocates what steps and terms need. @param knot_sums as of TermSetting. Collective.
  void prepare(const std::vector<double*>& knot_sums);

  const SimulationSpec& spec() const { return spec_; }
  const Model& model() const { return spec_.model; }
  const Active& active() const { return active_; }
  const StateSymbols& symbols() const { return symbols_; }
  const Communicator& communicator() const { return comm_; }
  Machine& machine() const { return machine_; }
  bool differentiates() const { return wants_.adjoint || wants_.tangent; }
  const Stepper::Wants& wants() const { return wants_; }

  Stepper& stepper() const { return *stepper_; }
  /// The stepper, where there are events; else null.
  JumpingStepper* jumping() const { return jumping_; }
  Objective& objective() const { return *objective_; }
  TimeLine& time() const { return *time_; }
  const Grid& grid() const { return *grid_; }
  Tables& tables() const { return *tables_; }

  /// The arrays of one state; the size of a block of it, and of all, with ghosts.
  const StateShape& shape() const { return shape_; }
  std::int64_t block_doubles() const { return shape_.padded_doubles; }
  std::int64_t state_bytes() const { return shape_.padded_bytes(); }
  /// What the fields of states hold.
  Element element() const { return spec_.model.graph->element(); }
  CellArray field_of(double* state, std::size_t f) const { return grid_->field_of(state, f, element()); }
  /// Sets all of a state, or of its adjoint, to zero.
  void clear(StateBlocks state) const {
    machine_.clear(state.now, block_doubles());
    if (state.before != nullptr) machine_.clear(state.before, block_doubles());
  }
  /// Takes what fills a parameter field (index into model.parameter_fields).
  void give_field(std::size_t field, std::function<void(const Grid&, double* cells)> fill) {
    spec_.parameter_fields[field].fill = std::move(fill);
  }
  /// Whether steps are longer than what is stable with the present parameters, in a sentence; "" where they are not, or
  /// nobody knows. Collective.
  std::string instability() const;
  /// Takes new values of the knots of a series (index into model.series).
  void set_series(std::size_t series, const std::vector<double>& values);
  /// Decides what follows state k, which is reached for the first time: the next step, or the end. @param trial where
  /// steps are tried (TimeLine). Collective.
  void reach(std::int64_t k, double* state, StepTrial* trial) {
    if (stop_ && k > 0 && ends_with(k, state)) return time_->end_at(k);
    time_->reach(k, {*grid_, state, trial});
  }
  /// Whether a condition on the state ends the run.
  bool has_end_condition() const { return stop_.has_value(); }
  /// Whether it did: the last one.
  bool has_met_end_condition() const { return stop_ && stop_->was_met(); }
  /// All kernels of steps and terms.
  std::vector<const KernelLibrary*> libraries() const;

 private:
  void make_symbols();
  void make_jumps();
  /// For steps that errors decide. @throws InputError without.
  void require_estimates() const;
  /// Whether the condition is met by a state. As if the run ended with it: no step that follows is known.
  bool ends_with(std::int64_t k, double* state);

  SimulationSpec& spec_;
  Communicator comm_;
  Stepper::Wants wants_;
  Machine& machine_;
  Active active_;
  StateSymbols symbols_;
  std::unique_ptr<Jumps> jumps_;
  std::unique_ptr<Stepper> stepper_;
  JumpingStepper* jumping_ = nullptr;
  std::unique_ptr<Objective> objective_;
  std::optional<EndCondition> stop_;
  std::unique_ptr<TimeLine> time_;
  std::array<int, 3> halo_{0, 0, 0};
  int sums_ = 0;
  std::unique_ptr<Grid> grid_;
  std::unique_ptr<Tables> tables_;
  StateShape shape_;
};

}  // namespace hindsight

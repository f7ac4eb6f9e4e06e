// What a family of time-stepping methods is to all others: steps that are taken, recorded and reversed.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/petsc_options.hpp"
#include "solvers/equations/kernel.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/block_archive.hpp"
#include "solvers/grid/state_shape.hpp"
#include "solvers/steppers/kernels/point_sources.hpp"
#include "solvers/steppers/solver_report.hpp"
#include "solvers/steppers/span_stepper.hpp"
#include "solvers/steppers/step_failure.hpp"
#include "solvers/steppers/tables.hpp"
#include "solvers/steppers/tolerances.hpp"
#include "solvers/time/step_time.hpp"

namespace hindsight {

/// Layers of a state, and the passes in one walk that need them.
struct WalkHalo {
  std::array<int, 3> layers{0, 0, 0};
  std::size_t passes = 0;
};

/// Steps of one model by one method. It owns no state: states are blocks of memory, of the shape that it tells, that it
/// is given; their ghost cells are scratch, and scalars and parameter fields are bound in Tables before it steps.
/// Making one needs no grid; it tells the halo that a grid must have. What has a default is for families that need
/// nothing of it: no kernels, no neighbours, no series, states of the model's fields alone.
///
/// States of two levels are the fields and those before the last step, each in a block of its own (StateBlocks); a
/// step writes the fields after it, and its callers let the level before be the one that it began with.
///
/// Steps are of equal length but where they land on a time (TimeLine): a method that counts on the length of the step
/// before keeps that in an array of the state. Arrays of its own that ModelOperators reads or writes are in the grid's
/// layout: shape_of_fields(grid, 2 * fields) has room for as many slopes behind the fields, field_stride apart.
class Stepper {
 public:
  /// Which values will be others than the first: those of unknowns, as in an inversion; of all that is given, as for
  /// several experiments.
  enum class Changes { none, of_unknowns, of_all };
  struct Wants {
    bool adjoint = false, tangent = false;
    std::optional<Tolerances> tolerances = {};  ///< by which try_step() measures errors
    double theta = 0.5;                         ///< the weight of the new state, where Method::has_theta
    PetscOptions petsc = {};                    ///< of PETSc's solvers, where steps are implicit
    Changes changes = Changes::none;
  };
  virtual ~Stepper() = default;

  /// Levels of a state: 1 or 2. Of two, there are no stages.
  virtual int levels() const { return 1; }
  /// Whether reversing a step needs no more than the first level of the state that it starts from.
  virtual bool reverses_first_level() const { return false; }
  /// Whether reversing this step, of states of two levels, leaves as adjoint of the level before what the adjoint of
  /// the first one was, whose block it is then: reverse() does not write it.
  virtual bool hands_on_adjoint(StepTime /*step*/) const { return false; }
  /// Why it cannot take steps backwards, in words that end a sentence about the method; empty: it can, as exactly as
  /// rounding lets it.
  virtual std::string why_it_cannot_retreat() const { return "its steps cannot be taken backwards"; }
  /// Ghost layers that its kernels read.
  virtual std::array<int, 3> halo() const { return {0, 0, 0}; }
  /// Ghost layers from which more than a pass follows without an exchange in between, where that can be
  /// (wavefront.hpp), the deepest first: several steps; a step that is computed again and reversed; a step or its
  /// record.
  virtual std::vector<WalkHalo> halos_of_step() const { return {}; }
  /// Ghost layers from which all stages of a step follow in one launch on a device (device_walk.hpp); none: they
  /// cannot.
  virtual std::array<int, 3> halo_of_launch() const { return {0, 0, 0}; }
  /// Once prepared: whether the next steps, or reversals of steps from their states alone, are taken in several ways in
  /// turn, to find out which is the fastest.
  virtual bool tries_ways(bool /*of_reversals*/) const { return false; }
  /// States that a record holds beside the state it starts from.
  virtual int record_states() const { return 0; }
  /// Once prepared: whether a step can be reversed from its state alone, as what its record would hold is computed
  /// again in one walk with its adjoint (wavefront.hpp).
  virtual bool reverses_from_state() const { return false; }
  /// Whether the next reverse() may be given `lambda` itself as `lambda_next`, where it reverses a step from its state
  /// alone.
  virtual bool may_overwrite_adjoint() const { return false; }
  /// States more that a record can hold, of factors, so that reversing it takes much less work; 0: it does not.
  virtual int factor_states() const { return 0; }
  /// Whether records hold them: record_states() counts them then. Any time but between a record and its reversal.
  virtual void keep_factors(bool /*wanted*/) {}
  /// States that it allocates for itself when it is prepared.
  virtual std::int64_t working_states() const { return 0; }
  /// Number of sums (Tables): first the active scalars, in order; the rest belongs to the series.
  virtual int sums() const = 0;

  /// The arrays of a state: the model's fields in the grid's layout (shape_of_fields()), then arrays of its own.
  virtual StateShape state(const Grid& grid) const = 0;
  /// Completes the state that steps begin with: gives fields that constraints fix (Model::constrained) their values,
  /// and arrays of its own their first ones. @param at the time, with the number of the step to come; its length is not
  /// known yet. @param state whose other fields have theirs, ghosts excepted. Collective, as its derivatives are.
  virtual void begin(Tables& /*tables*/, StepTime /*at*/, double* /*state*/) {}
  /// The tangent of begin(). @param state completed.
  virtual void begin_tangent(Tables& /*tables*/, StepTime /*at*/, double* /*state*/, double* /*direction*/) {}
  /// The adjoint of begin(): adds what comes through what it completes to lambda of the other fields, and to the sums.
  virtual void begin_adjoint(Tables& /*tables*/, StepTime /*at*/, double* /*state*/, double* /*lambda*/) {}

  /// Compiles and allocates for a grid. Collective. @param series run parallel to model.series.
  virtual void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) = 0;
  /// Solves what steps solve once, so that solvers take the memory that they will hold. @param at the time.
  /// @param lengths of steps that may be met. @param state that a step begins with. Collective.
  virtual void warm_up(Tables& /*tables*/, StepTime /*at*/, std::span<const double> /*lengths*/, double* /*state*/) {}
  /// Bytes that solvers take while they work and give back, once they are warm.
  virtual std::int64_t passing_bytes() const { return 0; }
  /// What solvers leave of linear systems, relative to their right-hand sides; 0: rounding. Once they are warm.
  virtual double solved_to() const { return 0.0; }
  /// Lets solvers leave this many times as much, in all that follows; 1: as they were made.
  virtual void loosen_solvers(double /*factor*/) {}
  /// Of its solvers of systems that all cells share, once they are warm.
  virtual SolverReport solver_report() const { return {}; }
  /// Says where derivatives with respect to a series go: knots x local rows, one array per active series.
  virtual void bind_series_sums(std::size_t /*active_series*/, double* /*knots*/) {}
  /// Takes new values of the knots of a series (index into model.series).
  virtual void set_series(std::size_t /*series*/, const std::vector<double>& /*values*/) {}
  /// Takes directions of the active series, for tangent().
  virtual void set_series_directions(std::vector<Series> /*directions*/) {}
  /// Takes where the model's sources are, once prepared; of a method that takes some. Collective.
  virtual void set_sources(const SourcePoints& /*points*/) {}
  /// To be called after parameters have changed.
  virtual void parameters_changed(Tables& /*tables*/, bool /*tangent*/) {}

  /// The first values of parameters are there, of the case or of another shot: fixes what follows from these and stays
  /// as it is with all later ones. Once prepared. @param state to work in. Collective.
  virtual void values_given(Tables& /*tables*/, double* /*state*/) {}
  /// Whether values_given() does anything.
  virtual bool keeps_first_values() const { return false; }

  /// The longest stable step with the present parameters, about, of methods that all steps of one length are taken by;
  /// infinite: it is not known. Collective, the same on all ranks.
  virtual double largest_step(Tables& /*tables*/) { return std::numeric_limits<double>::infinity(); }

  /// u(t) -> u(t+h).
  virtual void step(Tables& tables, StepTime time, StateBlocks u, double* next) = 0;
  /// Of states of one level: how many steps from this one on, `most` at most, step_through() takes where all are as
  /// long; 1: none. The same on all ranks.
  virtual std::int64_t steps_through(StepTime /*first*/, std::int64_t /*most*/) const { return 1; }
  /// So many steps in one walk over the grid. The same bits as step()'s.
  virtual void step_through(Tables& /*tables*/, StepTime /*first*/, std::int64_t /*steps*/, StateBlocks /*u*/,
                            double* /*next*/) {
    throw Error(ExitCode::bug, "several steps were to be taken at once by a method that takes one");
  }
  /// Whether the next step(), or step_through() of so many, may be given the state itself as `next`, which takes its
  /// place then: memory is written where it was read from.
  virtual bool may_overwrite(std::int64_t /*steps*/) const { return false; }
  /// Of states of two levels: steps from this one on that step_in_place() takes at once, at most, the same on all
  /// ranks; 0: it takes none.
  virtual int steps_in_place(StepTime /*time*/) const { return 0; }
  static constexpr std::int64_t most_at_once = 16;  ///< that any method answers, of steps through too
  /// From (u[k], u[k-1]) takes steps k, k+1, ..., each in the place of the level before it: u[k+1] that of u[k-1],
  /// u[k+2] that of u[k]. The same bits as step()'s.
  virtual void step_in_place(Tables& /*tables*/, std::span<const StepTime> /*times*/, StateBlocks /*u*/) {
    throw Error(ExitCode::bug, "a step was to be taken in the place of a level by a method that takes none there");
  }
  /// Of a state (u[k], u[k-1]), k >= 2, writes u[k-2], where a state is the last levels of a run and
  /// why_it_cannot_retreat() says nothing. @param time of step k-1, which begins at u[k-1]. Like that step, it fills
  /// the ghosts of u[k-1].
  virtual void retreat(Tables& /*tables*/, StepTime /*time*/, StateBlocks /*u*/, double* /*before*/) {}
  /// The arrays of what a step leaves that walking back over it needs beside the states, and reversing it after that,
  /// in memory of the host; none: it needs nothing. States that were walked back to have fields alone then.
  virtual StateShape left_behind(const Grid& /*grid*/) const { return {}; }
  /// Compiles what writes and reads these, once prepared. Collective.
  virtual void prepare_left_behind(const Grid& /*grid*/) {}
  /// From now on steps leave it there, and retreat() and reverse() read there what their step left; null: neither.
  virtual void leave_behind(double* /*memory*/) {}
  /// The same step, bit for bit; keeps in `stages` (record_states() pointers to states) what reversing needs, which
  /// nobody changes until that is done. With next null the new state is not computed.
  virtual void record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const* stages) = 0;
  /// Its steps in spans, once prepared; null: one by one is as good, or all that it can. A state's memory has room for
  /// a span's states then.
  virtual SpanStepper* spans() { return nullptr; }
  /// The power of the step's length with which try_step()'s error falls; 0: it estimates none.
  virtual int error_order() const { return 0; }
  /// The step on trial, bit for bit the same; for methods that estimate errors, where tolerances are wanted. @param
  /// stages as of record(), or null: nothing is kept. @returns the largest over all cells of the root mean square over
  /// the fields of (estimated error / what Tolerances allow), not finite where that is not. Collective, the same on all
  /// ranks.
  virtual double try_step(Tables& /*tables*/, StepTime /*time*/, double* /*u*/, double* /*next*/,
                          double* const* /*stages*/) {
    return 0.0;
  }
  // For messages on steps that fail.
  /// From now on steps leave what evaluations() needs or, where the method does not keep it, failure() tells of
  /// evaluations within a step that are not finite.
  virtual void watch_slopes(bool /*wanted*/) {}
  /// try_step() looks at the error of one field alone from now on, or of all again.
  virtual void judge_by(Tables& /*tables*/, std::optional<std::size_t> /*field*/) {}
  /// What try_step() found on this rank last.
  struct WorstError {
    double ratio = 0.0;  ///< the largest, squared; not finite where one is not
    Index3 cell{0, 0, 0};
  };
  virtual WorstError worst_error(const Tables& /*tables*/) const { return {}; }

  /// The adjoint of the recorded step; where reverses_from_state(), `stages` may be null. Reads `lambda`, of the new
  /// state (its ghosts are scratch), and writes all owned cells of all arrays of `lambda_next`, of the old one, which
  /// comes with values of no meaning; each level has a block of its own, but see hands_on_adjoint(). Adds to the sums.
  /// Of the level before, adjoints are kept negated; not so of the state that a run begins with, where that level is
  /// the first derivative.
  virtual void reverse(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks lambda,
                       StateBlocks lambda_next) = 0;
  /// The tangent of the recorded step.
  virtual void tangent(Tables& tables, StepTime time, StateBlocks u, double* const* stages, StateBlocks du,
                       double* dnext) = 0;

  /// Before a reverse sweep: clears what it sums up itself (sums in Tables and series' knots are the caller's).
  virtual void clear_sums() {}
  /// What it sums up itself, for a journal.
  virtual void save_sums(BlockWriter& /*to*/) const {}
  virtual void restore_sums(BlockReader& /*from*/) {}
  /// How large what steps solved for was at most since clear_sums(), by which later ones are judged; the same on all
  /// ranks.
  virtual std::vector<double> sizes_seen() const { return {}; }
  virtual void set_sizes_seen(const std::vector<double>& /*sizes*/) {}
  /// After a reverse sweep: adds what it has summed up itself to the derivatives of the active scalars and of series'
  /// knots; the same on every rank. Collective.
  virtual void add_sums(std::vector<double>& /*scalars*/, std::vector<std::vector<double>>& /*knots*/) const {}

  /// A kernel and what it is for.
  struct Described {
    std::string role;
    const KernelSpec* kernel;
  };
  virtual std::vector<Described> describe() const { return {}; }
  /// What it keeps and what it computes again, and how it walks, in lines for people.
  virtual std::string describe_memory() const = 0;
  /// Once prepared: bytes that a plain step must read and write per cell; none where it is not kernels alone that take
  /// it, as with solvers.
  virtual std::optional<std::pair<int, int>> traffic_of_step() const { return {}; }
  /// Once prepared: all its kernels.
  virtual std::vector<const KernelLibrary*> libraries() const { return {}; }

  /// An evaluation of the equations within a step.
  struct Evaluation {
    double t = 0.0;
    /// Symbols of the arrays that hold its input once the step is taken, one per field; needed where the equations read
    /// neighbours. Empty: input_at_cell() tells.
    std::vector<int> input;
  };
  /// Those of a step in their order, for messages on states that are not finite; none: these name no cause.
  virtual std::vector<Evaluation> evaluations(StepTime /*time*/) const { return {}; }
  /// What evaluation i has as input at a cell, of steps that keep none in arrays. @param start the state there.
  /// @param slopes of the evaluations before.
  virtual std::vector<double> input_at_cell(std::size_t /*i*/, StepTime /*time*/, const std::vector<double>& start,
                                            const std::vector<std::vector<double>>& /*slopes*/) const {
    return start;
  }
  /// Of the last step, as this rank knows it.
  virtual StepFailure failure() const { return {}; }
};

}  // namespace hindsight

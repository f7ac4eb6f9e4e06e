// What implicit methods ask of solvers: the systems of their stages.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/petsc_options.hpp"
#include "solvers/steppers/implicit/jacobian_entries.hpp"
#include "solvers/steppers/model_operators.hpp"
#include "solvers/steppers/solver_report.hpp"
#include "solvers/steppers/step_failure.hpp"

namespace hindsight {

/// Systems of one model: M y = M base + a F(t, y), and linear ones with M - a J, where M is the diagonal of masses
/// (SystemVariable), J is dF/du and `a` a part of the length of a step. Blocks are states of the model's fields, whose
/// ghosts are scratch; fields that are no variables are read and stay as they are. All follows from what a call is
/// given, so that a step that is taken again has the same bits. Calls that step are collective.
class StageSystems {
 public:
  virtual ~StageSystems() = default;
  /// What it compiles.
  virtual KernelSet& kernels() = 0;
  /// @param places offsets of the owned cells in the array of a field, x fastest. @param factors whether linearise()
  /// will be called. They outlive it. Collective.
  virtual void prepare(const Grid& grid, Tables& tables, const CountedVector<std::int64_t>& places, bool factors) = 0;
  /// To be called after parameters have changed.
  virtual void parameters_changed() {}

  /// Forgets failures.
  virtual void begin() = 0;
  /// Solves M y = M base + a F(t, y), so exactly that the derivatives of the exact solution are those of the one found.
  /// @param y the first guess, then the solution; not a number where there is none. @param slope scratch.
  virtual void solve_stage(Tables& tables, const SeriesData& series, StepTime at, double a, const double* base,
                           double* y, double* slope) = 0;
  /// Factors M - a J(u), for solve() and solve_transposed(). @param slope gets F(u) if that is needed; else scratch.
  virtual void linearise(Tables& tables, const SeriesData& series, StepTime at, double a, double* u, double* slope,
                         bool needs_slope) = 0;
  /// x becomes (M - a J)^-1 x, or that of the transpose; not a number where there is no solution. @throws
  /// NumericsError, on all ranks, of the transpose, where that is a failure of a solver and not of the matrix.
  virtual void solve(double* x) = 0;
  virtual void solve_transposed(double* x) = 0;
  /// See Stepper: with linear systems, as they are at a state. @param a those that may be met. @param x, slope scratch.
  virtual void warm_up(Tables& /*tables*/, const SeriesData& /*series*/, StepTime /*at*/, std::span<const double> /*a*/,
                       double* /*u*/, double* /*x*/, double* /*slope*/, bool /*transposed*/) {}
  virtual std::int64_t passing_bytes() const { return 0; }
  /// More, for what may be chosen for other matrices later, and stay.
  virtual std::int64_t reserved_bytes() const { return 0; }
  virtual double solved_to() const { return 0.0; }
  virtual void loosen(double /*factor*/) {}
  virtual SolverReport solver_report() const { return {}; }
  /// See Stepper; of each field of the model, or of none.
  virtual std::vector<double> sizes_seen() const { return {}; }
  virtual void set_sizes_seen(std::vector<double> /*sizes*/) {}
  /// States that hold the factors of all cells; 0: they are not worth it, or cannot be kept so.
  virtual int factor_states() const { return 0; }
  virtual void save_factors(double* const* /*states*/) const {}
  virtual void load_factors(double* const* /*states*/) {}
  /// Why a solution was not found since begin(), as this rank knows it; not known where all were found.
  virtual StepFailure failure() const = 0;
};

/// What systems are solved for, and how.
struct SystemWants {
  std::vector<SystemVariable> variables;
  std::string prefix;  ///< of its arrays, and of its options for PETSc: "-" + prefix
  PetscOptions petsc;  ///< see Stepper::Wants
  Stepper::Changes changes = Stepper::Changes::none;
};

/// Dense systems of each cell for models that read no neighbours, else one of all cells. @param operators of the model;
/// all outlive it.
std::unique_ptr<StageSystems> make_stage_systems(const Model& model, const Active& active, ModelOperators& operators,
                                                 SystemWants wants);

}  // namespace hindsight

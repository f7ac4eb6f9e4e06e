// The systems of models that read neighbours: one of all cells, solved by PETSc.
#pragma once

#include <petscsnes.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/petsc.hpp"
#include "solvers/steppers/implicit/jacobian_entries.hpp"
#include "solvers/steppers/implicit/petsc/free_constants.hpp"
#include "solvers/steppers/implicit/petsc/grid_matrix.hpp"
#include "solvers/steppers/implicit/petsc/linear_solver.hpp"
#include "solvers/steppers/implicit/petsc/worst_row.hpp"
#include "solvers/steppers/implicit/stage_systems.hpp"

namespace hindsight {

/// Newton's method (SNES) for stages, from the guess that it is given, with the Jacobian of every iterate, until what
/// is left is rounding; one linear solve where F is linear. Where J depends on nothing that changes with time, it is
/// assembled and factored when the length of the step changes.
///
/// Linear systems (KSP) are LinearSolver's. What a stage's first iteration set up as a preconditioner serves the others
/// of that stage, and nothing else. Options for all of that have a prefix (-step_ksp_type cg).
///
/// Fields that constraints know by their differences alone have a mean of zero. Where a constraint is not balanced
/// (Model::balanced) its right-hand side must have an integral of zero.
class GridSystems final : public StageSystems {
 public:
  /// @param model, active, operators outlive it.
  GridSystems(const Model& model, const Active& active, ModelOperators& operators, SystemWants wants);
  ~GridSystems() override;

  KernelSet& kernels() override { return entries_.kernels(); }
  void prepare(const Grid& grid, Tables& tables, const CountedVector<std::int64_t>& places, bool factors) override;
  void parameters_changed() override { is_current_ = false; }
  void begin() override { failure_.clear(); }
  void solve_stage(Tables& tables, const SeriesData& series, StepTime at, double a, const double* base, double* y,
                   double* slope) override;
  void linearise(Tables& tables, const SeriesData& series, StepTime at, double a, double* u, double* slope,
                 bool needs_slope) override;
  void solve(double* x) override;
  void solve_transposed(double* x) override;
  void warm_up(Tables& tables, const SeriesData& series, StepTime at, std::span<const double> a, double* u, double* x,
               double* slope, bool transposed) override;
  std::int64_t passing_bytes() const override { return passing_bytes_; }
  std::int64_t reserved_bytes() const override { return reserved_bytes_; }
  double solved_to() const override { return linear_.solved_to(); }
  void loosen(double factor) override { linear_.loosen(factor); }
  SolverReport solver_report() const override;
  std::vector<double> sizes_seen() const override { return sizes_; }
  void set_sizes_seen(std::vector<double> sizes) override { sizes_ = std::move(sizes); }
  StepFailure failure() const override { return {failure_, true}; }

 private:
  /// A stage that is being solved: M y = M base + a F(t, y).
  struct Stage {
    Tables& tables;
    const SeriesData& series;
    StepTime at;
    double a;
    const double* base;
    double *y, *slope;
  };
  static PetscErrorCode residual(SNES snes, Vec x, Vec f, void* self);
  static PetscErrorCode jacobian(SNES snes, Vec x, Mat a, Mat p, void* self);
  static PetscErrorCode project(KSP ksp, Vec b, Vec x, void* self);
  static PetscErrorCode balance(KSP ksp, Vec b, Vec x, void* self);
  static PetscErrorCode judge(SNES snes, PetscInt iteration, PetscReal x, PetscReal change, PetscReal residual,
                              SNESConvergedReason* reason, void* self);
  double largest_change(Vec x, Vec step) const;
  void aim_at_next(double now);
  double without_constants(double norm);
  void reserve_for_others(std::int64_t before, const std::function<void()>& solve_all);
  void make_solvers(const Grid& grid);
  void require_used_options() const;
  void require_working() const;
  void share_preconditioner();
  bool has_preconditioner() const;
  bool is_broken() const { return is_broken_ || linear_.is_broken(); }
  void hold_constants();
  void assemble(const Stage& stage, bool needs_slope);
  void correct(const Stage& stage);
  SNESConvergedReason iterate_newton(const Stage& stage);
  void iterate(const Stage& stage);
  void finish(const Stage& stage, std::string failure);
  std::string imbalance(const Stage& stage);
  bool is_rounding(std::size_t i, std::size_t field, const Stage& stage);
  void find_residual(const Stage& stage, double sign, Vec residual) const;
  std::string solve_linear(Vec b, Vec x, bool is_transposed);
  const Communicator& comm() const { return grid_->communicator(); }
  SystemRows rows() const { return {model_, entries_, *grid_, *places_, a_}; }
  std::string failure_of_newton(SNESConvergedReason reason) const;
  void look_at_solvers();
  std::string description() const;
  bool may_change(std::size_t lengths) const;
  std::vector<std::string> needlessly_balanced() const;
  void set_operator();
  void require_budget() const;
  void fail(std::string why, double* y);
  template <class Work>
  PetscErrorCode without_throwing(Work work);
  template <class Visit>
  void at_every_row(Visit visit) const;
  // Between blocks and PETSc's vectors.
  void give(const double* block, Vec to) const;
  void take(Vec from, double* block) const;

  const Model& model_;
  ModelOperators& operators_;
  PetscOptions options_;
  std::string prefix_;
  Stepper::Changes changes_;
  std::optional<GivenOptions> given_;  // by options_
  JacobianEntries entries_;
  GridMatrix matrix_;
  LinearSolver linear_;
  FreeConstants free_;
  std::vector<double> excess_;  // what the constraints of free constants had too much of in the last solve
  std::vector<double> sizes_;   // by field, what its constraint has been made of at most
  const CountedVector<std::int64_t>* places_ = nullptr;
  std::vector<std::int64_t> offsets_;  // of the variables' fields in a block
  SNES snes_ = nullptr;
  Vec x_ = nullptr, residual_ = nullptr;
  const Grid* grid_ = nullptr;
  std::shared_ptr<MemoryAccount> account_;  // of what PETSc makes
  std::optional<CountedBytes> of_others_;   // what a package that PETSc calls has taken
  std::int64_t passing_bytes_ = 0, reserved_bytes_ = 0;
  SolverReport report_;
  bool has_bad_jacobian_ = false;  // one of the stage's is not finite
  bool is_broken_ = false;         // PETSc has failed in SNES, and left it in a state in which it must not be destroyed
  std::string of_constants_;       // why free_ has not the solutions that it needs
  const Stage* stage_ = nullptr;   // while SNES works
  bool is_balancing_ = true;       // but while FreeConstants solves
  double a_ = 0.0;                 // of the matrix
  bool is_current_ = false;        // the matrix is that of a_ and the parameters, where nothing else matters
  std::exception_ptr thrown_;      // by what PETSc called
  // Of Newton's iterations.
  double change_before_ = 0.0;
  std::vector<double> residual_norms_;
  std::string failure_;
};

}  // namespace hindsight

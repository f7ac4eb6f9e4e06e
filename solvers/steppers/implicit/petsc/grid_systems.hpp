// The systems of models that read neighbours: one of all cells, solved by PETSc.
#pragma once

#include <petscsnes.h>

#include <array>
#include <optional>
#include <string>

#include "solvers/steppers/implicit/jacobian_entries.hpp"
#include "solvers/steppers/implicit/petsc/grid_matrix.hpp"
#include "solvers/steppers/implicit/petsc/linear_iteration.hpp"
#include "solvers/steppers/implicit/stage_systems.hpp"

namespace hindsight {

/// Newton's method (SNES) for stages, from the guess that it is given, with the Jacobian of every iterate, until what
/// is left is rounding; one linear solve where F is linear. Where J depends on nothing that changes with time, it is
/// assembled and factored when the length of the step changes.
///
/// Linear systems (KSP) with some thousand rows per rank are solved by factors; where those are made once, larger ones
/// as well, of up to some hundred thousand rows on few ranks: on several, each factors all of it for itself, so that
/// their number does not show where one axis alone is divided. Others are solved by iterations that suit the matrix
/// (linear_iteration.hpp), to 1e-12, and loosely within Newton's method, which goes on until that is made up for. What
/// a stage's first iteration needed to set multigrid up serves the others of that stage, and nothing else. What is left
/// of a solution that was found is looked at: some preconditioners have no transpose. Options for all of that have the
/// prefix -step_ (-step_ksp_type cg).
class GridSystems final : public StageSystems {
 public:
  /// @param model, active, operators outlive it.
  GridSystems(const Model& model, const Active& active, ModelOperators& operators, std::string options);
  ~GridSystems() override;

  const KernelSet& kernels() const override { return entries_.kernels(); }
  void prepare(const Grid& grid, Tables& tables, bool factors) override;
  void parameters_changed() override { is_current_ = false; }
  void begin() override { failure_.clear(); }
  void solve_stage(Tables& tables, const SeriesData& series, StepTime at, double a, const double* base, double* y,
                   double* slope) override;
  void linearise(Tables& tables, const SeriesData& series, StepTime at, double a, double* u, double* slope,
                 bool needs_slope) override;
  void solve(double* x) override;
  void solve_transposed(double* x) override;
  std::string failure() const override { return failure_; }

 private:
  /// A stage that is being solved: y = base + a F(t, y).
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
  static PetscErrorCode judge(SNES snes, PetscInt iteration, PetscReal x, PetscReal change, PetscReal rest,
                              SNESConvergedReason* reason, void* self);
  double largest_change(Vec x, Vec step) const;
  void make_solvers(const Grid& grid);
  void require_used_options() const;
  void choose_linear_solver();
  void choose_factors();
  bool choose_iteration();
  DefaultOptions::Options options_of_iteration() const;
  void change_tolerance(double from, double to);
  void assemble(const Stage& stage, bool needs_slope);
  void correct(const Stage& stage);
  void iterate(const Stage& stage);
  std::string solve_linear(bool is_transposed);
  void solve_linear(double* x, bool is_transposed);
  void fail(std::string why, double* y);
  // Between blocks and PETSc's vectors.
  void give(const double* block, Vec to) const;
  void take(Vec from, double* block) const;

  const Model& model_;
  ModelOperators& operators_;
  std::string options_;
  JacobianEntries entries_;
  GridMatrix matrix_;
  CountedVector<std::int64_t> places_;
  std::int64_t field_stride_ = 1;
  SNES snes_ = nullptr;
  KSP ksp_ = nullptr;  // of snes_
  Vec x_ = nullptr, rest_ = nullptr, left_ = nullptr;
  const Communicator* comm_ = nullptr;
  bool is_chosen_ = false;                    // the linear solver, when there is a matrix, for all matrices to come
  std::optional<LinearIteration> iteration_;  // which it is, where it is one
  bool is_used_ = false;                      // it has solved something
  const Stage* stage_ = nullptr;              // while SNES works
  double a_ = 0.0;                            // of the matrix
  bool is_current_ = false;                   // the matrix is that of a_ and the parameters, where nothing else matters
  std::array<bool, 2> is_proved_{};           // the matrix, and its transpose, were seen to be solved
  // Of Newton's iterations.
  double change_before_ = 0.0;
  std::vector<double> rests_;
  std::string failure_;
};

}  // namespace hindsight

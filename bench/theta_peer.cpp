#include <petscts.h>

#include <optional>

#include "bench/implicit_peers.hpp"
#include "bench/solver_clock.hpp"
#include "runtime/petsc.hpp"

namespace hindsight::bench {
namespace {

PetscErrorCode residual(TS, PetscReal, Vec u, Vec rate, Vec out, void* grid) {
  static_cast<const ReactionGrid*>(grid)->rates(u, out);
  return VecAYPX(out, -1.0, rate);
}

PetscErrorCode jacobian(TS, PetscReal, Vec u, Vec, PetscReal shift, Mat, Mat matrix, void* grid) {
  static_cast<const ReactionGrid*>(grid)->assemble(u, shift, matrix);
  return 0;
}

PetscErrorCode by_scalar(TS, PetscReal, Vec u, Vec, PetscReal, Mat matrix, void* grid) {
  Vec column = nullptr;
  MatDenseGetColumnVecWrite(matrix, 0, &column);
  static_cast<const ReactionGrid*>(grid)->by_scalar(u, column);
  VecScale(column, -1.0);
  return MatDenseRestoreColumnVecWrite(matrix, 0, &column);
}

/// A time stepper and what it needs.
class Theta {
 public:
  Theta(const ReactionProblem& problem, double theta, const std::string& options, MPI_Comm comm)
      : options_("-ts_trajectory_type memory " + options), grid_(problem, comm) {
    PetscInt rows = 0;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    DMCreateGlobalVector(grid_.dm(), &u_);
    VecDuplicate(u_, &lambda_);
    VecCreateMPI(comm, rank == 0 ? 1 : 0, 1, &mu_);
    VecGetLocalSize(u_, &rows);
    DMCreateMatrix(grid_.dm(), &matrix_);
    MatCreateDense(comm, rows, rank == 0 ? 1 : 0, PETSC_DETERMINE, 1, nullptr, &by_scalar_);
    make_stepper(theta, comm);
  }
  ~Theta() {
    TSDestroy(&ts_);
    for (Vec* v : {&u_, &lambda_, &mu_}) VecDestroy(v);
    for (Mat* m : {&matrix_, &by_scalar_}) MatDestroy(m);
  }
  Theta(const Theta&) = delete;
  Theta& operator=(const Theta&) = delete;

  Outcome gradient() {
    Outcome found;
    SolverClock clock;
    grid_.set_initial(u_);
    found.forward = both_seconds_of([&] { check_petsc(TSSolve(ts_, u_), "walk forward"); });
    found.end_state = grid_.own_values(u_);
    found.gradient = found.forward + both_seconds_of([&] {
                       found.objective = grid_.objective(u_, lambda_);
                       VecSet(mu_, 0.0);
                       check_petsc(TSAdjointSolve(ts_), "walk back");
                     });
    found.share_outside = 1.0 - clock.seconds() / found.gradient.wall;
    found.by_initial = grid_.own_first_field(lambda_);
    VecSum(mu_, &found.by_scalar);
    found.steps = grid_.problem().steps;
    return found;
  }

 private:
  void make_stepper(double theta, MPI_Comm comm) {
    const ReactionProblem& p = grid_.problem();
    TSCreate(comm, &ts_);
    TSSetDM(ts_, grid_.dm());
    TSSetProblemType(ts_, p.reacts() ? TS_NONLINEAR : TS_LINEAR);
    TSSetType(ts_, TSTHETA);
    TSThetaSetTheta(ts_, theta);
    TSThetaSetEndpoint(ts_, theta < 1.0 ? PETSC_TRUE : PETSC_FALSE);
    TSSetIFunction(ts_, nullptr, residual, &grid_);
    TSSetIJacobian(ts_, matrix_, matrix_, jacobian, &grid_);
    TSSetIJacobianP(ts_, by_scalar_, by_scalar, &grid_);
    TSSetTimeStep(ts_, p.end / p.steps);
    TSSetMaxSteps(ts_, p.steps);
    TSSetMaxTime(ts_, 2 * p.end);
    TSSetExactFinalTime(ts_, TS_EXACTFINALTIME_STEPOVER);
    TSAdapt adapt = nullptr;
    TSGetAdapt(ts_, &adapt);
    TSAdaptSetType(adapt, TSADAPTNONE);
    TSSetSaveTrajectory(ts_);
    TSSetCostGradients(ts_, 1, &lambda_, &mu_);
    given_.emplace(options_, "bench:");
    TSSetFromOptions(ts_);
    TSSetUp(ts_);
  }

  std::string options_;
  std::optional<GivenOptions> given_;
  ReactionGrid grid_;
  TS ts_ = nullptr;
  Vec u_ = nullptr, lambda_ = nullptr, mu_ = nullptr;
  Mat matrix_ = nullptr, by_scalar_ = nullptr;
};

}  // namespace

Outcome run_theta(const ReactionProblem& problem, double theta, const std::string& options, MPI_Comm comm) {
  const PeakMemory memory;
  Theta stepper(problem, theta, options, comm);
  Outcome found = stepper.gradient();
  found.megabytes = memory.megabytes();
  return found;
}

}  // namespace hindsight::bench

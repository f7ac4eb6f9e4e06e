#include <cvodes/cvodes.h>
#include <nvector/nvector_parallel.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_spgmr.h>

#include <algorithm>

#include "bench/cvodes.hpp"
#include "bench/implicit_peers.hpp"

namespace hindsight::bench {
namespace {

constexpr int most_directions = 20;  // of a Krylov space

/// Vectors of SUNDIALS lent to PETSc for as long as it lives.
class Lent {
 public:
  Lent(const ReactionGrid& grid, N_Vector from) {
    int size = 0;
    const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(grid.dm()));
    size = static_cast<int>(NV_LOCLENGTH_P(from));
    VecCreateMPIWithArray(comm, grid.problem().fields, size, PETSC_DETERMINE, NV_DATA_P(from), &vector_);
  }
  ~Lent() { VecDestroy(&vector_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  operator Vec() const { return vector_; }

 private:
  Vec vector_ = nullptr;
};

const ReactionGrid& grid_of(void* user) {
  return *static_cast<const ReactionGrid*>(user);
}

int rates(double, N_Vector y, N_Vector out, void* user) {
  grid_of(user).rates(Lent(grid_of(user), y), Lent(grid_of(user), out));
  return 0;
}

int jacobian_times(N_Vector v, N_Vector out, double, N_Vector y, N_Vector, void* user, N_Vector) {
  const ReactionGrid& grid = grid_of(user);
  grid.jacobian_times(Lent(grid, y), Lent(grid, v), Lent(grid, out), false);
  return 0;
}

int rates_back(double, N_Vector y, N_Vector w, N_Vector out, void* user) {
  const ReactionGrid& grid = grid_of(user);
  grid.jacobian_times(Lent(grid, y), Lent(grid, w), Lent(grid, out), true);
  N_VScale(-1.0, out, out);
  return 0;
}

int jacobian_times_back(N_Vector v, N_Vector out, double t, N_Vector y, N_Vector, N_Vector, void* user, N_Vector) {
  return rates_back(t, y, v, out, user);
}

/// On every rank the whole sum.
int quadrature_back(double, N_Vector y, N_Vector w, N_Vector out, void* user) {
  const ReactionGrid& grid = grid_of(user);
  N_Vector by = N_VClone(w);
  grid.by_scalar(Lent(grid, y), Lent(grid, by));
  NV_Ith_P(out, 0) = N_VDotProd(w, by);
  N_VDestroy(by);
  return 0;
}

class Cvodes {
 public:
  Cvodes(const ReactionProblem& problem, double tolerance, MPI_Comm comm)
      : grid_(problem, comm), tolerance_(tolerance) {
    MPI_Comm used = comm;
    require_cvodes(SUNContext_Create(&used, &context_));
    PetscInt own = 0, all = 0;
    Vec shape = nullptr;
    DMCreateGlobalVector(grid_.dm(), &shape);
    VecGetLocalSize(shape, &own);
    VecGetSize(shape, &all);
    VecDestroy(&shape);
    y_ = N_VNew_Parallel(comm, own, all, context_);
    w_ = N_VNew_Parallel(comm, own, all, context_);
    q_ = N_VNew_Parallel(MPI_COMM_SELF, 1, 1, context_);
    memory_ = CVodeCreate(CV_BDF, context_);
  }
  ~Cvodes() {
    CVodeFree(&memory_);
    for (SUNLinearSolver s : {solver_, solver_back_})
      if (s != nullptr) SUNLinSolFree(s);
    for (N_Vector v : {y_, w_, q_}) N_VDestroy(v);
    SUNContext_Free(&context_);
  }
  Cvodes(const Cvodes&) = delete;
  Cvodes& operator=(const Cvodes&) = delete;

  Outcome gradient() {
    Outcome found;
    grid_.set_initial(Lent(grid_, y_));
    found.forward = both_seconds_of([&] { walk_forward(); });
    CVodeGetNumSteps(memory_, &found.steps);
    found.end_state = grid_.own_values(Lent(grid_, y_));
    found.gradient = found.forward + both_seconds_of([&] {
                       found.objective = grid_.objective(Lent(grid_, y_), Lent(grid_, w_));
                       walk_back();
                     });
    found.by_initial = grid_.own_first_field(Lent(grid_, w_));
    found.by_scalar = -NV_Ith_P(q_, 0);
    return found;
  }

 private:
  void walk_forward() {
    require_cvodes(CVodeInit(memory_, rates, 0.0, y_));
    require_cvodes(CVodeSStolerances(memory_, tolerance_, tolerance_));
    require_cvodes(CVodeSetUserData(memory_, &grid_));
    require_cvodes(CVodeSetMaxNumSteps(memory_, 1000000));
    solver_ = SUNLinSol_SPGMR(y_, SUN_PREC_NONE, most_directions, context_);
    require_cvodes(CVodeSetLinearSolver(memory_, solver_, nullptr));
    require_cvodes(CVodeSetJacTimes(memory_, nullptr, jacobian_times));
    require_cvodes(CVodeAdjInit(memory_, 150, CV_HERMITE));
    double t = 0.0;
    int checkpoints = 0;
    require_cvodes(CVodeF(memory_, grid_.problem().end, y_, &t, CV_NORMAL, &checkpoints));
  }

  void walk_back() {
    const double absolute = tolerance_ * grid_.problem().width() * grid_.problem().width();  // as w is of that size
    const double end = grid_.problem().end;
    int which = 0;
    require_cvodes(CVodeCreateB(memory_, CV_BDF, &which));
    require_cvodes(CVodeInitB(memory_, which, rates_back, end, w_));
    require_cvodes(CVodeSStolerancesB(memory_, which, tolerance_, absolute));
    require_cvodes(CVodeSetUserDataB(memory_, which, &grid_));
    require_cvodes(CVodeSetMaxNumStepsB(memory_, which, 1000000));
    solver_back_ = SUNLinSol_SPGMR(w_, SUN_PREC_NONE, most_directions, context_);
    require_cvodes(CVodeSetLinearSolverB(memory_, which, solver_back_, nullptr));
    require_cvodes(CVodeSetJacTimesB(memory_, which, nullptr, jacobian_times_back));
    N_VConst(0.0, q_);
    require_cvodes(CVodeQuadInitB(memory_, which, quadrature_back, q_));
    require_cvodes(CVodeB(memory_, 0.0, CV_NORMAL));
    double t = 0.0;
    require_cvodes(CVodeGetB(memory_, which, &t, w_));
    require_cvodes(CVodeGetQuadB(memory_, which, &t, q_));
  }

  ReactionGrid grid_;
  double tolerance_;
  SUNContext context_ = nullptr;
  N_Vector y_ = nullptr, w_ = nullptr, q_ = nullptr;
  SUNLinearSolver solver_ = nullptr, solver_back_ = nullptr;
  void* memory_ = nullptr;
};

}  // namespace

Outcome run_cvodes(const ReactionProblem& problem, double tolerance, MPI_Comm comm) {
  const PeakMemory memory;
  Cvodes cvodes(problem, tolerance, comm);
  Outcome found = cvodes.gradient();
  found.megabytes = memory.megabytes();
  return found;
}

}  // namespace hindsight::bench

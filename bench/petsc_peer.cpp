// PETSc's own time stepper and adjoint on the same problem and scheme, as a PETSc user would write them: a periodic
// DMDA with two unknowns per node, a right-hand side over its arrays, an assembled Jacobian. Both sides in one run.
#include <petscdmda.h>
#include <petscts.h>

#include <cmath>
#include <cstdio>

#include "bench/cases.hpp"
#include "bench/measure.hpp"
#include "runtime/stopwatch.hpp"

namespace {

constexpr int cells = 256, steps = 100;
constexpr double length = 2.5, time_step = 0.05;

struct Field {
  PetscScalar u, v;
};
struct Problem {
  PetscReal du = 8e-5, dv = 4e-5, f = 0.024, k = 0.06, h = length / cells;
};

PetscErrorCode right_hand_side(TS ts, PetscReal, Vec x, Vec y, void* context) {
  const auto& p = *static_cast<Problem*>(context);
  DM dm;
  Vec local;
  Field **in, **out;
  DMDALocalInfo info;
  TSGetDM(ts, &dm);
  DMDAGetLocalInfo(dm, &info);
  DMGetLocalVector(dm, &local);
  DMGlobalToLocalBegin(dm, x, INSERT_VALUES, local);
  DMGlobalToLocalEnd(dm, x, INSERT_VALUES, local);
  DMDAVecGetArrayRead(dm, local, &in);
  DMDAVecGetArray(dm, y, &out);
  const PetscReal w = 1 / (p.h * p.h);
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      const PetscScalar u = in[j][i].u, v = in[j][i].v;
      const PetscScalar lap_u = w * (in[j][i + 1].u + in[j][i - 1].u + in[j + 1][i].u + in[j - 1][i].u - 4 * u);
      const PetscScalar lap_v = w * (in[j][i + 1].v + in[j][i - 1].v + in[j + 1][i].v + in[j - 1][i].v - 4 * v);
      out[j][i].u = p.du * lap_u - u * v * v + p.f * (1 - u);
      out[j][i].v = p.dv * lap_v + u * v * v - (p.f + p.k) * v;
    }
  DMDAVecRestoreArray(dm, y, &out);
  DMDAVecRestoreArrayRead(dm, local, &in);
  DMRestoreLocalVector(dm, &local);
  return 0;
}

PetscErrorCode jacobian(TS ts, PetscReal, Vec x, Mat, Mat matrix, void* context) {
  const auto& p = *static_cast<Problem*>(context);
  DM dm;
  Field** in;
  DMDALocalInfo info;
  TSGetDM(ts, &dm);
  DMDAGetLocalInfo(dm, &info);
  DMDAVecGetArrayRead(dm, x, &in);
  const PetscReal w = 1 / (p.h * p.h);
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      const PetscScalar u = in[j][i].u, v = in[j][i].v;
      MatStencil row{}, columns[6];
      PetscScalar values[6];
      row.i = i;
      row.j = j;
      for (PetscInt c = 0; c < 2; ++c) {
        const PetscReal d = c == 0 ? p.du : p.dv;
        row.c = c;
        const PetscInt offsets[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
        for (int n = 0; n < 4; ++n) {
          columns[n] = row;
          columns[n].i = i + offsets[n][0];
          columns[n].j = j + offsets[n][1];
          values[n] = d * w;
        }
        columns[4] = columns[5] = row;
        columns[4].c = 0;
        columns[5].c = 1;
        values[4] = c == 0 ? -4 * d * w - v * v - p.f : v * v;
        values[5] = c == 0 ? -2 * u * v : -4 * d * w + 2 * u * v - (p.f + p.k);
        MatSetValuesStencil(matrix, 1, &row, 6, columns, values, INSERT_VALUES);
      }
    }
  DMDAVecRestoreArrayRead(dm, x, &in);
  MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY);
  return 0;
}

/// Derivatives with respect to F and k, one column each.
PetscErrorCode parameter_jacobian(TS, PetscReal, Vec x, Mat matrix, void*) {
  PetscInt first = 0, last = 0;
  const PetscScalar* in = nullptr;
  VecGetOwnershipRange(x, &first, &last);
  VecGetArrayRead(x, &in);
  for (PetscInt row = first; row < last; row += 2) {
    const PetscInt rows[2] = {row, row + 1}, columns[2] = {0, 1};
    const PetscScalar u = in[row - first], v = in[row - first + 1];
    const PetscScalar values[4] = {1 - u, 0, -v, -v};
    MatSetValues(matrix, 2, rows, 2, columns, values, INSERT_VALUES);
  }
  VecRestoreArrayRead(x, &in);
  MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY);
  return 0;
}

struct PeerResult {
  double forward = 0, gradient = 0, objective = 0, df = 0, dk = 0;
};

void set_initial(DM dm, Vec x, const Problem& p) {
  Field** out;
  DMDAVecGetArray(dm, x, &out);
  for (int j = 0; j < cells; ++j)
    for (int i = 0; i < cells; ++i) {
      const double px = (i + 0.5) * p.h, py = (j + 0.5) * p.h;
      const bool inside = std::fabs(px - 1.25) < 0.25 && std::fabs(py - 1.25) < 0.25;
      const double bump =
          inside ? 0.25 * std::pow(std::sin(4 * M_PI * px), 2) * std::pow(std::sin(4 * M_PI * py), 2) : 0.0;
      out[j][i] = {1 - 2 * bump, bump};
    }
  DMDAVecRestoreArray(dm, x, &out);
}

/// Seeds lambda with the derivative of the final integral of (u - 1/2)^2; returns the integral.
double seed(DM dm, Vec x, Vec lambda, const Problem& p) {
  Field **in, **out;
  double sum = 0;
  DMDAVecGetArrayRead(dm, x, &in);
  DMDAVecGetArray(dm, lambda, &out);
  for (int j = 0; j < cells; ++j)
    for (int i = 0; i < cells; ++i) {
      sum += (in[j][i].u - 0.5) * (in[j][i].u - 0.5) * p.h * p.h;
      out[j][i] = {2 * (in[j][i].u - 0.5) * p.h * p.h, 0};
    }
  DMDAVecRestoreArray(dm, lambda, &out);
  DMDAVecRestoreArrayRead(dm, x, &in);
  return sum;
}

PeerResult run_petsc(bool with_gradient) {
  Problem p;
  PeerResult result;
  DM dm;
  TS ts;
  Vec x, lambda, mu;
  Mat j, jp;
  DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, cells, cells, 1, 1, 2, 1,
               nullptr, nullptr, &dm);
  DMSetUp(dm);
  DMCreateGlobalVector(dm, &x);
  TSCreate(PETSC_COMM_SELF, &ts);
  TSSetDM(ts, dm);
  TSSetProblemType(ts, TS_NONLINEAR);
  TSSetType(ts, TSRK);
  TSRKSetType(ts, TSRK4);
  TSSetRHSFunction(ts, nullptr, right_hand_side, &p);
  TSSetTimeStep(ts, time_step);
  TSSetMaxSteps(ts, steps);
  TSSetMaxTime(ts, 2 * time_step * steps);
  TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER);
  TSAdapt adapt;
  TSGetAdapt(ts, &adapt);
  TSAdaptSetType(adapt, TSADAPTNONE);
  set_initial(dm, x, p);
  if (with_gradient) {
    DMCreateMatrix(dm, &j);
    TSSetRHSJacobian(ts, j, j, jacobian, &p);
    MatCreateSeqDense(PETSC_COMM_SELF, 2 * cells * cells, 2, nullptr, &jp);
    TSSetRHSJacobianP(ts, jp, parameter_jacobian, &p);
    VecDuplicate(x, &lambda);
    VecCreateSeq(PETSC_COMM_SELF, 2, &mu);
    VecSet(mu, 0);
    TSSetSaveTrajectory(ts);
    TSSetCostGradients(ts, 1, &lambda, &mu);
  }
  TSSetFromOptions(ts);
  TSSetUp(ts);
  const double forward = hindsight::seconds_of([&] { TSSolve(ts, x); });
  result.forward = forward;
  if (with_gradient) {
    result.gradient = forward + hindsight::seconds_of([&] {
                        result.objective = seed(dm, x, lambda, p);
                        TSAdjointSolve(ts);
                      });
    const PetscScalar* values = nullptr;
    VecGetArrayRead(mu, &values);
    result.df = values[0];
    result.dk = values[1];
    VecRestoreArrayRead(mu, &values);
    VecDestroy(&lambda);
    VecDestroy(&mu);
    MatDestroy(&j);
    MatDestroy(&jp);
  }
  TSDestroy(&ts);
  VecDestroy(&x);
  DMDestroy(&dm);
  return result;
}

/// PETSc for as long as it lives.
struct Petsc {
  Petsc() {
    PetscInitializeNoArguments();
    PetscOptionsSetValue(nullptr, "-ts_trajectory_type", "memory");
  }
  ~Petsc() { PetscFinalize(); }
  Petsc(const Petsc&) = delete;
  Petsc& operator=(const Petsc&) = delete;
};

}  // namespace

namespace hindsight::bench {

void measure(int argc, char** argv) {
  const Petsc petsc;
  Session session(gray_scott(cells, steps, time_step), Communicator(MPI_COMM_SELF), Sensitivities::adjoint);
  Evaluation ours;
  PeerResult peer;
  std::vector<double> forward_ratio, gradient_ratio;
  double peer_forward = 0, peer_gradient = 0;
  for (int round = -1; round < repetitions; ++round) {
    const double forward = seconds_of([&] { session.objective({}); });
    const double gradient = seconds_of([&] { ours = session.gradient({}); });
    peer_forward = run_petsc(false).forward;
    peer = run_petsc(true);
    peer_gradient = peer.gradient;
    if (round < 0) continue;
    forward_ratio.push_back(peer_forward / forward);
    gradient_ratio.push_back(peer_gradient / gradient);
  }
  const double per_cell = 1e9 / (65536.0 * steps);
  Report report("Gray-Scott 256 x 256, RK4, 100 steps, one core, against PETSc");
  report.add("    PETSc forward", peer_forward * per_cell, "ns/cell/step");
  report.add("    PETSc gradient", peer_gradient * per_cell, "ns/cell/step");
  report.add("(d) PETSc forward over Hindsight's", median(forward_ratio), "", "at least 2");
  report.add("    PETSc gradient over Hindsight's", median(gradient_ratio), "", "at least 20");
  report.add("    objective, relative difference", std::fabs(ours.objective / peer.objective - 1), "");
  report.add("    dJ/dF, relative difference", std::fabs(ours.gradient[0][0] / peer.df - 1), "");
  report.add("    dJ/dk, relative difference", std::fabs(ours.gradient[1][0] / peer.dk - 1), "");
  report.finish(argc, argv);
}

}  // namespace hindsight::bench

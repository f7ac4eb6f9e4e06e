// ranks: 4
// The iterations that are chosen for large matrices scale weakly: with as many cells more as ranks, a solve and a
// transposed one take as many iterations, and every rank sends as many messages to a neighbour.
#include "solvers/steppers/implicit/petsc/linear_iteration.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <petsclog.h>

#include <cmath>

namespace hindsight {
namespace {

constexpr PetscInt wide = 64, rows_of_rank = 64;  // cells

/// Of a rank in the middle.
struct Counted {
  double iterations = 0.0, messages = 0.0, reductions = 0.0;  // of one solve
};

/// I - a J of dt(u) = D lap(u) - c dx(u) on a strip of wide x 64 cells per rank, in cells. @param a_D a D of a cell.
Mat matrix_of(MPI_Comm comm, double a_D, double a_c) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  const PetscInt own = wide * rows_of_rank, all = own * ranks;
  Mat matrix = nullptr;
  MatCreateAIJ(comm, own, own, all, all, 5, nullptr, 2, nullptr, &matrix);
  PetscInt from = 0, to = 0;
  MatGetOwnershipRange(matrix, &from, &to);
  for (PetscInt row = from; row < to; ++row) {
    const auto set = [&](PetscInt column, double value) { MatSetValue(matrix, row, column, value, INSERT_VALUES); };
    const double D = a_D * (1.0 + 0.3 * std::sin(0.1 * static_cast<double>(row % wide)) * (a_c != 0.0));
    set(row, 1.0 + 4.0 * D);
    if (row % wide > 0) set(row - 1, -D - 0.5 * a_c);
    if (row % wide < wide - 1) set(row + 1, -D + 0.5 * a_c);
    if (row >= wide) set(row - wide, -D);
    if (row + wide < all) set(row + wide, -D);
  }
  MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY);
  return matrix;
}

/// On so many ranks of four; others return nothing that counts.
Counted count(int ranks, bool is_transposed, double a_D, double a_c, bool is_fixed, Preconditioning expected) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
  Counted counted;
  if (comm != MPI_COMM_NULL) {
    Mat matrix = matrix_of(comm, a_D, a_c);
    const LinearIteration iteration = iteration_for(matrix, is_fixed, {false});
    EXPECT_EQ(iteration.by, expected);
    EXPECT_EQ(iteration.is_symmetric, is_fixed);
    KSP solver = nullptr;
    KSPCreate(comm, &solver);
    KSPSetTolerances(solver, 1e-10, 1e-300, PETSC_DEFAULT, 1000);
    set_iteration(solver, iteration);
    KSPSetOperators(solver, matrix, matrix);
    const DefaultOptions options(options_of(iteration, "", ranks));
    KSPSetFromOptions(solver);
    Vec x = nullptr, b = nullptr;
    MatCreateVecs(matrix, &x, &b);
    PetscInt from = 0, to = 0, iterations = 0;
    VecGetOwnershipRange(b, &from, &to);
    for (PetscInt row = from; row < to; ++row)
      VecSetValue(b, row, std::sin(0.07 * static_cast<double>(row)) + std::cos(1.3 * static_cast<double>(row)),
                  INSERT_VALUES);
    VecAssemblyBegin(b);
    VecAssemblyEnd(b);
    const auto solve = [&] { is_transposed ? KSPSolveTranspose(solver, b, x) : KSPSolve(solver, b, x); };
    solve();  // sets up
    const double sent = petsc_isend_ct + petsc_send_ct, reduced = petsc_allreduce_ct;
    solve();
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    KSPGetConvergedReason(solver, &reason);
    EXPECT_GT(reason, 0);
    KSPGetIterationNumber(solver, &iterations);
    const int neighbours = ranks < 3 ? ranks - 1 : 2;
    Counted of_rank{static_cast<double>(iterations),
                    neighbours == 0 ? 0.0 : (petsc_isend_ct + petsc_send_ct - sent) / neighbours,
                    petsc_allreduce_ct - reduced};
    MPI_Allreduce(&of_rank, &counted, 3, MPI_DOUBLE, MPI_MAX, comm);
    VecDestroy(&x);
    VecDestroy(&b);
    KSPDestroy(&solver);
    MatDestroy(&matrix);
    MPI_Comm_free(&comm);
  }
  MPI_Bcast(&counted, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return counted;
}

TEST(LinearIteration, ScalesWeakly) {
  start_petsc();
  struct Problem {
    const char* name;
    double a_D, a_c;
    bool is_symmetric;
    Preconditioning expected;
  };
  for (const Problem& of : {Problem{"little diffusion", 1.0, 0.0, false, Preconditioning::incomplete},
                            {"diffusion", 20.0, 0.1, false, Preconditioning::incomplete},
                            {"symmetric diffusion", 30.0, 0.0, true, Preconditioning::incomplete},
                            {"much diffusion", 500.0, 0.0, false, Preconditioning::multigrid},
                            {"much symmetric diffusion", 500.0, 0.0, true, Preconditioning::multigrid},
                            {"advection", 0.1, 2.0, false, Preconditioning::incomplete_filled},
                            {"much advection", 0.1, 4.0, false, Preconditioning::diagonal}})
    for (const bool is_transposed : {false, true}) {
      SCOPED_TRACE(of.name + std::string(is_transposed ? ", transposed" : ""));
      const auto on = [&](int ranks) {
        return count(ranks, is_transposed, of.a_D, of.a_c, of.is_symmetric, of.expected);
      };
      const Counted one = on(1), two = on(2), three = on(3), four = on(4);
      // The blocks of a symmetric preconditioner end where the rank does: up to a fifth more than on one rank.
      const double most = of.is_symmetric ? 1.2 : 1.1;
      for (const Counted& now : {two, three, four}) EXPECT_LE(now.iterations, most * one.iterations);
      for (const Counted& now : {three, four}) {
        EXPECT_NEAR(now.iterations, two.iterations, 0.1 * two.iterations);
        EXPECT_NEAR(now.messages, two.messages, 0.1 * two.messages);
        EXPECT_NEAR(now.reductions, two.reductions, 0.1 * two.reductions);
      }
      RecordProperty(
          of.name + std::string(is_transposed ? ", transposed" : ""),
          fmt::format("iterations {} {} {} {}, messages per neighbour {} {} {}", one.iterations, two.iterations,
                      three.iterations, four.iterations, two.messages, three.messages, four.messages));
    }
}

}  // namespace
}  // namespace hindsight

// Programs that bench.implicit measures beside Hindsight. PETSc is started before.
#pragma once

#include <string>

#include "bench/reaction_grid.hpp"

namespace hindsight::bench {

/// PETSc's TSTheta with its adjoint, trajectories in memory. @param theta 1: backward Euler; 0.5: Crank-Nicolson.
/// @param options as on PETSc's command line.
Outcome run_theta(const ReactionProblem& problem, double theta, const std::string& options, MPI_Comm comm);

/// CVODES (BDF, Newton, SPGMR with products of the Jacobian, not preconditioned) and its backward problem.
Outcome run_cvodes(const ReactionProblem& problem, double tolerance, MPI_Comm comm);

}  // namespace hindsight::bench

// Which iterative solver suits a large matrix I - a J.
#pragma once

#include <petscksp.h>

#include <string>
#include <vector>

#include "runtime/petsc.hpp"

namespace hindsight {

/// What is inverted beside the iteration. Incomplete factors come without fill, or with one level of it.
enum class Preconditioning { incomplete, incomplete_filled, multigrid, diagonal };

/// Conjugate gradients where the matrix is symmetric and definite, else BiCGStab(2); and what preconditions them.
struct LinearIteration {
  bool is_symmetric = false;
  Preconditioning by = Preconditioning::incomplete;
  bool operator==(const LinearIteration&) const = default;
};

/// From the matrix alone, and whether it is fixed, the same in all steps: whether it is symmetric, where it is fixed,
/// and certainly positive definite (no row's other entries outweigh its diagonal), its largest row (1 + 8 a D / h^2 for
/// diffusion on a plane) and how far what is not diffusion outweighs a row's diagonal. Incomplete factors serve until
/// diffusion reaches far in a step, then multigrid. Advection that outweighs the diagonal makes them grow without
/// bounds: with one level of fill that begins later, and inverting the diagonal alone is never wrong. Diffusion in a
/// constraint reaches everywhere; several constraints together are no diffusion. Rows of a cell follow each other.
/// Collective.
/// @param constrained whether a variable has a constraint, by variable.
LinearIteration iteration_for(Mat matrix, bool is_fixed, const std::vector<bool>& constrained);
/// Whether it is its own transpose but for rounding. Collective.
bool is_symmetric(Mat matrix);

/// Makes it that of a solver.
void set_iteration(KSP solver, const LinearIteration& iteration);
/// What PETSc has to find among its options while a solver with this prefix ("step_") sets such an iteration up.
DefaultOptions::Options options_of(const LinearIteration& iteration, const std::string& prefix, int ranks);

/// What options of the solvers within those begin with, and of factors.
const std::vector<std::string>& parts_of_preconditioners();

}  // namespace hindsight

// Where a system of all cells is not solved.
#pragma once

#include <petscvec.h>

#include <string>

#include "runtime/memory.hpp"
#include "solvers/grid/grid.hpp"
#include "solvers/steppers/implicit/jacobian_entries.hpp"

namespace hindsight {

/// Of the matrix M - a J, whose entries are those that were evaluated last.
struct SystemRows {
  const Model& model;
  const JacobianEntries& entries;
  const Grid& grid;
  const CountedVector<std::int64_t>& places;
  double a;
};

/// The equation and the cell where most is left, beside the matrix's row and the largest value of the equation's field:
/// "dt(u) at x = 0.5". Empty: nothing is left. Collective, the same on all ranks.
std::string worst_row(const SystemRows& rows, Vec residual, Vec values);
/// The first derivative that is not finite: "that of dt(u) with respect to v at x = 0.5". Empty: all are. Collective,
/// the same on all ranks.
std::string bad_derivative(const SystemRows& rows);

}  // namespace hindsight

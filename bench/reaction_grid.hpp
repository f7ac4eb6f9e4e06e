// The problems of bench.implicit as a user of PETSc and of SUNDIALS writes them: loops over the cells of a DMDA.
#pragma once

#include <petscdmda.h>

#include <string>
#include <vector>

#include "bench/measure.hpp"

namespace hindsight::bench {

/// dt(u) = D*lap(u) - a*dx(u) - b*dy(u) - r*u*v^2, dt(v) = the same of v + r*u*v^2, on the periodic unit square; or u
/// alone, without a reaction. The objective is the integral of the last field's square at the end. Unknown are D where
/// there is no reaction, else r; and the initial u.
struct ReactionProblem {
  std::string name;
  int fields = 1;
  double diffusion = 1.0, a = 0.0, b = 0.0, rate = 0.0;
  double end = 1.0;
  int cells = 256, steps = 10;

  double width() const { return 1.0 / cells; }
  bool reacts() const { return fields == 2; }
};

ReactionProblem heat(int cells, int steps);
ReactionProblem autocatalysis(int cells, int steps);
/// As a case of Hindsight's, but for `time:`.
std::string case_text(const ReactionProblem& problem);

/// What one program found.
struct Outcome {
  Seconds forward, gradient;
  double megabytes = 0.0;                     // that it needed at most, of this rank
  double share_outside = 0.0;                 // of the gradient's time, what was not spent in PETSc's solvers
  double objective = 0.0, by_scalar = 0.0;    // and its derivative
  std::vector<double> by_initial, end_state;  // of this rank's cells, x fastest; fields of a cell together
  long steps = 0;
};

/// The problem on a DMDA whose ranks have whole rows of cells. Vectors are PETSc's, of this DMDA.
class ReactionGrid {
 public:
  ReactionGrid(const ReactionProblem& problem, MPI_Comm comm);
  ~ReactionGrid() { DMDestroy(&dm_); }
  ReactionGrid(const ReactionGrid&) = delete;
  ReactionGrid& operator=(const ReactionGrid&) = delete;

  DM dm() const { return dm_; }
  const ReactionProblem& problem() const { return problem_; }
  void set_initial(Vec u) const;
  /// The rates of change.
  void rates(Vec u, Vec out) const;
  /// J v and J^T v, J being the derivative of the rates at u.
  void jacobian_times(Vec u, Vec v, Vec out, bool is_transposed) const;
  /// shift*I - J.
  void assemble(Vec u, double shift, Mat matrix) const;
  /// Of the rates, by the unknown scalar.
  void by_scalar(Vec u, Vec out) const;
  /// @param seed gets the objective's derivative. @returns the objective.
  double objective(Vec u, Vec seed) const;
  std::vector<double> own_values(Vec from) const;
  /// Of field 0 alone.
  std::vector<double> own_first_field(Vec from) const;

 private:
  void diffuse_and_carry(Vec u, Vec out, double direction) const;

  ReactionProblem problem_;
  DM dm_ = nullptr;
};

}  // namespace hindsight::bench

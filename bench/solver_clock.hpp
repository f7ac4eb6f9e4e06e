// How long PETSc's solvers work, by the events that it logs.
#pragma once

namespace hindsight::bench {

/// Sums up the time within SNES, KSP and PC while it lives, without what they call back: residuals and Jacobians of the
/// program's. One at a time.
class SolverClock {
 public:
  SolverClock();
  ~SolverClock();
  SolverClock(const SolverClock&) = delete;
  SolverClock& operator=(const SolverClock&) = delete;
  double seconds() const;
};

}  // namespace hindsight::bench

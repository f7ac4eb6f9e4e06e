// What the method embedded in a tableau says about the error of a step.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "solvers/steppers/explicit/runge_kutta_kernels.hpp"
#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/steppers/tolerances.hpp"

namespace hindsight {

/// One kernel, RungeKuttaKernels::trial(). Of models that read no neighbours it takes the whole step too; of others it
/// reads what the stages have left.
class ErrorEstimate {
 public:
  ErrorEstimate(const Model& model, const Active& active, const RungeKuttaKernels& scheme, Tolerances tolerances);

  std::array<int, 3> halo() const { return kernels_.halo(); }
  /// Collective.
  void prepare(const Grid& grid, Tables& tables);
  /// @param u, next as of Stepper::try_step(); the stages' arrays and the step's length are bound. Sets the time of its
  /// own evaluation, at the end of the step. Collective.
  double ratio(Tables& tables, const SeriesData& series, StepTime time, double* u, double* next);
  /// See Stepper.
  void judge_by(Tables& tables, std::optional<std::size_t> field) const;
  Stepper::WorstError worst(const Tables& tables) const;
  std::vector<const KernelLibrary*> libraries() const { return kernels_.libraries(); }
  std::vector<Stepper::Described> describe() const { return kernels_.describe(); }

 private:
  const Model& model_;
  Tolerances tolerances_;
  KernelSet kernels_;
  std::optional<EvaluationTime> time_;
  std::vector<int> first_, last_, next_;  // symbols of the state before, as the last evaluation reads the next one, and
                                          // as it is written
  int ratio_ = -1;
};

}  // namespace hindsight

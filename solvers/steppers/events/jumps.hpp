// Events: at known times states jump to values that follow from them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/error.hpp"
#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/time/time_line.hpp"

namespace hindsight {

/// Fields take new values, all at once; the others stay.
struct Jump {
  struct Assignment {
    std::size_t field = 0;  ///< of the model
    Expr value;             ///< of the state before, parameters, series, t and coordinates; of the cell itself
  };
  std::vector<double> times;
  std::vector<Assignment> set;
  SourcePlace place = {};
};

/// The jumps of a run, their tangents and their adjoints. A jump belongs to the step that begins at its time: the state
/// that is reached, observed and kept is the one before. Jumps of one time follow each other in their order, as one.
class Jumps {
 public:
  /// Derives what is wanted. @param jumps whose times are landings of `time`. @param first_sum of those (Tables) that
  /// are its own. All but jumps outlive it. @throws InputError where one cannot be told from the end.
  Jumps(const Model& model, const Active& active, const std::vector<Jump>& jumps, const TimeLine& time, int first_sum,
        const Derivatives& wanted);
  Jumps(const Jumps&) = delete;
  Jumps& operator=(const Jumps&) = delete;

  /// Sums (Tables) that it takes.
  int sums() const { return EvaluationTime::sums(active_); }
  /// Compiles. Collective.
  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series);
  /// Where series get new values, directions and sums from.
  SeriesData& series() { return series_; }

  /// Whether the state jumps that this step begins with.
  bool at(std::int64_t step) const {
    const std::int64_t landing = time_.landing_at(step);
    return landing >= 0 && which_[static_cast<std::size_t>(landing)] >= 0;
  }
  // At such a step. Arrays are blocks of the model's fields; no two may be the same.
  void apply(Tables& tables, StepTime time, double* before, double* after);
  /// Writes the adjoint of the state before; adds to the sums and to the arrays of parameter fields' derivatives.
  void adjoint(Tables& tables, StepTime time, double* before, double* lambda_after, double* lambda_before);
  /// Directions of parameters are bound.
  void tangent(Tables& tables, StepTime time, double* before, double* dot_before, double* dot_after);

  const KernelSet& kernels() const { return kernels_; }

 private:
  KernelRequest request(std::size_t number, std::vector<Expr> values, int first_sum) const;
  std::size_t begin(Tables& tables, StepTime time, double* before);

  const Model& model_;
  const Active& active_;
  const TimeLine& time_;
  KernelSet kernels_;  // one per way in which states jump
  SeriesData series_;
  std::optional<EvaluationTime> evaluation_;
  std::vector<int> which_;  // kernel by landing; -1: none
  std::vector<int> before_, after_, dot_before_, dot_after_, lambda_before_, lambda_after_;  // symbols
  int length_ = -1;                                                                          // of the step's length
};

}  // namespace hindsight

// What differs between experiments that one simulation can do, one after the other.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "adjoint/problem/problem_text.hpp"

namespace hindsight {

/// Values that a problem gives, unknowns included, in the order in which the problem has them.
struct GivenValues {
  std::vector<double> scalars;
  std::vector<std::vector<double>> series;  ///< at the knots
  /// Of parameter fields: what fills the owned cells (ParameterField), or null where an expression does.
  std::vector<std::function<void(const Grid&, double* cells)>> fields;
  std::vector<std::shared_ptr<const std::vector<PointObservation>>> observations;  ///< of each misfit
  SourcePoints sources;
};

GivenValues given_values(const ProblemText& problem);

/// Whether two problems of one case are the same but for these values, and for nothing that steps are made from:
/// expressions, times of steps and of observations are equal.
bool differ_in_values_alone(const ProblemText& a, const ProblemText& b);

}  // namespace hindsight

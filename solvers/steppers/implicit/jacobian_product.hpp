// The product of a model's Jacobian with a vector, as a function of the state: with its derivatives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/time/step_time.hpp"

namespace hindsight {

/// P(u, p; v, s) = J v + s dF/dt, where J is dF/du and dF/dt holds what series change, with the derivatives of P with
/// respect to u and p: what linearly implicit methods need, whose steps contain J itself. For models that read no
/// neighbours. Blocks are states of the model's fields; arrays and sums are bound as for ModelOperators.
class JacobianProduct {
 public:
  /// @param first_sum of the sums() that are its own. model and active outlive it.
  JacobianProduct(const Model& model, const Active& active, int first_sum, const Derivatives& wanted);

  static int sums(const Active& active) { return 2 * EvaluationTime::sums(active); }
  /// Whether dF/dt is not zero.
  bool depends_on_time() const { return depends_on_time_; }
  KernelSet& kernels() { return kernels_; }
  /// Collective.
  void prepare(const Grid& grid, Tables& tables, const SeriesData& series);

  /// Where P is taken.
  struct At {
    StepTime time;
    double* u;
    double* v;
    double s;
  };
  void value(Tables& tables, const SeriesData& series, const At& at, double* product);
  /// Writes (dP/du) du + (dP/dp) pdot.
  void tangent(Tables& tables, const SeriesData& series, const At& at, double* du, double* product);
  /// Writes (dP/du)^T w, and adds w dP/dp to the sums and to the arrays of parameter fields' derivatives.
  void adjoint(Tables& tables, const SeriesData& series, const At& at, double* w, double* product);

 private:
  /// How a series changes with time: a scalar, and where its derivatives go if it is active.
  struct Slope {
    std::size_t series = 0;
    int symbol = -1, dot = -1;
    std::array<int, 2> weights{-1, -1};
    std::size_t active = 0;
    int first_sum = -1;  ///< -1: it is not active
  };
  KernelRequest request(int first_sum);
  void begin(Tables& tables, const SeriesData& series, const At& at);

  const Model& model_;
  const Active& active_;
  KernelSet kernels_;
  std::optional<EvaluationTime> time_;
  bool depends_on_time_ = false;
  int s_ = -1, length_ = -1;  // symbols
  std::vector<int> state_, dot_state_, direction_, multiplier_, value_, dot_value_, gathered_;
  std::vector<Slope> slopes_;
};

}  // namespace hindsight

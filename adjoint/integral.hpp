// Objective terms that are integrals over space: at the end, over time, or of parameters alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "solvers/equations/kernel.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/steppers/pass.hpp"
#include "solvers/steppers/time_plan.hpp"
#include "solvers/steppers/wall_adjoint.hpp"
#include "solvers/steppers/wall_values.hpp"

namespace hindsight {

struct IntegralSpec {
  enum class When { end, all_steps };
  Expr integrand;         ///< discretised; of fields, parameters, series, t and coordinates
  When when = When::end;  ///< all_steps: trapezoid rule on the steps
  double weight = 1.0;
  std::string name = {};  ///< for messages: "final: u^2"
};

/// One term: sum over cells of integrand * cell volume, times weights in time. For an ODE the volume is 1.
/// Traffic per evaluated state: each field that the integrand reads, once; backward lambda is read and written as well.
class Integral {
 public:
  /// `first_sum` is the index of the first of sums() accumulators in Tables. `number` distinguishes kernels of terms.
  Integral(const Model& model, const Active& active, IntegralSpec spec, int number, int first_sum);

  int sums() const;
  std::array<int, 3> halo() const;
  void prepare(const Grid& grid, const TimePlan& plan, Tables& tables, const std::vector<Series>& series,
               const std::vector<double*>& series_sums);

  /// True when state k counts: the end, or any with all_steps.
  bool counts_at(std::int64_t k) const;
  /// Adds to the term. The state is bound under stage "0".
  void observe(Tables& tables, std::int64_t k);
  /// The integral of state k alone, whatever counts. Forgets what was added before. Collective.
  double alone_at(Tables& tables, std::int64_t k);
  /// Adds dJ/du_k to lambda and derivatives to the sums of parameters (bound in `tables`).
  void add_adjoint(Tables& tables, std::int64_t k);
  /// Adds to the directional derivative; directions are bound under the d() names.
  void tangent(Tables& tables, std::int64_t k);
  /// Derivatives through wall values, for integrands that read across walls. Collective.
  void add_wall_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const;

  void set_series(std::size_t series, const std::vector<double>& values) { series_[series].values = values; }
  double value() const;          ///< collective
  double tangent_value() const;  ///< collective
  void reset();
  /// What was added so far.
  void save(BlockWriter& to) const;
  void restore(BlockReader& from);
  const std::string& name() const { return spec_.name; }
  const KernelSpec& kernel() const { return value_kernel_; }
  std::vector<const KernelLibrary*> libraries() const { return {&library_, &wall_library_}; }

 private:
  void set_scalars(Tables& tables, std::int64_t k) const;
  void add_value(Tables& tables, std::int64_t k);

  const Model& model_;
  Active active_;
  IntegralSpec spec_;
  int first_sum_;
  bool reads_neighbours_ = false, has_border_ = false;
  KernelSpec value_kernel_, adjoint_kernel_, border_kernel_, ring_kernel_, add_kernel_, tangent_kernel_;
  std::vector<KernelSpec> wall_kernels_;
  std::unique_ptr<WallValues> walls_, dot_walls_;
  std::unique_ptr<WallAdjoint> wall_adjoint_;
  std::vector<FieldWalls> zero_walls_, mirror_walls_;

  const Grid* grid_ = nullptr;
  const TimePlan* plan_ = nullptr;
  std::vector<Series> series_;
  std::vector<double*> series_sums_;
  std::vector<Series::Place> places_;
  std::vector<std::size_t> noise_;
  KernelLibrary library_, wall_library_;
  std::unique_ptr<Pass> value_pass_, adjoint_pass_, tangent_pass_;
  std::unique_ptr<WallGather> wall_gather_;
  Memory rows_, tangent_rows_, dummy_knot_;
  int h_, t_, weight_, length_;  // symbols; length_: of the step, -1 where nobody reads it
};

}  // namespace hindsight

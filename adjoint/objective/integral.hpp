// Objective terms that are integrals over space: at the end, over time, or of parameters alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "adjoint/objective/term.hpp"
#include "solvers/equations/kernel.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/steppers/pass.hpp"
#include "solvers/steppers/wall_adjoint.hpp"
#include "solvers/steppers/wall_values.hpp"

namespace hindsight {

class IntegralSpec final : public TermSpec {
 public:
  enum class When { end, all_steps };
  IntegralSpec(Expr the_integrand, When at, double times, std::string called = "")
      : integrand(the_integrand), when(at), weight(times), name(std::move(called)) {}
  std::vector<Expr> reads() const override;
  std::vector<double> landings() const override { return {}; }
  std::unique_ptr<Term> make(const TermPlace& place) const override;

  Expr integrand;  ///< discretised; of fields, parameters, series, t and coordinates
  When when;       ///< all_steps: trapezoid rule on the steps
  double weight;
  std::string name;  ///< for messages: "final: u^2"
};

/// One term: sum over cells of integrand * cell volume, times weights in time. For an ODE the volume is 1.
/// Traffic per evaluated state: each field that the integrand reads, once; backward lambda is read and written as well.
class Integral final : public Term {
 public:
  Integral(IntegralSpec spec, const TermPlace& place);

  const std::string& name() const override { return spec_.name; }
  const char* kind() const override { return "integrals"; }
  int sums() const override;
  std::array<int, 3> halo() const override;
  void prepare(const TermSetting& setting) override;
  void set_series(std::size_t series, const std::vector<double>& values) override { series_[series].values = values; }

  Counts counts() const override;
  bool counts_at(const Moment& moment) const override;
  void observe(const Moment& moment) override;
  /// The integral of a state alone, whatever counts. Forgets what was added before. Collective.
  double alone_at(const Moment& moment);
  void add_adjoint(const Moment& moment) override;
  double tangent(const Moment& moment) override;

  double value() const override;
  double tangent_value() const override;
  /// Derivatives through wall values, for integrands that read across walls.
  void add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const override;
  void reset() override;
  void save(BlockWriter& to) const override;
  void restore(BlockReader& from) override;
  std::optional<Residuals> residuals() const override { return std::nullopt; }
  void save_observed(BlockWriter&) const override {}
  void restore_observed(BlockReader&) override {}
  std::int64_t passing_bytes() const override { return 0; }
  std::int64_t kept_bytes() const override;
  std::vector<const KernelLibrary*> libraries() const override { return {&library_, &wall_library_}; }

 private:
  void set_scalars(const Moment& moment);
  void bind_knots(const Moment& moment);

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
  Tables* tables_ = nullptr;
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

// Objective terms that are integrals over space: at the end, over time, or of parameters alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/objective/term.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/steppers/kernels/evaluation_time.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"

namespace hindsight {

class IntegralSpec final : public TermSpec {
 public:
  /// of_parameters: at the end too, where it counts what no state enters.
  enum class When { end, all_steps, of_parameters };
  IntegralSpec(Expr the_integrand, When at, double times, std::string called = "")
      : integrand(the_integrand), when(at), weight(times), name(std::move(called)) {}
  std::vector<Expr> reads() const override;
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
  bool is_of_parameters() const override { return spec_.when == IntegralSpec::When::of_parameters; }
  int sums() const override;
  std::array<int, 3> halo() const override { return kernels_.halo(); }
  void prepare(const TermSetting& setting) override;
  void set_series(std::size_t series, const std::vector<double>& values) override {
    series_.set_values(series, values);
  }

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
  std::int64_t kept_bytes() const override;
  std::vector<const KernelLibrary*> libraries() const override { return kernels_.libraries(); }

 private:
  KernelRequest request(int number, Expr weight) const;
  Epilogue sums_and_lambda(Expr weight) const;
  void begin(const Moment& moment, Direction direction);

  const Model& model_;
  Active active_;
  IntegralSpec spec_;
  int value_sum_, tangent_sum_;
  KernelSet kernels_;
  SeriesData series_;
  std::optional<EvaluationTime> time_;  // once the kernels are derived
  const Grid* grid_ = nullptr;
  Tables* tables_ = nullptr;
  Memory rows_, tangent_rows_;
  int weight_, length_;  // symbols; length_: of the step, -1 where nobody reads it
};

}  // namespace hindsight

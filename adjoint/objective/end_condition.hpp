// A condition on the state that ends a run.
#pragma once

#include "adjoint/objective/integral.hpp"

namespace hindsight {

/// The run ends with the first state (not the initial one) whose norm, the root of the integral of the square, is below
/// (or above) the limit.
struct StopSpec {
  Expr quantity;  ///< discretised; of fields, parameters, series, t and coordinates
  double limit = 0.0;
  bool below = true;
};

class EndCondition {
 public:
  EndCondition(const StopSpec& spec, const TermPlace& place);
  int sums() const { return square_.sums(); }
  std::array<int, 3> halo() const { return square_.halo(); }
  void prepare(const TermSetting& setting) { square_.prepare(setting); }
  void set_series(std::size_t series, const std::vector<double>& values) { square_.set_series(series, values); }
  std::vector<const KernelLibrary*> libraries() const { return square_.libraries(); }
  /// Whether the run ends with the state of this moment, which is bound under stage 0. Collective.
  bool is_met(const Moment& moment);
  /// What is_met() said last.
  bool was_met() const { return was_met_; }

 private:
  StopSpec spec_;
  bool was_met_ = false;
  Integral square_;
};

}  // namespace hindsight

// The objective: the sum of its terms.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "adjoint/objective/term.hpp"

namespace hindsight {

class Objective {
 public:
  /// @param place of the first term; the others follow.
  Objective(const TermSpecs& specs, TermPlace place);

  int sums() const;
  std::array<int, 3> halo() const;
  void prepare(const TermSetting& setting);
  void set_series(std::size_t series, const std::vector<double>& values);
  /// Of the misfits, in their order.
  void set_observations(const std::vector<std::shared_ptr<const std::vector<PointObservation>>>& observations);
  std::vector<std::shared_ptr<const std::vector<PointObservation>>> observations() const;
  bool reads_level_before() const {
    return std::ranges::any_of(terms_, [](const auto& term) { return term->reads_level_before(); });
  }
  /// Of the misfits, in their order, as Term has it.
  void set_filters(const std::vector<std::optional<FilterSpec>>& filters);
  /// As the misfit of this number does.
  bool filter(std::size_t misfit, std::span<double> values) const;
  /// What misfits have simulated, one after the other, parallel to their observations; once value() was asked for.
  std::vector<double> observed() const;
  const std::vector<std::unique_ptr<Term>>& terms() const { return terms_; }
  bool differentiates_level_before() const {
    return std::ranges::any_of(terms_, [](const auto& term) { return term->differentiates_level_before(); });
  }
  /// Which terms count from now on: all, or where several experiments share their parameters, those that look at an
  /// experiment or those that do not.
  enum class Which { all, of_states, of_parameters };
  void count(Which which) { which_ = which; }

  /// Whether a state may count; costs next to nothing where none but a few do.
  bool may_count_at(std::int64_t k, const TimeLine& time) const {
    if (counts_ == Term::Counts::all || k == time.steps()) return true;
    return counts_ == Term::Counts::landings && time.landing_at(k) >= 0;
  }
  /// Whether one does.
  bool counts_at(std::int64_t k, const TimeLine& time) const {
    if (!may_count_at(k, time)) return false;
    const Moment moment = time.moment(k);
    return std::ranges::any_of(terms_, [&](const auto& term) { return is_counted(*term) && term->counts_at(moment); });
  }
  bool counts_everywhere() const { return counts_ == Term::Counts::all; }
  /// @param bind binds the state; called when a term counts.
  template <class Bind>
  void observe(const Moment& moment, Bind bind) {
    bool is_bound = false;
    for (const auto& term : terms_) {
      if (!is_counted(*term) || !term->counts_at(moment)) continue;
      if (!std::exchange(is_bound, true)) bind();
      term->observe(moment);
    }
  }
  /// @param bind binds state and lambda; called when a term counts. @param contribute runs work that adds to the
  /// adjoint, of this kind of term.
  template <class Bind, class Contribute>
  void add_adjoint(const Moment& moment, Bind bind, Contribute contribute) {
    bool is_bound = false;
    for (const auto& term : terms_) {
      if (!is_counted(*term) || !term->counts_at(moment)) continue;
      if (!std::exchange(is_bound, true)) bind();
      contribute(term->kind(), [&] { term->add_adjoint(moment); });
    }
  }
  /// State and directions are bound.
  void tangent(const Moment& moment);

  /// @throws NumericsError naming the term by which it is not finite. Collective.
  double value() const;
  double tangent_value() const;
  void reset();
  void save(BlockWriter& to) const;
  void restore(BlockReader& from);
  void save_observed(BlockWriter& to) const;
  void restore_observed(BlockReader& from);
  std::vector<Term::Residuals> residuals() const;
  std::int64_t passing_bytes() const;
  std::int64_t kept_bytes() const;
  std::vector<const KernelLibrary*> libraries() const;

 private:
  bool is_counted(const Term& term) const {
    return which_ == Which::all || term.is_of_parameters() == (which_ == Which::of_parameters);
  }

  std::vector<std::unique_ptr<Term>> terms_;
  Which which_ = Which::all;
  Term::Counts counts_ = Term::Counts::last;
  double derivative_ = 0.0;  // what terms have told of it at once
};

}  // namespace hindsight

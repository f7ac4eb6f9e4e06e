#include "adjoint/objective/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/error.hpp"
#include "solvers/steppers/reads.hpp"

namespace hindsight {

Objective::Objective(const TermSpecs& specs, TermPlace place) {
  for (const auto& spec : specs) {
    terms_.push_back(spec->make(place));
    ++place.number;
    place.first_sum += terms_.back()->sums();
    counts_ = std::max(counts_, terms_.back()->counts());
  }
}

int Objective::sums() const {
  int sums = 0;
  for (const auto& term : terms_) sums += term->sums();
  return sums;
}

std::array<int, 3> Objective::halo() const {
  std::array<int, 3> halo{0, 0, 0};
  for (const auto& term : terms_) halo = deeper(halo, term->halo());
  return halo;
}

void Objective::prepare(const TermSetting& setting) {
  for (const auto& term : terms_) term->prepare(setting);
}

void Objective::set_series(std::size_t series, const std::vector<double>& values) {
  for (const auto& term : terms_) term->set_series(series, values);
}

void Objective::set_observations(
    const std::vector<std::shared_ptr<const std::vector<PointObservation>>>& observations) {
  auto next = observations.begin();
  for (const auto& term : terms_)
    if (term->observations()) term->set_observations(*next++);
}

std::vector<std::shared_ptr<const std::vector<PointObservation>>> Objective::observations() const {
  std::vector<std::shared_ptr<const std::vector<PointObservation>>> all;
  for (const auto& term : terms_)
    if (auto own = term->observations()) all.push_back(std::move(own));
  return all;
}

void Objective::set_filters(const std::vector<std::optional<FilterSpec>>& filters) {
  auto next = filters.begin();
  for (const auto& term : terms_)
    if (term->observations()) term->set_filter(*next++);
}

bool Objective::filter(std::size_t misfit, std::span<double> values) const {
  for (const auto& term : terms_)
    if (term->observations() && misfit-- == 0) return term->filter(values);
  return false;
}

std::vector<double> Objective::observed() const {
  std::vector<double> all;
  for (const auto& term : terms_) all.insert(all.end(), term->observed().begin(), term->observed().end());
  return all;
}

void Objective::tangent(const Moment& moment) {
  for (const auto& term : terms_)
    if (is_counted(*term) && term->counts_at(moment)) derivative_ += term->tangent(moment);
}

double Objective::value() const {
  double sum = 0.0;
  for (const auto& term : terms_) {
    if (!is_counted(*term)) continue;
    const double value = term->value();
    sum += value;
    if (!std::isfinite(sum))
      throw NumericsError(fmt::format("the objective is not finite: the term '{}' is {}", term->name(), value));
  }
  return sum;
}

double Objective::tangent_value() const {
  double derivative = derivative_;
  for (const auto& term : terms_)
    if (is_counted(*term)) derivative += term->tangent_value();
  return derivative;
}

void Objective::reset() {
  derivative_ = 0.0;
  for (const auto& term : terms_) term->reset();
}

void Objective::save(BlockWriter& to) const {
  to.archive().write(derivative_);
  for (const auto& term : terms_) term->save(to);
}

void Objective::restore(BlockReader& from) {
  from.read(derivative_);
  for (const auto& term : terms_) term->restore(from);
}

void Objective::save_observed(BlockWriter& to) const {
  for (const auto& term : terms_) term->save_observed(to);
}

void Objective::restore_observed(BlockReader& from) {
  for (const auto& term : terms_) term->restore_observed(from);
}

std::vector<Term::Residuals> Objective::residuals() const {
  std::vector<Term::Residuals> all;
  for (const auto& term : terms_)
    if (const auto own = term->residuals()) all.push_back(*own);
  return all;
}

std::int64_t Objective::passing_bytes() const {
  std::int64_t most = 0;
  for (const auto& term : terms_) most = std::max(most, term->passing_bytes());
  return most;
}

std::int64_t Objective::kept_bytes() const {
  std::int64_t sum = 0;
  for (const auto& term : terms_) sum += term->kept_bytes();
  return sum;
}

std::vector<const KernelLibrary*> Objective::libraries() const {
  std::vector<const KernelLibrary*> all;
  for (const auto& term : terms_)
    for (const KernelLibrary* library : term->libraries()) all.push_back(library);
  return all;
}

}  // namespace hindsight

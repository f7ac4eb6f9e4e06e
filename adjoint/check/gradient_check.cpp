#include "adjoint/check/gradient_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr double wanted_bound = 1e-7;                     // what differences are to tell where they can
constexpr double noise_reach = 0.01;                      // how far away noise is sampled too
constexpr std::array<double, 3> away{0.01, -0.01, 1e-4};  // points nearby

/// So far that unknowns are rounded anew, relative to their sizes. @param of_doubles where they are that.
double apart(double of_doubles, double epsilon) {
  return std::max(of_doubles, 8.0 * epsilon);
}

/// from + e direction.
UnknownValues moved(UnknownValues from, double e, const UnknownValues& direction) {
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t k = 0; k < from[i].size(); ++k) from[i][k] += e * direction[i][k];
  return from;
}

UnknownValues scaled(UnknownValues values, double factor) {
  for (auto& block : values)
    for (double& value : block) value *= factor;
  return values;
}

UnknownValues magnitudes(UnknownValues values) {
  for (auto& block : values)
    for (double& value : block) value = std::fabs(value);
  return values;
}

/// Nothing where the run fails.
template <class Work>
auto if_it_runs(const Work& work) -> std::optional<decltype(work())> {
  try {
    return work();
  } catch (const NumericsError&) {
    return std::nullopt;
  }
}

/// @param allowed absolute, like the difference. @param tells the largest relative bound that tells something.
Comparison compare(double a, double b, double allowed, double tells) {
  const double scale = std::max(std::fabs(a), std::fabs(b)), seen = std::fabs(a - b);
  if (!std::isfinite(seen)) return {seen, std::numeric_limits<double>::infinity(), Verdict::hidden, tells};
  if (scale == 0.0) return {0.0, 0.0, Verdict::right};
  Comparison c{seen / scale, allowed / scale, Verdict::right};
  c.tells = tells;
  if (allowed > tells * scale) c.verdict = Verdict::hidden;
  if (seen > allowed) c.verdict = Verdict::wrong;
  return c;
}

bool is_settled(const Comparison& comparison) {
  return comparison.verdict == Verdict::right || comparison.verdict == Verdict::kink;
}

}  // namespace

Verdict DirectionCheck::verdict() const {
  for (const Verdict worst : {Verdict::wrong, Verdict::hidden, Verdict::kink})
    if (with_tangent.verdict == worst || with_differences.verdict == worst) return worst;
  return Verdict::right;
}

bool DirectionCheck::is_between_sides() const {
  constexpr double near = 0.01;  // as a part of what lies between the sides
  if (with_differences.verdict != Verdict::kink || !has_kink(samples)) return false;
  const double ahead = derivative_ahead(samples).value, behind = derivative_behind(samples).value;
  const double part = (slope - behind) / (ahead - behind);
  return part > near && part < 1 - near;
}

GradientCheck::GradientCheck(CheckedProgram program, UnknownValues at, double objective, UnknownValues gradient,
                             UnknownValues around)
    : program_(std::move(program)),
      around_(std::move(around)),
      point_{std::move(at), std::move(gradient), objective, 0.0, {}} {
  noise_ = std::max(sampled_noise(point_.at), sampled_noise(moved(point_.at, noise_reach, around_)));
}

double GradientCheck::sampled_noise(const UnknownValues& from) const {
  const double spacing = apart(1e-10, program_.epsilon);
  constexpr int count = 5;
  std::vector<double> values;
  for (int i = 0; i < count; ++i)
    if (const auto value = if_it_runs([&] { return program_.objective(moved(from, i * spacing, around_)); }))
      values.push_back(*value);
  return values.size() == count ? noise_of(values) : 0.0;
}

/// @returns the point nearby, or null where a run fails there.
GradientCheck::Place* GradientCheck::nearby(std::size_t index) {
  while (nearby_.size() <= index) {
    Place place;
    place.away = away.at(nearby_.size());
    place.at = moved(point_.at, place.away, around_);
    nearby_.emplace_back();
    auto there = if_it_runs([&] { return program_.gradient(place.at); });
    if (!there) continue;
    std::tie(place.objective, place.gradient) = std::move(*there);
    nearby_.back() = std::move(place);
  }
  return nearby_[index] ? &*nearby_[index] : nullptr;
}

const std::vector<GradientCheck::Sample>& GradientCheck::samples(Place& place) const {
  const double distance = apart(1e-9, program_.epsilon);
  if (place.samples) return *place.samples;
  place.samples.emplace();
  for (const double scale : {1.1, 1.3, 1.7}) {  // no powers of two: products are rounded anew
    UnknownValues at = moved(place.at, distance * scale, around_);
    if (auto there = if_it_runs([&] { return program_.gradient(at); }))
      place.samples->push_back({std::move(at), std::move(there->second), scale});
  }
  return *place.samples;
}

/// What samples of the difference between tangent and adjoint allow. @param difference the one that was seen.
double GradientCheck::sampled_round_off(Place& place, const UnknownValues& direction, double difference) const {
  double least = difference, largest = difference;
  for (const Sample& sample : samples(place)) {
    const UnknownValues along = scaled(direction, sample.scale);
    const auto tangent = if_it_runs([&] { return program_.tangent(sample.at, along); });
    if (!tangent) continue;
    const double another = (*tangent - program_.dot(sample.gradient, along)) / sample.scale;
    least = std::min(least, another);
    largest = std::max(largest, another);
  }
  return 4.0 * std::max(4.0, std::sqrt(static_cast<double>(program_.steps))) * (largest - least);
}

/// What solvers allow that leave more than rounding. @param difference the one that was seen.
double GradientCheck::sampled_rest_of_solvers(const Place& place, const UnknownValues& direction,
                                              double difference) const {
  constexpr double more_than_grows = 30.0;  // they stop at a whole number of iterations, below their tolerance
  if (program_.solved_to == 0.0) return 0.0;
  double grows = 0.0;
  for (const double factor : {100.0, 1000.0}) {
    program_.loosen_solvers(factor);
    const auto another = if_it_runs([&] {
      const UnknownValues gradient = program_.gradient(place.at).second;
      return program_.tangent(place.at, direction) - program_.dot(gradient, direction);
    });
    program_.loosen_solvers(1.0);
    if (another) grows = std::max(grows, std::fabs(*another - difference) / factor);
  }
  return more_than_grows * grows;
}

Comparison GradientCheck::compare_with_tangent(Place& place, const UnknownValues& direction, double slope,
                                               double tangent) const {
  const double terms = program_.dot(magnitudes(place.gradient), magnitudes(direction));
  const double of_a_step = program_.epsilon + program_.solved_to,
               count = (2.0 * static_cast<double>(program_.steps) + 32.0) * program_.kicks;
  double allowed = count * of_a_step * std::max(terms, std::fabs(tangent));
  const double difference = tangent - slope;
  if (std::fabs(difference) > allowed)
    allowed = std::max(allowed, sampled_rest_of_solvers(place, direction, difference));
  if (std::fabs(difference) > allowed) allowed = std::max(allowed, sampled_round_off(place, direction, difference));
  const double beyond_doubles = of_a_step - std::numeric_limits<double>::epsilon();
  return compare(slope, tangent, allowed, std::max(largest_round_off, 2.0 * count * beyond_doubles));
}

void GradientCheck::compare_with_differences(const Place& place, const UnknownValues& direction, Look& look) const {
  DirectionCheck& check = look.check;
  const double size = std::max(std::fabs(check.slope), std::fabs(check.tangent));
  LineSamples samples{place.objective, 4.0 * noise_ + program_.epsilon * size, noise_reach, {}, {}, {}};
  const LineFunction function = [&](double e) {
    return if_it_runs([&] { return program_.objective(moved(place.at, e, direction)); });
  };
  check.samples = sample_line(function, samples, wanted_bound * size, largest_error(program_.epsilon) * size);
  check.remainders = remainder_order(check.samples, check.slope);
  const auto compared = [&](const DerivativeEstimate& estimate) {
    return compare(check.slope, estimate.value, estimate.bound + check.with_tangent.allowed * size,
                   largest_error(program_.epsilon));
  };
  check.with_differences = compared(best_derivative(check.samples));
  if (size == 0.0 && check.with_differences.verdict != Verdict::wrong)
    check.with_differences = {0.0, 0.0, changes(check.samples) ? Verdict::hidden : Verdict::right};
  const bool is_kink = has_kink(check.samples);
  if (check.with_differences.verdict != Verdict::wrong) {
    // Central differences tend to the mean of both sides, and so may the adjoint: sign(0) is 0.
    const bool agrees = size == 0.0 || check.with_differences.verdict == Verdict::right;
    if (is_kink && agrees) check.with_differences.verdict = Verdict::kink;
    return;
  }
  look.contradicts = !is_kink;
  for (const DerivativeEstimate& side : {derivative_ahead(check.samples), derivative_behind(check.samples)}) {
    const Comparison one = compared(side);
    if (!look.contradicts && one.verdict == Verdict::right)
      check.with_differences = {one.seen, one.allowed, Verdict::kink};
  }
}

GradientCheck::Look GradientCheck::look(Place& place, const UnknownValues& direction) const {
  Look look;
  DirectionCheck& check = look.check;
  check.slope = program_.dot(place.gradient, direction);
  check.tangent = program_.tangent(place.at, direction);
  check.with_tangent = compare_with_tangent(place, direction, check.slope, check.tangent);
  compare_with_differences(place, direction, look);
  check.with_tangent.away = check.with_differences.away = place.away;
  return look;
}

DirectionCheck GradientCheck::check(const UnknownValues& direction) {
  constexpr double slight = 1e-6;
  Look here = look(point_, direction);
  DirectionCheck& result = here.check;
  Comparison &tangent = result.with_tangent, &differences = result.with_differences;
  const bool has_kink = differences.verdict == Verdict::wrong && differences.seen > slight;
  std::optional<Comparison> contradiction;
  if (here.contradicts) contradiction = differences;
  for (std::size_t i = 0; i < away.size(); ++i) {
    if (tangent.verdict == Verdict::wrong || (is_settled(tangent) && is_settled(differences))) break;
    Place* const place = nearby(i);
    const auto there = place == nullptr ? std::nullopt : if_it_runs([&] { return look(*place, direction); });
    if (!there) continue;
    const Comparison &its_tangent = there->check.with_tangent, &its_differences = there->check.with_differences;
    if (!is_settled(tangent) && its_tangent.verdict != Verdict::hidden) tangent = its_tangent;
    if (!contradiction && there->contradicts) contradiction = its_differences;
    if (is_settled(differences) || its_differences.verdict != Verdict::right) continue;
    differences = its_differences;
    if (has_kink) differences.verdict = Verdict::kink;
  }
  if (is_settled(differences)) return result;
  if (contradiction) differences = *contradiction;
  differences.verdict = contradiction ? Verdict::wrong : Verdict::hidden;
  return result;
}

}  // namespace hindsight

// Codecs that a session chooses or tunes: lossless ones for time, the tolerance of lossy ones for the accepted error.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/error.hpp"
#include "src/program/session.hpp"

namespace hindsight {
namespace {

constexpr double aim = 0.4, least = 0.15;  // of the accepted error
constexpr int most_attempts = 8;
constexpr double coarsest = 0.25;  // tolerance

/// The error is proportional to the tolerance.
double next_tolerance(const LossyError& last) {
  constexpr double largest_change = 64.0, smallest_change = 1e-4;
  const double factor = last.measured > 0 ? aim * last.accepted / last.measured : largest_change;
  return std::min(coarsest, last.tolerance * std::clamp(factor, smallest_change, largest_change));
}

}  // namespace

/// When the case names no codec for the disk: takes the lossless one that the plan gains from, if any.
void Session::choose_codec() {
  constexpr double worth_a_look = 1.0;  // seconds of a gradient
  constexpr double worth_it = 0.9;      // of the time without
  const auto uses_disk = [&] { return plan_.request.capacities[Tier::disk] > 0; };
  if (case_.checkpoints.disk_codec.is_given || options_.only_plan || !options_.costs.empty() || plan_.is_open() ||
      comm_.any(plan_.seconds < worth_a_look || !uses_disk()))
    return;
  std::string best = "none", last = "none";
  OperationSeconds costs = inputs_.seconds;  // of the best
  double least = worth_it * comm_.max(plan_.seconds);
  for (const char* const kind : {"lz4", "zstd"}) {
    tiers_->set_disk_codec(last = kind);
    plan_again();
    const double seconds = comm_.max(plan_.seconds);
    if (seconds >= least || comm_.any(!uses_disk())) continue;
    least = seconds;
    best = kind;
    costs = inputs_.seconds;
  }
  if (best == last) return;
  tiers_->set_disk_codec(best);
  plan_again(&costs);
}

double Session::relative_difference(const UnknownValues& a, const UnknownValues& b) const {
  constexpr double next_to_nothing = 1e-9;
  std::vector<double> sizes, scales, differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    UnknownValues difference(a.size()), reference(a.size()), value(a.size());
    reference[i] = b[i];
    difference[i] = a[i];
    value[i] = simulation_->values()[i];
    for (std::size_t k = 0; k < a[i].size(); ++k) difference[i][k] -= b[i][k];
    sizes.push_back(std::sqrt(dot(reference, reference)));
    differences.push_back(std::sqrt(dot(difference, difference)));
    scales.push_back(std::sqrt(dot(value, value)));
  }
  double most = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < sizes.size(); ++i) most = std::max(most, sizes[i] * scales[i]);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double least = scales[i] > 0 ? next_to_nothing * most / scales[i] : 0.0;
    const double size = std::max(sizes[i], least);
    if (size > 0) largest = std::max(largest, differences[i] / size);
  }
  return largest;
}

/// Slow tiers with an accepted error, whether the plan uses them or not; the least of the errors.
std::vector<Tier> Session::tiers_with_accepted_error(double& accepted) const {
  std::vector<Tier> tiers;
  for (const Tier tier : {Tier::host, Tier::disk}) {
    const CaseCodec& coding = tier == Tier::host ? case_.checkpoints.host_codec : case_.checkpoints.disk_codec;
    if (!coding.accept) continue;
    tiers.push_back(tier);
    accepted = accepted > 0 ? std::min(accepted, *coding.accept) : *coding.accept;
  }
  return tiers;
}

/// The error of the gradient with a tolerance; infinite when states become impossible.
double Session::error_at(const std::vector<Tier>& tiers, double tolerance, const UnknownValues& exact) {
  for (const Tier tier : tiers) tiers_->set_tolerance(tier, tolerance);
  plan_again();
  try {
    return relative_difference(evaluate({}).gradient, exact);
  } catch (const NumericsError&) {
    return std::numeric_limits<double>::infinity();
  }
}

/// Finds the tolerance of lossy codecs that leads to a part of the accepted error, by comparison with the gradient of
/// checkpoints without codec.
void Session::calibrate(const std::vector<Tier>& tiers, double accepted) {
  LossyError last{accepted, 0.0, 0.0, std::min(0.1, 0.1 * accepted), 1};
  std::optional<LossyError> best;
  const bool is_tunable = std::all_of(tiers.begin(), tiers.end(), [&](Tier t) { return tiers_->is_tunable(t); });
  for (const Tier tier : tiers) tiers_->set_tolerance(tier, {});
  plan_again();
  const UnknownValues exact = evaluate({}).gradient;
  calibrated_norm_ = std::sqrt(dot(exact, exact));
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    last.measured = error_at(tiers, last.tolerance, exact);
    ++last.gradients;
    if (attempt == 0) last.predicted = last.measured;
    const bool is_good = last.measured <= last.accepted;
    if (is_good && (!best || last.measured > best->measured)) best = last;
    const bool is_used = std::any_of(tiers.begin(), tiers.end(), [&](Tier t) { return (*tiers_)[t] != nullptr; });
    if (!is_tunable || !is_used || (is_good && last.measured >= least * last.accepted)) break;
    const double next = next_tolerance(last);
    if (next == last.tolerance) break;
    last.tolerance = next;
    last.predicted = aim * last.accepted;
  }
  if (!best)
    throw InputError(case_.checkpoints.place,
                     fmt::format("checkpoints: the codec gives the gradient an error of {:.2g}, {:.2g} is accepted; a "
                                 "codec with a tolerance (quantised, zfp) or a lossless one can do better",
                                 last.measured, last.accepted));
  best->gradients = last.gradients + (lossy_error_ ? lossy_error_->gradients : 0);
  if (best->tolerance != last.tolerance) {
    for (const Tier tier : tiers) tiers_->set_tolerance(tier, best->tolerance);
    plan_again();
  }
  lossy_error_ = best;
}

Evaluation Session::gradient(const StateObserver& observer) {
  constexpr double shrunk = 0.1;  // the absolute error stays when gradients get smaller, so the relative one grows
  double accepted = 0.0;
  const std::vector<Tier> tiers = tiers_ ? tiers_with_accepted_error(accepted) : std::vector<Tier>{};
  if (!tiers.empty() && !lossy_error_) calibrate(tiers, accepted);
  Evaluation evaluation = evaluate(observer);
  if (tiers.empty() || std::sqrt(dot(evaluation.gradient, evaluation.gradient)) >= shrunk * calibrated_norm_)
    return evaluation;
  calibrate(tiers, accepted);
  return evaluate(observer);
}

}  // namespace hindsight

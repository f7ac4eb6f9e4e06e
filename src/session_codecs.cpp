// Codecs that a session chooses or tunes: lossless ones for time, the tolerance of lossy ones for the accepted error.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/error.hpp"
#include "src/session.hpp"

namespace hindsight {
namespace {

constexpr double aim = 0.4, least = 0.15;  // of the accepted error
constexpr int most_attempts = 8;
constexpr double coarsest = 0.25;  // tolerance

/// What is left to tiers whose tolerance is sought, beside the error of the others.
struct Room {
  double floor = 0.0, accepted = 0.0;
  double error() const { return accepted - floor; }
  bool is_good(double measured) const { return measured <= accepted; }
  bool is_used(double measured) const { return measured >= floor + least * error(); }
  double aimed_at() const { return floor + aim * error(); }
};

/// Errors add up, and that of a tier is proportional to its tolerance.
double next_tolerance(double tolerance, double measured, const Room& room) {
  constexpr double largest_change = 64.0, smallest_change = 1e-4;
  const double own = measured - room.floor;
  const double factor = own > 0 ? aim * room.error() / own : largest_change;
  return std::min(coarsest, tolerance * std::clamp(factor, smallest_change, largest_change));
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
  std::string best = "none";
  OperationSeconds costs = inputs_.seconds;  // of the best
  double least = worth_it * comm_.max(plan_.seconds);
  for (const char* const kind : {"lz4", "zstd"}) {
    tiers_->set_disk_codec(kind);
    does_without_disk_ = false;
    count_units();
    if (!has_working_memory(Tier::host)) continue;
    try {
      plan_again();
    } catch (const InputError&) {  // its coders leave no memory for a checkpoint
      continue;
    }
    const double seconds = comm_.max(plan_.seconds);
    if (seconds >= least || comm_.any(!uses_disk())) continue;
    least = seconds;
    best = kind;
    costs = inputs_.seconds;
  }
  if (best == tiers_->disk_codec()) return;
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

LossyTiers Session::lossy_tiers() const {
  LossyTiers tiers;
  for (const Tier tier : {Tier::host, Tier::disk}) {
    if (!tiers_ || !tiers_->is_lossy(tier)) continue;
    (tiers_->is_tunable(tier) ? tiers.tuned : tiers.fixed).push_back(tier);
    const CaseCodec& coding = tier == Tier::host ? case_.checkpoints.host_codec : case_.checkpoints.disk_codec;
    if (coding.accept) tiers.accepted = tiers.accepted > 0 ? std::min(tiers.accepted, *coding.accept) : *coding.accept;
  }
  return tiers;
}

/// With checkpoints as they are.
UnknownValues Session::exact_gradient(const LossyTiers& tiers) {
  for (const auto* group : {&tiers.tuned, &tiers.fixed})
    for (const Tier tier : *group) tiers_->set_tolerance(tier, {});
  plan_again();
  return evaluate({}).gradient;
}

/// The error of the gradient with all tiers as they will be, those whose tolerance is sought with this one (none:
/// without codec); infinite when states become impossible.
double Session::error_at(const LossyTiers& tiers, std::optional<double> tolerance, const UnknownValues& exact) {
  for (const Tier tier : tiers.tuned) tiers_->set_tolerance(tier, tolerance);
  for (const Tier tier : tiers.fixed) tiers_->restore_codec(tier);
  plan_again();
  foresee_sizes();
  try {
    return relative_difference(evaluate({}).gradient, exact);
  } catch (const NumericsError&) {
    return std::numeric_limits<double>::infinity();
  }
}

void Session::refuse_fixed_tiers(const LossyTiers& tiers, double error) const {
  std::string names;
  for (const Tier tier : tiers.fixed) names += (names.empty() ? "checkpoints." : " and checkpoints.") + to_text(tier);
  throw InputError(
      case_.checkpoints.place,
      fmt::format("checkpoints: what the case fixes at {} alone gives the gradient an error of {:.2g}, {:.2g} is "
                  "accepted of all tiers together; make its tolerance smaller, or give it `accept` instead",
                  names, error, tiers.accepted));
}

/// Finds the tolerance that leads to a part of the accepted error, by comparison with the gradient of checkpoints
/// without lossy codecs. What a tier with a tolerance of its own adds is part of the error.
void Session::calibrate(const LossyTiers& tiers) {
  const double first = lossy_error_ ? lossy_error_->tolerance : std::min(0.1, 0.1 * tiers.accepted);
  LossyError last{tiers.accepted, 0.0, 0.0, first, 1 + (lossy_error_ ? lossy_error_->gradients : 0)};
  is_calibrating_ = true;
  if (options_.journal != nullptr) options_.journal->drop_sweep();
  const UnknownValues exact = exact_gradient(tiers);
  Room room{0.0, tiers.accepted};
  if (!tiers.fixed.empty() && !tiers.tuned.empty()) {
    room.floor = error_at(tiers, {}, exact);
    ++last.gradients;
    if (!room.is_good(room.floor)) refuse_fixed_tiers(tiers, room.floor);
  }
  std::optional<LossyError> best;
  OperationSeconds costs;  // with the best
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    last.measured = error_at(tiers, last.tolerance, exact);
    ++last.gradients;
    if (attempt == 0) last.predicted = last.measured;
    if (room.is_good(last.measured) && (!best || last.measured > best->measured)) {
      best = last;
      costs = inputs_.seconds;
    }
    const bool is_used =
        std::any_of(tiers.tuned.begin(), tiers.tuned.end(), [&](Tier t) { return (*tiers_)[t] != nullptr; });
    if (!is_used || (room.is_good(last.measured) && room.is_used(last.measured))) break;
    const double next = next_tolerance(last.tolerance, last.measured, room);
    if (next == last.tolerance) break;
    last.tolerance = next;
    last.predicted = room.aimed_at();
  }
  if (!best)
    throw InputError(
        case_.checkpoints.place,
        fmt::format("checkpoints: the codec gives the gradient an error of {:.2g}, {:.2g} is accepted; a "
                    "smaller tolerance, a codec with a tolerance (quantised, zfp) or a lossless one can do better",
                    last.measured, last.accepted));
  best->gradients = last.gradients;
  if (best->tolerance != last.tolerance) {  // with the same plan: it is part of what was measured
    for (const Tier tier : tiers.tuned) tiers_->set_tolerance(tier, best->tolerance);
    plan_again(&costs);
  }
  lossy_error_ = best;
  calibrated_norm_ = std::sqrt(dot(exact, exact));
  has_shrunk_ = is_calibrating_ = false;
}

Evaluation Session::gradient_now(const StateObserver& observer) {
  constexpr double fallen = 0.1;  // the absolute error stays when gradients get smaller, so the relative one grows
  const LossyTiers tiers = lossy_tiers();
  if (tiers.accepted == 0.0) {
    if (tiers_ && !goes_on()) foresee_sizes();
    return evaluate(observer);
  }
  if (!lossy_error_) calibrate(tiers);
  drift_.settle();  // another plan would have another error
  Evaluation evaluation = evaluate(observer);
  const double norm = std::sqrt(dot(evaluation.gradient, evaluation.gradient));
  if (norm >= fallen * calibrated_norm_ && !has_shrunk_) return evaluation;
  calibrate(tiers);
  drift_.settle();
  return evaluate(observer);
}

}  // namespace hindsight

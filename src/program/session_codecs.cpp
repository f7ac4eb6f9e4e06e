// Codecs that a session chooses or tunes: lossless ones for time, the tolerance of lossy ones for the accepted error.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/error.hpp"
#include "src/program/session.hpp"

namespace hindsight {
namespace {

constexpr double aim = 0.4, least = 0.15;  // of the accepted error
constexpr int most_attempts = 8;
constexpr double coarsest = 0.25;  // tolerance

/// The error is proportional to the tolerance.
double next_tolerance(const LossyError& last) {
  constexpr double largest_change = 64.0, smallest_change = 1e-6;
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
  std::string best = "none";
  double least = worth_it * comm_.max(plan_.seconds);
  for (const char* const kind : {"lz4", "zstd"}) {
    tiers_->set_disk_codec(kind);
    plan_again();
    const double seconds = comm_.max(plan_.seconds);
    if (seconds >= least || comm_.any(!uses_disk())) continue;
    least = seconds;
    best = kind;
  }
  tiers_->set_disk_codec(best);
  plan_again();
}

double Session::relative_difference(const UnknownValues& a, const UnknownValues& b) const {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    UnknownValues difference(a.size()), reference(a.size());
    reference[i] = b[i];
    difference[i] = a[i];
    for (std::size_t k = 0; k < a[i].size(); ++k) difference[i][k] -= b[i][k];
    const double size = std::sqrt(dot(reference, reference));
    if (size > 0) largest = std::max(largest, std::sqrt(dot(difference, difference)) / size);
  }
  return largest;
}

/// Open tiers with an accepted error; the least of these.
std::vector<Tier> Session::tiers_with_accepted_error(double& accepted) const {
  std::vector<Tier> tiers;
  for (const Tier tier : {Tier::host, Tier::disk}) {
    const CaseCodec& coding = tier == Tier::host ? case_.checkpoints.host_codec : case_.checkpoints.disk_codec;
    if (!coding.accept || (*tiers_)[tier] == nullptr) continue;
    tiers.push_back(tier);
    accepted = accepted > 0 ? std::min(accepted, *coding.accept) : *coding.accept;
  }
  return tiers;
}

/// Finds the tolerance of lossy codecs that leads to a part of the accepted error, by comparison with the gradient of
/// checkpoints without codec. Once per session.
void Session::calibrate() {
  LossyError result;
  const std::vector<Tier> tiers = tiers_with_accepted_error(result.accepted);
  if (tiers.empty() || lossy_error_) return;
  const bool is_tunable = std::all_of(tiers.begin(), tiers.end(), [&](Tier t) { return tiers_->is_tunable(t); });
  const auto gradient_at = [&](std::optional<double> tolerance) {
    for (const Tier tier : tiers) tiers_->set_tolerance(tier, tolerance);
    plan_again();
    ++result.gradients;
    return evaluate({}).gradient;
  };
  const UnknownValues exact = gradient_at({});
  result.tolerance = std::min(0.1, 0.1 * result.accepted);
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    result.measured = relative_difference(gradient_at(result.tolerance), exact);
    if (attempt == 0) result.predicted = result.measured;
    const bool is_good = result.measured <= result.accepted, is_used = (*tiers_)[tiers[0]] != nullptr;
    if (!is_tunable || !is_used || (is_good && result.measured >= least * result.accepted)) break;
    const double next = next_tolerance(result);
    if (next == result.tolerance) break;
    result.tolerance = next;
    result.predicted = aim * result.accepted;
  }
  if (!(result.measured <= result.accepted))
    throw InputError(case_.checkpoints.place,
                     fmt::format("checkpoints: the codec gives the gradient an error of {:.2g}, {:.2g} is accepted; a "
                                 "codec with a tolerance (quantised, zfp) or a lossless one can do better",
                                 result.measured, result.accepted));
  lossy_error_ = result;
}

}  // namespace hindsight

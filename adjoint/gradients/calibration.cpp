#include "adjoint/gradients/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "adjoint/problem/unknown_sums.hpp"
#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {

Calibration::Calibration(PlannedCheckpoints& checkpoints, const Simulation& simulation,
                         const CheckpointOptions& options)
    : checkpoints_(checkpoints), simulation_(simulation), options_(options) {
  const SlowTiers& tiers = checkpoints.tiers();
  for (const Tier tier : {Tier::host, Tier::disk}) {
    if (!tiers.is_lossy(tier)) continue;
    (tiers.is_tunable(tier) ? tuned_ : fixed_).push_back(tier);
    const std::optional<double>& accept = options.codec(tier).accept;
    if (accept) accepted_ = accepted_ > 0 ? std::min(accepted_, *accept) : *accept;
  }
}

double Calibration::norm(const UnknownValues& gradient) const {
  return std::sqrt(dot(simulation_, gradient, gradient));
}

/// With checkpoints as they are.
UnknownValues Calibration::exact_gradient(const Evaluate& evaluate) {
  for (const auto* group : {&tuned_, &fixed_})
    for (const Tier tier : *group) checkpoints_.tiers().set_tolerance(tier, {});
  checkpoints_.plan_freely();
  return evaluate();
}

/// The error of the gradient with all tiers as they will be, those whose tolerance is sought with this one (none:
/// without codec); infinite when states become impossible.
double Calibration::error_at(std::optional<double> tolerance, const UnknownValues& exact, const Evaluate& evaluate,
                             const std::function<void()>& between) {
  for (const Tier tier : tuned_) checkpoints_.tiers().set_tolerance(tier, tolerance);
  for (const Tier tier : fixed_) checkpoints_.tiers().restore_codec(tier);
  checkpoints_.plan_again();
  checkpoints_.foresee_sizes(between);
  try {
    return relative_difference(simulation_, evaluate(), exact);
  } catch (const NumericsError&) {
    return std::numeric_limits<double>::infinity();
  }
}

/// Whether any tier whose tolerance is sought is open.
bool Calibration::is_used() const {
  const SlowTiers& tiers = checkpoints_.tiers();
  return std::any_of(tuned_.begin(), tuned_.end(), [&](Tier tier) { return tiers[tier] != nullptr; });
}

void Calibration::refuse_fixed_tiers(double error) const {
  std::string names;
  for (const Tier tier : fixed_) names += (names.empty() ? "checkpoints." : " and checkpoints.") + to_text(tier);
  throw InputError(options_.place,
                   fmt::format("checkpoints: what the case fixes at {} alone gives the gradient an error of {:.2g}, "
                               "{:.2g} is accepted of all tiers together; make its tolerance smaller, or give it "
                               "`accept` instead",
                               names, error, accepted_));
}

void Calibration::refuse(double measured) const {
  throw InputError(options_.place,
                   fmt::format("checkpoints: the codec gives the gradient an error of {:.2g}, {:.2g} is accepted; a "
                               "smaller tolerance, a codec with a tolerance ({}) or a lossless one can do better",
                               measured, accepted_, join(codec_names(&CodecKind::has_tolerance))));
}

/// As long as it lives.
class Calibration::UnderWay {
 public:
  explicit UnderWay(Calibration& calibration) : calibration_(calibration) { calibration.is_under_way_ = true; }
  ~UnderWay() { calibration_.is_under_way_ = false; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  Calibration& calibration_;
};

void Calibration::calibrate(const Evaluate& evaluate, const std::function<void()>& between) {
  const double first = error_ ? error_->tolerance : std::min(0.1, 0.1 * accepted_);
  LossyError last{accepted_, 0.0, 0.0, first, 1 + (error_ ? error_->gradients : 0)};
  error_.reset();
  const UnderWay under_way(*this);
  const UnknownValues exact = exact_gradient(evaluate);
  double floor = 0.0;
  if (!fixed_.empty() && !tuned_.empty()) {
    floor = error_at({}, exact, evaluate, between);
    ++last.gradients;
    if (floor > accepted_) refuse_fixed_tiers(floor);
  }
  std::optional<LossyError> best;
  OperationSeconds costs;  // with the best
  ToleranceSearch search(accepted_, floor, first);
  while (const auto tolerance = search.attempt()) {
    last.tolerance = *tolerance;
    last.measured = error_at(tolerance, exact, evaluate, between);
    last.predicted = search.predicted().value_or(last.measured);
    ++last.gradients;
    if (!search.saw(last.measured, is_used())) continue;
    best = last;
    costs = checkpoints_.inputs().seconds;
  }
  if (!best) refuse(last.measured);
  best->gradients = last.gradients;
  if (best->tolerance != last.tolerance) {  // with the same plan: it is part of what was measured
    for (const Tier tier : tuned_) checkpoints_.tiers().set_tolerance(tier, best->tolerance);
    checkpoints_.plan_again(costs);
  }
  error_ = best;
  norm_ = norm(exact);
  has_shrunk_ = false;
}

bool Calibration::is_outdated(const UnknownValues& gradient) const {
  constexpr double fallen = 0.1;  // the absolute error stays when gradients get smaller, so the relative one grows
  return norm(gradient) < fallen * norm_ || has_shrunk_;
}

void Calibration::save(ArchiveWriter& to) const {
  const LossyError lossy = error_.value_or(LossyError{});
  to.begin("lossy");
  to.write(error_.has_value());
  to.write(lossy.accepted);
  to.write(lossy.predicted);
  to.write(lossy.measured);
  to.write(lossy.tolerance);
  to.write(lossy.gradients);
  to.write(norm_);
  to.write(has_shrunk_);
  to.end();
}

void Calibration::restore(ArchiveReader& from) {
  LossyError lossy;
  from.begin("lossy");
  const bool is_known = from.get<bool>();
  from.read(lossy.accepted);
  from.read(lossy.predicted);
  from.read(lossy.measured);
  from.read(lossy.tolerance);
  from.read(lossy.gradients);
  from.read(norm_);
  from.read(has_shrunk_);
  from.end();
  if (!is_known) return;
  for (const Tier tier : tuned_) checkpoints_.tiers().set_tolerance(tier, lossy.tolerance);
  error_ = lossy;
}

}  // namespace hindsight

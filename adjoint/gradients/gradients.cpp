#include "adjoint/gradients/gradients.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/backends.hpp"
#include "runtime/error.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {
namespace {

/// "NAME" or "NAME or NAME": those that report a device, if there is one.
std::string device_backends() {
  std::string names;
  for (const Backend* const backend : backends())
    if (backend->report()) names += (names.empty() ? "" : " or ") + backend->name();
  return names;
}

void refuse_device_budget(const std::optional<TierBudget>& budget, const Machine& machine) {
  if (!budget || !machine.is_host()) return;
  throw InputError(budget->place,
                   "checkpoints.device: this run computes on the host and has no device memory; remove the key, or "
                   "compute on a device (--backend " +
                       device_backends() + ")");
}

}  // namespace

Gradients::Gradients(SimulationSpec spec, const Communicator& comm, GradientOptions options)
    : Gradients(std::make_shared<Simulation>(std::move(spec), comm, Simulation::Wants{.adjoint = true}), comm,
                std::move(options)) {}

Gradients::Gradients(std::shared_ptr<Simulation> simulation, const Communicator& comm, GradientOptions options)
    : simulation_(std::move(simulation)), comm_(comm), options_(std::move(options)) {
  const CheckpointOptions& checkpoints = options_.checkpoints;
  refuse_device_budget(checkpoints.device, simulation_->machine());
  plan_in_budget([&] {
    const Warn warn = [this](const std::string& text) { this->warn(text); };
    checkpoints_ = std::make_unique<PlannedCheckpoints>(*simulation_, comm_, options_, warn);
    calibration_ = std::make_unique<Calibration>(*checkpoints_, *simulation_, checkpoints);
    const std::string of_budget = checkpoints_->warning_of_budget();
    if (!of_budget.empty()) warn(of_budget);
    warnings_of_budget_ = of_budget.empty() ? 0 : 1;
    make_ready();
  });
}

/// What is refused is so at the budget's place, unless it was found then that less is free than was said.
void Gradients::plan_in_budget(const std::function<void()>& plan) {
  const CheckpointOptions& checkpoints = options_.checkpoints;
  try {
    plan();
  } catch (const InputError& error) {
    if (warnings_.size() > warnings_of_budget_) throw ResourceError(error.what());
    throw InputError(checkpoints.host ? checkpoints.host->place : checkpoints.place, error.what());
  }
}

void Gradients::plan_alike(const OperationSeconds& known, const std::string& disk_codec) {
  plan_in_budget([&] { checkpoints_->plan_alike(known, disk_codec); });
}

Gradients::~Gradients() {
  if (is_attached_) options_.keeper->detach(options_.name);
}

/// What is refused leaves nothing behind.
void Gradients::make_ready() {
  GradientKeeper* const keeper = options_.keeper;
  try {
    require_memory(checkpoints_->inputs());
    is_restored_ = restore();
    if (!is_restored_) {
      drift_.settle();
      if (options_.known) {
        checkpoints_->plan_again(*options_.known);
      } else {
        checkpoints_->plan_measured();
        checkpoints_->choose_disk_codec();
      }
    }
  } catch (...) {
    if (keeper == nullptr || !keeper->is_resumed()) discard();
    throw;
  }
  if (keeper == nullptr) return;
  keeper->attach(options_.name, [this](ArchiveWriter& to) {
    checkpoints_->save(to);
    calibration_->save(to);
    to.write(walked_.has_value());
    to.write(walked_.value_or(0.0));
  });
  is_attached_ = true;
}

/// Goes on with the plan of the process before. @returns false when there is none, or when it cannot be carried out
/// here; a sweep that was kept begins again then.
bool Gradients::restore() {
  GradientKeeper* const keeper = options_.keeper;
  CheckpointPlan plan;
  const auto read = [&](ArchiveReader& from) {
    plan = checkpoints_->read(from, keeper->moves());
    calibration_->restore(from);
    const bool has_walked = from.get<bool>();
    const auto drift = from.get<double>();
    if (has_walked) walked_ = drift;
  };
  if (keeper == nullptr || !keeper->read_attached(options_.name, read)) return false;
  if (checkpoints_->adopt(std::move(plan))) return true;
  if (keeper->has_sweep()) warn("checkpoints do not fit here as they were planned; the gradient begins again");
  keeper->drop_sweep();
  calibration_->forget();  // it was measured on the plan
  return false;
}

void Gradients::pause() {
  if (options_.keeper != nullptr) options_.keeper->pause();
}

void Gradients::calibrate() {
  if (options_.keeper != nullptr) options_.keeper->drop_sweep();
  calibration_->calibrate([this] { return evaluate_once({}).gradient; }, [this] { pause(); });
}

Evaluation Gradients::evaluate(const StateObserver& observer) {
  if (!calibration_->is_asked_for()) {
    if (!goes_on()) checkpoints_->foresee_sizes([this] { pause(); });
    return evaluate_once(observer);
  }
  if (!calibration_->error()) calibrate();
  drift_.settle();  // another plan would have another error
  Evaluation evaluation = evaluate_once(observer);
  if (!calibration_->is_outdated(evaluation.gradient)) return evaluation;
  calibrate();
  drift_.settle();
  return evaluate_once(observer);
}

std::int64_t Gradients::steps_of_evaluation() const {
  const std::int64_t plain = std::max<std::int64_t>(0, plan().schedule.predicted.plain);
  return simulation_->steps_of(plain) + 2 * simulation_->time().steps();
}

/// With checkpoints as they are planned, planned again where costs have changed.
Evaluation Gradients::evaluate_once(const StateObserver& observer) {
  GradientKeeper* const keeper = options_.keeper;
  const bool is_lossless = checkpoints_->tiers().is_lossless();
  const bool is_exact = is_lossless && !plan().kind->walks_back;
  if (drift_.wants_measuring() && is_exact) {  // another plan would lose other bits in a codec, or round otherwise
    if (keeper != nullptr) keeper->pause_now();
    drift_.settle();
    checkpoints_->plan_measured();
  }
  if (steps_before_ > 0 && !this->goes_on() && is_lossless) checkpoints_->expect_steps(steps_before_);
  if (options_.watch.begins) options_.watch.begins(steps_of_evaluation());
  simulation_->memory()->restart_peak();
  if (const auto& device = simulation_->machine().account()) device->restart_peak();
  const bool goes_on = this->goes_on();
  if (keeper != nullptr) {
    keeper->keep_sweeps(checkpoints_->tiers().is_lossless() && !calibration_->is_under_way());
    keeper->expect_parts(checkpoints_->inputs().state_bytes);
  }
  double seconds = 0.0;
  GradientResult result = sweep(observer, seconds);
  if (options_.watch.ends) options_.watch.ends();
  steps_before_ = plan().is_open() ? simulation_->time().steps() : 0;
  report_damage(result.counts);
  if (options_.costs.empty() && plan().is_automatic && !plan().is_open() && !goes_on)
    drift_.see(comm_.max(seconds), plan().seconds);
  if (keeper != nullptr) seconds += keeper->seconds_before();
  Evaluation evaluation{result.objective, std::move(result.gradient), result.counts, seconds};
  if (options_.penalty) evaluation.objective += options_.penalty(evaluation.gradient);
  for (std::size_t i = 0; options_.penalty && i < evaluation.gradient.size(); ++i)
    evaluation.gradient[i] = simulation_->moving(i).only(std::move(evaluation.gradient[i]));
  return evaluation;
}

/// Forward and backward, again with fewer slots when a tier turns out full, or without walking back when that drifts.
/// @param seconds that the last time took.
GradientResult Gradients::sweep(const StateObserver& observer, double& seconds) {
  GradientKeeper* const keeper = options_.keeper;
  while (true) {
    const Stopwatch watch;
    try {
      const SweepOptions options{observer, options_.watch.progress, keeper,
                                 keeper != nullptr ? keeper->kept_sweep() : nullptr};
      GradientResult result = simulation_->gradient(plan().schedule, plan().kind->is_online, options);
      seconds = watch.seconds();
      if (plan().kind->walks_back) walked_ = std::max(walked_.value_or(0.0), result.drift);
      return result;
    } catch (const TierIsFull& full) {
      calibration_->tier_has_shrunk();
      checkpoints_->shrink(full, watch.seconds());
    } catch (const WalkedTooFar& drifted) {
      checkpoints_->stop_walking_back(drifted.what(), watch.seconds());
    }
  }
}

std::int64_t Gradients::peak_bytes(Tier tier) const {
  if (tier == Tier::host) return simulation_->memory()->peak();
  if (tier == checkpoints_->inputs().memory()) return simulation_->machine().account()->peak();
  const SlotTier* const slow = checkpoints().tiers()[tier];
  return slow != nullptr ? slow->peak_bytes() : 0;
}

void Gradients::warn(const std::string& text) {
  warnings_.push_back(text);
  if (options_.watch.warns) options_.watch.warns(text);
}

void Gradients::report_damage(const DriverCounts& counts) {
  if (counts.repaired == 0) return;
  if (options_.keeper != nullptr && options_.keeper->is_resumed())
    return warn(fmt::format(
        "{} checkpoints that were gone with an earlier process, or damaged, were computed again in {} steps",
        counts.repaired, counts.repairing_steps));
  std::int64_t reads = 0;
  std::string problem;
  for (const SlotTier* tier : checkpoints_->tiers().all()) {
    if (tier == nullptr) continue;
    reads += tier->traffic().reads + tier->traffic().damaged;
    if (!tier->problem().empty()) problem = tier->problem();
  }
  warn(fmt::format("{} of {} checkpoints could not be read back and were computed again in {} steps; the last: {}",
                   counts.repaired, comm_.max(reads), counts.repairing_steps, comm_.first_text(problem)));
}

}  // namespace hindsight

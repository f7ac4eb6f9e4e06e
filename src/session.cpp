#include "src/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <tuple>

#include "runtime/backends.hpp"
#include "runtime/error.hpp"
#include "runtime/ordered_sum.hpp"
#include "src/notes.hpp"

namespace hindsight {
namespace {

/// Sum over the owned cells of all ranks, in global order.
template <class Summand>
double sum_over_cells(const Grid& grid, Summand summand) {
  const std::int64_t row_length = grid.dimensions() <= 1 ? 1 : grid.cells()[0];
  std::vector<double> rows(static_cast<std::size_t>(grid.local_rows()), 0.0);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < row_length; ++i)
      rows[r] += summand(r * static_cast<std::size_t>(row_length) + static_cast<std::size_t>(i));
  return grid_sum(grid, rows.data());
}

/// "NAME" or "NAME or NAME": those that report a device, if there is one.
std::string device_backends() {
  std::string names;
  for (const Backend* const backend : backends())
    if (backend->report()) names += (names.empty() ? "" : " or ") + backend->name();
  return names;
}

}  // namespace

Session::Session(Case c, const Communicator& comm, bool adjoint, bool tangent, bool quiet, PlanOptions options)
    : case_(std::move(c)), comm_(comm), options_(std::move(options)), progress_(!quiet, comm.rank()) {
  const auto& checkpoints = case_.checkpoints;
  if (adjoint && checkpoints.device && options_.machine->is_host())
    throw InputError(checkpoints.device->place,
                     "checkpoints.device: this run computes on the host and has no device memory; remove the key, or "
                     "compute on a device (--backend " +
                         device_backends() + ")");
  simulation_ = std::make_unique<Simulation>(read_problem(case_), comm,
                                             Simulation::Wants{adjoint, tangent, options_.machine.get()});
  notes_ = notes_on(case_, *simulation_);
  for (const std::string& note : notes_) progress_.warn(note);
  give_back_freed();  // tables that were read
  resident_at_start_ = resident();
  counted_at_start_ = simulation_->memory()->used();
  if (options_.journal != nullptr) {
    options_.journal->bind(simulation_->grid());
  }
  if (options_.journal != nullptr || options_.only_plan)  // it is logged too
    simulation_->memory()->take(simulation_->kept_bytes() + 2 * simulation_->gradient_bytes());
  if (!adjoint) return;
  try {
    tiers_ = std::make_unique<SlowTiers>(case_, comm_, options_.disk, *simulation_,
                                         [this](const std::string& text) { warn(text); });
    make_ready();
  } catch (const InputError& error) {
    if (warnings_.size() > (is_warned_of_budget_ ? 1U : 0U))
      throw ResourceError(error.what());  // it did not fit what was found free
    throw InputError(checkpoints.host ? checkpoints.host->place : checkpoints.place, error.what());
  }
}

/// A run that is refused leaves nothing behind.
void Session::make_ready() {
  try {
    read_budgets();
    is_warned_of_budget_ = warn_of_host_budget();
    require_memory(inputs_);
    if (!restore_plan()) {
      plan_measured();
      choose_codec();
    }
  } catch (...) {
    if (options_.journal == nullptr || !options_.journal->is_resumed()) tiers_->close(Tier::disk);
    throw;
  }
  if (options_.journal != nullptr) options_.journal->attach("plan", [this](ArchiveWriter& to) { save_plan(to); });
}

Session::~Session() {
  if (has_failed_ && tiers_) tiers_->close(Tier::disk);
}

ResidentBytes Session::resident_bytes() const {
  const Resident &start = resident_at_start_, end = resident();
  const std::int64_t own = start.now - start.files - counted_at_start_;
  return {comm_.max(start.now), comm_.max(end.most), comm_.max(end.most - end.files - own)};
}

std::int64_t Session::epoch_bytes() const {
  return simulation_->kept_bytes() + (tiers_ ? tiers_->places_bytes() : 0);
}

double Session::add_priors(UnknownValues* gradient) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < case_.unknowns.size(); ++i) {
    if (!case_.assumptions[i].prior) continue;
    const Prior& prior = *case_.assumptions[i].prior;
    const std::vector<double>& values = simulation_->values()[i];
    const auto distance = [&](std::size_t k) { return (values[k] - prior.mean) / prior.sd; };
    if (simulation_->spec().unknowns[i].is_field()) {
      sum += sum_over_cells(simulation_->grid(), [&](std::size_t k) { return 0.5 * distance(k) * distance(k); });
    } else {
      for (std::size_t k = 0; k < values.size(); ++k) sum += 0.5 * distance(k) * distance(k);
    }
    if (gradient != nullptr)
      for (std::size_t k = 0; k < values.size(); ++k) (*gradient)[i][k] += distance(k) / prior.sd;
  }
  return sum;
}

double Session::objective(const StateObserver& observer) {
  const std::int64_t steps = simulation_->time().steps();
  return once("forward", steps,
              [&](Logged& result) {
                progress_.phase("forward", steps);
                if (options_.journal != nullptr) options_.journal->keep_sweeps(true);
                result.evaluation.objective = simulation_->run(
                    watched(observer, [&](std::int64_t done, std::int64_t) { progress_.update(done); }));
                progress_.finish();
                result.evaluation.objective += add_priors(nullptr);
              })
      .evaluation.objective;
}

Evaluation Session::gradient(const StateObserver& observer) {
  const std::int64_t plain = std::max<std::int64_t>(0, plan_.schedule.predicted.plain);
  return once("gradient", plain + 2 * simulation_->time().steps(),
              [&](Logged& result) { result.evaluation = gradient_now(observer); })
      .evaluation;
}

/// With a sweep that the journal has the begin of.
bool Session::goes_on() const {
  return options_.journal != nullptr && options_.journal->has_sweep();
}

Evaluation Session::evaluate(const StateObserver& observer) {
  // Another plan would lose other bits in a codec.
  if (drift_.wants_measuring() && tiers_->is_lossless()) {
    if (options_.journal != nullptr) options_.journal->pause_now();
    plan_measured();
  }
  const std::int64_t plain = std::max<std::int64_t>(0, plan_.schedule.predicted.plain);
  progress_.phase("gradient", plain + 2 * simulation_->time().steps());
  simulation_->memory()->restart_peak();
  if (const auto& device = simulation_->machine().account()) device->restart_peak();
  const auto progress = [&](std::int64_t forward, std::int64_t reversed) { progress_.update(forward + reversed); };
  const bool goes_on = this->goes_on();
  if (options_.journal != nullptr) {
    options_.journal->keep_sweeps(tiers_->is_lossless() && !is_calibrating_);
    options_.journal->expect_parts(inputs_.state_bytes);
  }
  GradientResult result;
  double seconds = 0.0;
  for (bool is_done = false; !is_done;) {
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    try {
      result = simulation_->gradient(plan_.schedule, plan_.kind->is_online, watched(observer, progress));
      is_done = true;
    } catch (const TierIsFull& full) {
      shrink(full, elapsed());
    }
    seconds = elapsed();
  }
  progress_.finish();
  report_damage(result.counts);
  if (options_.costs.empty() && plan_.is_automatic && !plan_.is_open() && !goes_on)
    drift_.see(comm_.max(seconds), plan_.seconds);
  if (options_.journal != nullptr) seconds += options_.journal->seconds_before();
  Evaluation evaluation{result.objective, std::move(result.gradient), result.counts, seconds};
  evaluation.objective += add_priors(&evaluation.gradient);
  return evaluation;
}

void Session::warn(const std::string& text) {
  warnings_.push_back(text);
  progress_.warn(text);
}

void Session::report_damage(const DriverCounts& counts) {
  if (counts.repaired == 0) return;
  if (options_.journal != nullptr && options_.journal->is_resumed())
    return warn(fmt::format(
        "{} checkpoints that were gone with an earlier process, or damaged, were computed again in {} steps",
        counts.repaired, counts.repairing_steps));
  std::int64_t reads = 0;
  std::string problem;
  for (const SlotTier* tier : tiers_->all()) {
    if (tier == nullptr) continue;
    reads += tier->traffic().reads + tier->traffic().damaged;
    if (!tier->problem().empty()) problem = tier->problem();
  }
  warn(fmt::format("{} of {} checkpoints could not be read back and were computed again in {} steps; the last: {}",
                   counts.repaired, comm_.max(reads), counts.repairing_steps, comm_.first_text(problem)));
}

std::pair<double, double> Session::tangent(const UnknownValues& direction) {
  const Logged result = once("tangent", simulation_->time().steps(), [&](Logged& now) {
    if (options_.journal != nullptr) options_.journal->keep_sweeps(true);
    std::tie(now.evaluation.objective, now.derivative) =
        simulation_->tangent(direction, watched({}, [](std::int64_t, std::int64_t) {}));
    UnknownValues prior_gradient;
    for (const auto& values : simulation_->values()) prior_gradient.emplace_back(values.size(), 0.0);
    now.evaluation.objective += add_priors(&prior_gradient);
    now.derivative += dot(prior_gradient, direction);
  });
  return {result.evaluation.objective, result.derivative};
}

double Session::dot(const UnknownValues& a, const UnknownValues& b) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].empty() || b[i].empty()) continue;
    if (simulation_->spec().unknowns[i].is_field()) {
      sum += sum_over_cells(simulation_->grid(), [&](std::size_t k) { return a[i][k] * b[i][k]; });
    } else {
      for (std::size_t k = 0; k < a[i].size(); ++k) sum += a[i][k] * b[i][k];
    }
  }
  return sum;
}

}  // namespace hindsight

// A session with a journal: what it has worked out is logged, and not worked out again.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/error.hpp"
#include "src/program/session.hpp"

namespace hindsight {
namespace {

constexpr std::uint64_t version = 1;  // of the plan in a journal

void write(ArchiveWriter& to, const PerTier& values) {
  to.write(std::vector<std::int64_t>(values.begin(), values.end()));
}

void write(ArchiveWriter& to, const std::array<double, tier_count>& values) {
  to.write(std::vector<double>(values.begin(), values.end()));
}

template <class Array>
void read(ArchiveReader& from, Array& values) {
  std::vector<typename Array::value_type> all;
  from.read(all);
  if (all.size() != values.size()) throw ResourceError("the journal's plan is of another version");
  std::copy(all.begin(), all.end(), values.begin());
}

void write(ArchiveWriter& to, const OperationSeconds& s) {
  for (const double value : {s.forward, s.record, s.reverse_kept, s.record_last, s.reverse}) to.write(value);
  write(to, s.write);
  write(to, s.read);
}

void read(ArchiveReader& from, OperationSeconds& s) {
  for (double* value : {&s.forward, &s.record, &s.reverse_kept, &s.record_last, &s.reverse}) from.read(*value);
  read(from, s.write);
  read(from, s.read);
}

void write(ArchiveWriter& to, const ScheduleRequest& r) {
  to.write(r.steps);
  write(to, r.capacities.slots);
  to.write(r.content == Content::record);
  to.write(r.costs.forward);
  to.write(r.costs.reverse);
  write(to, r.costs.write);
  write(to, r.costs.read);
  to.write(r.record_units);
  to.write(r.record_gives_state);
  to.write(r.period);
  to.write(r.at_most);
}

void read(ArchiveReader& from, ScheduleRequest& r) {
  from.read(r.steps);
  read(from, r.capacities.slots);
  r.content = from.get<bool>() ? Content::record : Content::state;
  from.read(r.costs.forward);
  from.read(r.costs.reverse);
  read(from, r.costs.write);
  read(from, r.costs.read);
  from.read(r.record_units);
  from.read(r.record_gives_state);
  from.read(r.period);
  from.read(r.at_most);
}

std::vector<std::int64_t> numbers_of(const DriverCounts& c) {
  std::vector<std::int64_t> all{c.plain, c.recorded, c.kept, c.reversed, c.repaired, c.repairing_steps};
  for (const PerTier& n : {c.writes, c.reads, c.peak}) all.insert(all.end(), n.begin(), n.end());
  return all;
}

DriverCounts counts_of(const std::vector<std::int64_t>& all) {
  DriverCounts c;
  std::size_t next = 0;
  const auto take = [&] { return next < all.size() ? all[next++] : 0; };
  for (std::int64_t* n : {&c.plain, &c.recorded, &c.kept, &c.reversed, &c.repaired, &c.repairing_steps}) *n = take();
  for (PerTier* tiers : {&c.writes, &c.reads, &c.peak})
    for (std::int64_t& n : *tiers) n = take();
  return c;
}

}  // namespace

/// Does the work, unless the log has it. Failures of the numerics are logged and thrown again.
Session::Logged Session::once(const std::string& kind, std::int64_t steps, const std::function<void(Logged&)>& work) {
  Logged result;
  RunJournal* const journal = options_.journal;
  if (journal == nullptr) {
    work(result);
    return result;
  }
  result.kind = kind;
  const double values = dot(simulation_->values(), simulation_->values());
  const bool is_recalled = journal->recall([&](BlockReader& from) { read(from, result, values); });
  if (!is_recalled) {
    journal->phase(kind, steps);
    try {
      work(result);
    } catch (const NumericsError& error) {
      progress_.finish();
      result.failure = error.what();
    }
  }
  if (!is_recalled || journal->is_new_log()) journal->log([&](BlockWriter& to) { write(to, result, values); });
  if (!is_recalled) journal->pause();
  if (!result.failure.empty()) throw NumericsError(result.failure);
  return result;
}

void Session::write(BlockWriter& to, const Logged& logged, double values) const {
  ArchiveWriter& archive = to.archive();
  archive.write(logged.kind);
  archive.write(values);
  archive.write(logged.failure);
  if (!logged.failure.empty()) return;
  simulation_->save_observed(to);
  const Evaluation& e = logged.evaluation;
  archive.write(e.objective);
  archive.write(logged.derivative);
  archive.write(e.seconds);
  archive.write(numbers_of(e.counts));
  archive.write(!e.gradient.empty());
  for (std::size_t i = 0; i < e.gradient.size(); ++i) {
    if (simulation_->spec().unknowns[i].is_field()) {
      to.block(owned_box(simulation_->grid()), e.gradient[i]);
    } else {
      archive.write(e.gradient[i]);
    }
  }
}

void Session::read(BlockReader& from, Logged& logged, double values) {
  const auto kind = from.get<std::string>();
  const auto at = from.get<double>();
  if (kind != logged.kind || at != values)
    throw InputError(fmt::format(
        "cannot go on: the run asks for a {} at other values than the {} that it had worked out before; an optimiser "
        "whose unknowns are fields goes on with the same number of ranks only",
        logged.kind, kind));
  from.read(logged.failure);
  if (!logged.failure.empty()) return;
  simulation_->restore_observed(from);
  Evaluation& e = logged.evaluation;
  from.read(e.objective);
  from.read(logged.derivative);
  from.read(e.seconds);
  e.counts = counts_of(from.get<std::vector<std::int64_t>>());
  if (!from.get<bool>()) return;
  e.gradient = simulation_->values();
  for (std::size_t i = 0; i < e.gradient.size(); ++i) {
    if (simulation_->spec().unknowns[i].is_field()) {
      from.block(owned_box(simulation_->grid()), e.gradient[i]);
    } else {
      from.read(e.gradient[i]);
    }
  }
}

/// A sweep's options, kept by the journal if there is one.
SweepOptions Session::watched(const StateObserver& observer, const ProgressObserver& progress) {
  RunJournal* const journal = options_.journal;
  if (journal == nullptr) return {observer, progress, nullptr, nullptr};
  const ProgressObserver both = [journal, progress](std::int64_t forward, std::int64_t reversed) {
    journal->progress(forward + reversed);
    progress(forward, reversed);
  };
  return {observer, both, journal, journal->kept_sweep()};
}

void Session::save_plan(ArchiveWriter& to) const {
  to.begin("plan");
  to.write(plan_.kind->name);
  hindsight::write(to, plan_.request);
  to.write(plan_.seconds);
  to.write(plan_.is_automatic);
  hindsight::write(to, inputs_.seconds);
  hindsight::write(to, most_units_);
  to.write(host_budget_);
  to.write(does_without_disk_);
  to.write(tiers_->disk_codec());
  to.end();
  to.begin("lossy");
  to.write(lossy_error_ && !is_calibrating_);
  const LossyError lossy = lossy_error_.value_or(LossyError{});
  for (const double value : {lossy.accepted, lossy.predicted, lossy.measured, lossy.tolerance}) to.write(value);
  to.write(lossy.gradients);
  to.write(calibrated_norm_);
  to.end();
}

/// Goes on with the plan of the process before. @returns false when there is none, or when it cannot be carried out
/// here; a sweep that was kept begins again then.
bool Session::restore_plan() {
  const std::string kept = options_.journal != nullptr ? options_.journal->attached("plan") : "";
  if (kept.empty()) return false;
  ArchiveReader from({reinterpret_cast<const std::byte*>(kept.data()), kept.size()}, version, "the journal's plan");
  from.begin("plan");
  const ScheduleKind& kind = schedule_kind(from.get<std::string>());
  CheckpointPlan plan;
  hindsight::read(from, plan.request);
  from.read(plan.seconds);
  from.read(plan.is_automatic);
  hindsight::read(from, inputs_.seconds);
  hindsight::read(from, most_units_);
  // Where the case gives none, it follows from what is free, which may be a little less now.
  const auto budget = from.get<std::int64_t>();
  if (!case_.checkpoints.host && !comm_.any(budget > 2 * host_budget_)) host_budget_ = budget;
  from.read(does_without_disk_);
  const auto codec = from.get<std::string>();
  from.end();
  from.begin("lossy");
  const bool is_lossy = from.get<bool>();
  LossyError lossy;
  for (double* value : {&lossy.accepted, &lossy.predicted, &lossy.measured, &lossy.tolerance}) from.read(*value);
  from.read(lossy.gradients);
  from.read(calibrated_norm_);
  from.end();
  if (is_lossy) {
    for (const Tier tier : lossy_tiers().tuned) tiers_->set_tolerance(tier, lossy.tolerance);
    lossy_error_ = lossy;
  } else if (!codec.empty()) {
    tiers_->set_disk_codec(codec);
  }
  count_units();
  plan.kind = &kind;
  plan.schedule = kind.make(plan.request);
  plan_ = std::move(plan);
  const std::int64_t bytes = plan_.checkpoint_bytes(Tier::host, inputs_) + inputs_.working_bytes;
  if (!comm_.any(bytes > host_budget_) && open_tiers()) {
    simulation_->reserve_checkpoints(plan_.request.capacities[Tier::host], tiers_->all());
    return true;
  }
  if (options_.journal->has_sweep())
    warn("checkpoints do not fit here as they were planned; the gradient begins again");
  options_.journal->drop_sweep();
  count_units();
  return false;
}

}  // namespace hindsight

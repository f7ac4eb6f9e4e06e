// A session with a journal: what it has worked out is logged, and not worked out again.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "adjoint/schedule/roles.hpp"
#include "runtime/error.hpp"
#include "src/session.hpp"

namespace hindsight {
namespace {

// A value as the journal's plan has it.

template <class T>
void write_value(ArchiveWriter& to, const T& value) {
  to.write(value);
}

void write_value(ArchiveWriter& to, Content value) {
  to.write(value == Content::record);
}

void write_value(ArchiveWriter& to, Tier value) {
  to.write(static_cast<std::int64_t>(value));
}

template <class T>
void write_value(ArchiveWriter& to, const std::array<T, tier_count>& values) {
  to.write(std::vector<T>(values.begin(), values.end()));
}

template <class T>
void read_value(ArchiveReader& from, T& value) {
  from.read(value);
}

void read_value(ArchiveReader& from, Content& value) {
  value = from.get<bool>() ? Content::record : Content::state;
}

void read_value(ArchiveReader& from, Tier& value) {
  value = static_cast<Tier>(from.get<std::int64_t>());
}

template <class T>
void read_value(ArchiveReader& from, std::array<T, tier_count>& values) {
  const auto all = from.get<std::vector<T>>();
  if (all.size() != values.size()) throw ResourceError("the journal's plan is of another version");
  std::copy(all.begin(), all.end(), values.begin());
}

auto writer(ArchiveWriter& to) {
  return [&to](const auto&... values) { (write_value(to, values), ...); };
}

auto reader(ArchiveReader& from) {
  return [&from](auto&... values) { (read_value(from, values), ...); };
}

// What the journal's plan has of a struct, for a writer() or a reader().

template <class Seconds, class Visit>
void visit_seconds(Seconds& s, const Visit& visit) {
  visit(s.forward, s.record, s.reverse_kept, s.record_last, s.reverse, s.save, s.load, s.write, s.read, s.write_delay,
        s.read_delay, s.aside, s.look, s.touch);
}

template <class Request, class Visit>
void visit_request(Request& r, const Visit& visit) {
  visit(r.steps, r.capacities.slots, r.content, r.costs.forward, r.costs.reverse, r.costs.write, r.costs.read,
        r.costs.write_delay, r.costs.read_delay, r.record_units, r.record_gives_state, r.period, r.at_most,
        r.table_bytes, r.roles.memory, r.roles.slow);
}

template <class Lossy, class Visit>
void visit_lossy(Lossy& l, const Visit& visit) {
  visit(l.accepted, l.predicted, l.measured, l.tolerance, l.gradients);
}

}  // namespace

/// Does the work, unless the log has it. Failures of the numerics are logged and thrown again.
Session::Logged Session::once(const std::string& kind, std::int64_t steps, const std::function<void(Logged&)>& work) {
  Logged result;
  has_failed_ = false;
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
    } catch (const InputError&) {  // to go on would end alike
      has_failed_ = true;
      throw;
    }
  }
  if (!is_recalled || journal->is_new_log()) journal->log([&](BlockWriter& to) { write(to, result, values); });
  has_failed_ = !result.failure.empty();
  if (!is_recalled) has_failed_ ? journal->settle() : journal->pause();  // people will look at what there is
  if (has_failed_) throw NumericsError(result.failure);
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
  save_counts(archive, e.counts);
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
  e.counts = restore_counts(from);
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
  const auto put = writer(to);
  to.begin("plan");
  put(plan_.kind->name);
  visit_request(plan_.request, put);
  put(plan_.seconds, plan_.memory_seconds, plan_.is_automatic);
  visit_seconds(inputs_.seconds, put);
  put(most_units_, budgets_, does_without_disk_, tiers_->disk_codec());
  to.end();
  tiers_->save_sizes(to);
  to.begin("lossy");
  put(lossy_error_ && !is_calibrating_);
  const LossyError lossy = lossy_error_.value_or(LossyError{});
  visit_lossy(lossy, put);
  put(calibrated_norm_, has_shrunk_);
  to.end();
}

/// @returns the plan without its schedule.
CheckpointPlan Session::read_plan(ArchiveReader& from) {
  const auto take = reader(from);
  CheckpointPlan plan;
  from.begin("plan");
  plan.kind = &schedule_kind(from.get<std::string>());
  visit_request(plan.request, take);
  take(plan.seconds, plan.memory_seconds, plan.is_automatic);
  visit_seconds(inputs_.seconds, take);
  PerTier most_units{}, budgets{};
  take(most_units, budgets);
  // Where the case gives none, it follows from what is free, which may be a little less now, if ranks are as many.
  const bool is_moved = options_.journal->is_new_log();
  for (const Tier tier : {Tier::device, Tier::host}) {
    const auto t = static_cast<std::size_t>(tier);
    const std::int64_t most = tier == Tier::device && inputs_.memory() == tier
                                  ? simulation_->machine().account()->used() + simulation_->machine().free_bytes()
                                  : budgets_[t] + budgets_[t] / 2;
    if (!given(tier) && !is_moved && !comm_.any(budgets[t] > most)) budgets_[t] = budgets[t];
  }
  choose_overlap();  // as the process before did
  most_units_ = most_units;
  take(does_without_disk_);
  const auto codec = from.get<std::string>();
  from.end();
  tiers_->restore_sizes(from);
  from.begin("lossy");
  const bool is_lossy = from.get<bool>();
  LossyError lossy;
  visit_lossy(lossy, take);
  take(calibrated_norm_, has_shrunk_);
  from.end();
  if (!codec.empty()) tiers_->set_disk_codec(codec);
  if (!is_lossy) return plan;
  for (const Tier tier : lossy_tiers().tuned) tiers_->set_tolerance(tier, lossy.tolerance);
  lossy_error_ = lossy;
  return plan;
}

/// Goes on with the plan of the process before. @returns false when there is none, or when it cannot be carried out
/// here; a sweep that was kept begins again then.
bool Session::restore_plan() {
  RunJournal* const journal = options_.journal;
  CheckpointPlan plan;
  const auto read = [&](ArchiveReader& from) { plan = read_plan(from); };
  const PerTier own = budgets_;
  if (journal == nullptr || !journal->read_attached("plan", read)) return false;
  count_units();
  plan.schedule_bytes = schedule_bytes(plan, inputs_);
  plan.schedule.predicted.peak = plan.request.capacities.slots;
  plan_ = std::move(plan);
  count_transfers();
  if (fits_here() && make_room()) return true;
  if (journal->has_sweep()) warn("checkpoints do not fit here as they were planned; the gradient begins again");
  journal->drop_sweep();
  for (const Tier tier : {Tier::host, Tier::disk})
    if (tiers_->is_asked_for(tier)) tiers_->restore_codec(tier);
  lossy_error_.reset();  // it was measured on the plan
  tiers_->forget_sizes();
  most_units_ = {-1, -1, -1};
  budgets_ = own;
  does_without_disk_ = false;
  drop_plan();
  choose_overlap();
  return false;
}

/// Whether the plan's checkpoints and its schedule, which is not made yet, fit the budgets of all ranks. Collective.
bool Session::fits_here() const {
  bool fits = plan_.request.roles.memory == inputs_.memory() &&
              inputs_.working(Tier::host) + bytes_to_make(plan_, inputs_) <= budget(Tier::host);
  for (const Tier tier : {Tier::device, Tier::host})
    fits = fits && plan_.checkpoint_bytes(tier, inputs_) + inputs_.working(tier) <= budget(tier);
  return !comm_.any(!fits);
}

/// Makes a plan's schedule and the memory of its checkpoints. @returns false when another plan is needed.
bool Session::make_room() {
  {
    const CountMemory counted(simulation_->memory());
    plan_.schedule = make_schedule(*plan_.kind, plan_.request);
  }
  planned_at_ = process_seconds();
  memory_seconds_ = 0.0;
  if (!open_tiers()) return false;
  make_checkpoints();
  return true;
}

}  // namespace hindsight

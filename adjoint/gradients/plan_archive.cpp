// The plan of an earlier process.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "adjoint/gradients/planned_checkpoints.hpp"
#include "adjoint/schedule/roles.hpp"
#include "runtime/durations.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

// A value as a plan has it.

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
  if (all.size() != values.size()) throw ResourceError("a plan is of another version");
  std::copy(all.begin(), all.end(), values.begin());
}

auto writer(ArchiveWriter& to) {
  return [&to](const auto&... values) { (write_value(to, values), ...); };
}

auto reader(ArchiveReader& from) {
  return [&from](auto&... values) { (read_value(from, values), ...); };
}

// What a plan has of a struct, for a writer() or a reader().

template <class Seconds, class Visit>
void visit_seconds(Seconds& s, const Visit& visit) {
  visit(s.forward, s.record, s.reverse_kept, s.record_last, s.reverse, s.save, s.load, s.write, s.read, s.write_delay,
        s.read_delay, s.aside, s.look, s.touch, s.touch_more, s.ready_units);
}

template <class Request, class Visit>
void visit_request(Request& r, const Visit& visit) {
  visit(r.steps, r.capacities.slots, r.content, r.costs.forward, r.costs.reverse, r.costs.write, r.costs.read,
        r.costs.write_delay, r.costs.read_delay, r.record_units, r.record_gives_state, r.period, r.at_most, r.records,
        r.table_bytes, r.roles.memory, r.roles.slow);
}

}  // namespace

void PlannedCheckpoints::save(ArchiveWriter& to) const {
  const auto put = writer(to);
  to.begin("plan");
  put(plan_.kind->name);
  visit_request(plan_.request, put);
  put(inputs().are_spans, inputs().are_first_levels, plan_.seconds, plan_.memory_seconds, plan_.is_automatic);
  visit_seconds(inputs().seconds, put);
  put(means_.most_units, means_.budgets, !means_.uses_disk, means_.has_drifted, tiers_->disk_codec(), tiers_->depth(),
      depth_, inputs().seconds.reverses_from_state);
  to.end();
  tiers_->save_sizes(to);
}

CheckpointPlan PlannedCheckpoints::read(ArchiveReader& from, bool is_moved) {
  const auto take = reader(from);
  CheckpointPlan plan;
  from.begin("plan");
  plan.kind = &schedules().find(from.get<std::string>());
  visit_request(plan.request, take);
  const bool were_spans = from.get<bool>(), were_first_levels = from.get<bool>();
  if (were_spans != inputs().are_spans && (!were_spans || fit_in_spans()))
    take_steps(were_spans ? Keeps::spans : Keeps::any);
  if (were_first_levels != inputs().are_first_levels) take_steps(were_first_levels ? Keeps::first_levels : Keeps::any);
  const std::int64_t factors = plan.request.record_units - inputs().record_units;
  if (factors != 0 && std::abs(factors) == simulation_.factor_units())
    take_steps(factors > 0 ? Keeps::factors : Keeps::any);
  take(plan.seconds, plan.memory_seconds, plan.is_automatic);
  visit_seconds(means_.inputs.seconds, take);
  PerTier most_units{}, budgets{};
  take(most_units, budgets);
  // Where nobody gives one, it follows from what is free, which may be a little less now, if ranks are as many.
  for (const Tier tier : {Tier::device, Tier::host}) {
    const std::size_t t = index_of(tier);
    std::int64_t& here = means_.memory_bytes[t];
    const std::int64_t most = tier == Tier::device && inputs().memory() == tier
                                  ? simulation_.machine().account()->used() + simulation_.machine().free_bytes()
                                  : here + here / 2;
    if (!options_.checkpoints.budget(tier) && !is_moved && !comm_.any(budgets[t] > most)) here = budgets[t];
  }
  means_.most_units = most_units;
  means_.uses_disk = !from.get<bool>();
  if (from.get<bool>()) give_up_walking();
  const auto codec = from.get<std::string>();
  make_tiers(from.get<int>());
  depth_ = from.get<int>();
  bool& from_state = means_.inputs.seconds.reverses_from_state;
  from_state = !from.is_at_end() && from.get<bool>() && simulation_.stepper().reverses_from_state();
  from.end();
  tiers_->restore_sizes(from);
  if (!codec.empty()) tiers_->set_disk_codec(codec);
  return plan;
}

bool PlannedCheckpoints::adopt(CheckpointPlan plan) {
  count();
  plan.schedule_bytes = schedule_bytes(plan, inputs());
  plan.schedule.predicted.peak = plan.request.capacities.slots;
  set_plan(std::move(plan));
  count_working_memory(means_);
  set_limits();
  if (fits_here() && make_room()) return true;
  for (const Tier tier : {Tier::host, Tier::disk}) tiers_->close(tier);
  drop_plan();
  means_.memory_bytes = own_bytes_;
  means_.uses_disk = true;
  means_.most_units = Means{}.most_units;
  choose_tiers();
  choose_steps();
  return false;
}

/// Whether the plan's checkpoints and its schedule, which is not made yet, fit the budgets of all ranks. Collective.
bool PlannedCheckpoints::fits_here() const {
  bool fits = plan_.request.roles.memory == inputs().memory() && plan_.request.steps == inputs().steps &&
              inputs().working(Tier::host) + bytes_to_make(plan_, inputs()) <= means_.budget(Tier::host);
  for (const Tier tier : {Tier::device, Tier::host})
    fits = fits && plan_.checkpoint_bytes(tier, inputs()) + inputs().working(tier) <= means_.budget(tier);
  return !comm_.any(!fits);
}

/// Makes a plan's schedule and the memory of its checkpoints. @returns false when another plan is needed.
bool PlannedCheckpoints::make_room() {
  {
    const CountMemory counted(simulation_.memory());
    plan_.schedule = make_schedule(*plan_.kind, plan_.request);
  }
  planned_at_ = process_seconds();
  memory_seconds_ = 0.0;
  if (!open_tiers()) return false;
  make_checkpoints();
  return true;
}

}  // namespace hindsight

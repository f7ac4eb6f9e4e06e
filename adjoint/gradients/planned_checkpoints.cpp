#include "adjoint/gradients/planned_checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "adjoint/store/memory_tier.hpp"
#include "runtime/durations.hpp"
#include "runtime/error.hpp"
#include "runtime/stop_request.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {
namespace {

constexpr Tier slow_tiers[] = {Tier::host, Tier::disk};

/// Bytes of checkpoints of a run whose end is open, when no budget is given: all slots are touched before it is known
/// how many steps there will be. With some thousand slots, millions of steps are taken three times at most.
std::int64_t open_end_bytes(std::int64_t state_bytes) {
  constexpr std::int64_t enough = 4096, least = std::int64_t{64} << 20, most = std::int64_t{1} << 30;
  return std::clamp(enough * state_bytes, least, most);
}

}  // namespace

PlannedCheckpoints::PlannedCheckpoints(Simulation& simulation, const Communicator& comm, const GradientOptions& options,
                                       Warn warn)
    : simulation_(simulation), comm_(comm), options_(options), warn_(std::move(warn)) {
  means_.checkpoints = options.checkpoints;
  PlanInputs& inputs = means_.inputs;
  inputs.seconds.memory = memory_tier(simulation.machine());
  inputs.schedule = options.checkpoints.schedule;
  inputs.period = options.checkpoints.period;
  inputs.gradients = options.gradients;
  inputs.keeps_records = !is_asked_for(inputs.memory(), options.checkpoints, simulation.machine());
  inputs.no_walking_back = why_not_walk_back();
  if (inputs.no_walking_back.empty()) simulation.accept_drift(options.checkpoints.accept);
  inputs.left_behind_bytes = comm.max(simulation.bytes_left_behind());
  take_steps(Keeps::any);
  for (const Tier tier : memories()) read_budget(tier);
  own_bytes_ = means_.memory_bytes;
  choose_tiers();
  choose_steps();
  require_working_memory();
}

/// In a sentence; empty: nothing speaks against it.
std::string PlannedCheckpoints::why_not_walk_back() const {
  const CheckpointOptions& asked = options_.checkpoints;
  if (const std::string why = simulation_.stepper().why_it_cannot_retreat(); !why.empty())
    return "it takes steps backwards, which cannot be done here: " + why;
  if (!asked.accept)
    return "rounding makes it inexact, and no error is accepted; write `accept: 1e-6` beside it (checkpoints.accept): "
           "the largest relative difference of states that are walked back to from those that were kept";
  if (simulation_.bytes_left_behind() > 0 && !simulation_.machine().is_host())
    return "layers of a pml are walked back on the host alone";
  for (const Tier tier : slow_tiers)
    if (is_asked_for(tier, asked, simulation_.machine()) && codecs().find(asked.codec(tier).kind).is_lossy)
      return fmt::format(
          "it compares states with those that were kept, which codec {} (checkpoints.{}) changes; choose a lossless "
          "one",
          asked.codec(tier).kind, to_text(tier));
  return "";
}

void PlannedCheckpoints::give_up_walking() {
  means_.has_drifted = true;
  means_.inputs.no_walking_back = "states that were walked back to had drifted by more than is accepted";
  if (options_.checkpoints.schedule != "auto" && schedules().find(options_.checkpoints.schedule).walks_back)
    means_.inputs.schedule = "auto";
}

void PlannedCheckpoints::stop_walking_back(const std::string& why, double seconds) {
  give_up_walking();
  warn_(fmt::format("{}; beginning again without walking back, which loses the {} that this gradient had taken so far",
                    why, seconds_text(comm_.max(seconds))));
  try {
    make_plan();
  } catch (const InputError& error) {
    throw ResourceError(error.what());
  }
}

void PlannedCheckpoints::expect_steps(std::int64_t steps) {
  if (!plan_.is_open() || plan_.request.content != Content::record || steps <= plan_.request.records) return;
  PlanInputs expected = inputs();
  expected.likely_steps = steps;
  if (open_records(expected) <= plan_.request.records) return;
  means_.inputs.likely_steps = steps;
  plan_again(expected.seconds);
}

/// What schedules count as a step.
void PlannedCheckpoints::take_steps(Keeps what) {
  PlanInputs& inputs = means_.inputs;
  simulation_.keep_factors(what == Keeps::factors);
  inputs.are_first_levels = simulation_.keep_first_levels(what == Keeps::first_levels);
  inputs.are_spans = simulation_.use_spans(what == Keeps::spans);
  const TimeLine& time = simulation_.time();
  const std::int64_t n = simulation_.sweep_steps();
  inputs.steps = simulation_.spec().until || !time.is_known() ? unknown_steps : n;
  inputs.at_most = time.tries_steps() ? n - 1 : n;  // with the last one beyond it fails
  inputs.open_because = simulation_.spec().until ? "the run ends by a condition (time.until)"
                        : time.tries_steps()     ? "it follows from time.tolerance"
                                                 : "'" + simulation_.spec().steps + "' (time.steps) decides it";
  inputs.record_units = simulation_.record_units();
  inputs.state_bytes = simulation_.checkpoint_bytes();
  const WorkingBytes working = simulation_.working_bytes();
  means_.own_working[index_of(inputs.memory())] = working.machine;
  means_.own_working[index_of(Tier::host)] = working.host;
  inputs.working_bytes = means_.own_working;
  inputs.working_note = "";
  const std::int64_t times = time.is_known() ? 0 : recorded_bytes(n);
  if (2 * times > working.host)
    inputs.working_note = fmt::format(" ({} of it for the times of as many steps as time.at most allows, {})",
                                      bytes_text(times), inputs.at_most);
}

void PlannedCheckpoints::choose_steps() {
  take_steps(Keeps::any);
  count();
  const Keeps what = choice();
  if (what == Keeps::any) return;
  take_steps(what);
  count();
}

/// Spans where nothing is asked for but that gradients be fast, and the states of all of them fit; else records of all
/// steps, where they fit, with factors or of the first level alone.
PlannedCheckpoints::Keeps PlannedCheckpoints::choice() const {
  if (fit_in_spans()) return Keeps::spans;
  const auto record = static_cast<double>(inputs().record_units);
  if (simulation_.factor_units() > 0 && fit_all(record + static_cast<double>(simulation_.factor_units())))
    return Keeps::factors;
  if (simulation_.may_keep_first_levels() && fit_all(1.0 / simulation_.stepper().levels())) return Keeps::first_levels;
  return Keeps::any;
}

/// Whether records of all steps, of so many states each, fit in memory given in bytes: elsewhere they would take the
/// place of other checkpoints.
bool PlannedCheckpoints::fit_all(double units_each) const {
  const PlanInputs& now = inputs();
  const Tier memory = now.memory();
  const bool is_possible = now.keeps_records && now.steps != unknown_steps &&
                           (now.schedule == "auto" || now.schedule == "store-all") && !means_.is_in_slots(memory);
  if (!is_possible) return false;
  const double bytes = static_cast<double>(now.steps) * units_each * static_cast<double>(taken_bytes(memory, now)) +
                       static_cast<double>(now.working(memory));
  return !comm_.any(1.01 * bytes > static_cast<double>(means_.memory_bytes[index_of(memory)]));
}

std::int64_t PlannedCheckpoints::bytes_in_spans() const {
  const CheckpointOptions& asked = options_.checkpoints;
  const std::int64_t spans = simulation_.span_bytes();
  const bool are_possible = spans > 0 && asked.schedule == "auto" && !asked.disk && !asked.device &&
                            !means_.is_in_slots(Tier::host) && inputs().keeps_records && options_.costs.empty() &&
                            simulation_.machine().is_host();
  return are_possible ? simulation_.working_bytes().host + spans : 0;
}

bool PlannedCheckpoints::fit_in_spans() const {
  const std::int64_t bytes = bytes_in_spans();
  return bytes > 0 && !comm_.any(bytes > means_.memory_bytes[index_of(Tier::host)]);
}

/// A memory's bytes, unless it is given in slots. Where nothing is given, most of what is free.
void PlannedCheckpoints::read_budget(Tier tier) {
  if (means_.is_in_slots(tier)) return;
  std::int64_t& budget = means_.memory_bytes[index_of(tier)];
  const auto& given = options_.checkpoints.budget(tier);
  if (tier == Tier::host) {
    const HostBudget host = given ? HostBudget{given->amount, ""} : default_host_budget(comm_, options_.memory);
    budget = given ? host.bytes : host.bytes / options_.sharers;
    host_source_ = host.source;
  } else {
    const Machine& device = simulation_.machine();
    const std::int64_t free = device.free_bytes(), all = device.account()->used() + free;
    budget = given ? given->amount : (all - free / 10) / options_.sharers;
    if (given && comm_.any(budget * options_.sharers > all))
      throw ResourceError(fmt::format("checkpoints.device: {} are asked for, {} are free",
                                      bytes_text(budget * options_.sharers), bytes_text(-comm_.max(-all))));
  }
  const std::int64_t open_end = open_end_bytes(-comm_.max(-inputs().state_bytes));
  if (given || inputs().steps != unknown_steps || budget <= inputs().working(tier) + open_end) return;
  budget = inputs().working(tier) + open_end;
  if (tier == Tier::host)
    host_source_ = bytes_text(open_end) + " of checkpoints, because it is not known how many steps there will be";
}

std::string PlannedCheckpoints::warning_of_budget() const {
  return options_.checkpoints.host
             ? hindsight::warning_of_budget(means_.budgets[index_of(Tier::host)], comm_, options_.memory)
             : "";
}

/// The memory that states are made in and, where that is a device's, the host's.
std::vector<Tier> PlannedCheckpoints::memories() const {
  return simulation_.machine().is_host() ? std::vector<Tier>{Tier::host} : std::vector<Tier>{Tier::device, Tier::host};
}

void PlannedCheckpoints::make_tiers(int depth) {
  for (const Tier tier : slow_tiers)
    if (tiers_) tiers_->close(tier);
  tiers_ = std::make_unique<SlowTiers>(options_.checkpoints, options_.disk, simulation_, comm_, warn_, depth);
  set_depth(depth);
}

void PlannedCheckpoints::set_depth(int depth) {
  if (depth != tiers_->depth()) {
    simulation_.free_checkpoints();
    tiers_->set_depth(depth);
  }
  means_.inputs.overlap = tiers_->overlap();
  count();
}

/// Transfers run ahead deep only where many states fit beside them on all ranks, and what a gradient cannot do without.
void PlannedCheckpoints::choose_tiers() {
  constexpr std::int64_t roomy = 16;  // states
  make_tiers(inputs().at_most < roomy ? SlowTiers::shallow : SlowTiers::deep);
  bool is_roomy = true;
  for (const Tier tier : memories()) is_roomy = is_roomy && !comm_.any(!means_.has_room_for(roomy, tier));
  if (!is_roomy) set_depth(SlowTiers::shallow);
  depth_ = tiers_->depth();
}

/// What working memory and transfers take is more than some rank may have.
bool PlannedCheckpoints::is_short(Tier tier) const {
  return comm_.any(!means_.has_working_memory(tier));
}

void PlannedCheckpoints::require_working_memory() const {
  for (const Tier tier : memories()) {
    if (!is_short(tier)) continue;
    const std::int64_t transfers = comm_.max(inputs().working(tier) - means_.own_working[index_of(tier)]);
    const std::int64_t checkpoint = comm_.max(means_.inputs.at_most > 1 ? least_checkpoint_bytes(tier, inputs()) : 0);
    std::string and_more;
    if (transfers > 0)
      and_more = ", " + bytes_text(transfers) + " of it for slow tiers";
    else if (checkpoint > 0)
      and_more = fmt::format(" and {} for one checkpoint, together {}", bytes_text(checkpoint),
                             enough_text(comm_.max(means_.inputs.working(tier)) + checkpoint));
    throw InputError(fmt::format("checkpoints.{}: {}{} is too little: a gradient needs {} of working memory{}",
                                 to_text(tier), bytes_text(means_.budgets[index_of(tier)]),
                                 tier == Tier::host && !host_source_.empty() ? " (" + host_source_ + ")" : "",
                                 enough_text(comm_.max(means_.inputs.working(tier))),
                                 (tier == Tier::host ? inputs().working_note : "") + and_more));
  }
}

void PlannedCheckpoints::count() {
  means_.slow = tiers_->needs();
  count_units(means_, [this](std::int64_t value) { return least_of_ranks(value); });
  set_limits();
}

/// As long as nothing is planned, slots in host memory have no limit.
void PlannedCheckpoints::set_limits() {
  const bool is_open = means_.is_in_slots(Tier::host) && plan_.kind == nullptr;
  simulation_.memory()->set_limit(is_open ? unlimited_bytes : means_.budgets[index_of(Tier::host)]);
  if (inputs().memory() == Tier::device)
    simulation_.machine().account()->set_limit(means_.budgets[index_of(Tier::device)]);
}

void PlannedCheckpoints::set_plan(CheckpointPlan plan) {
  plan_ = std::move(plan);
  simulation_.reverse_from_state(inputs().seconds.reverses_from_state);
  means_.schedule_bytes.reset();
  if (plan_.kind != nullptr) means_.schedule_bytes = plan_.schedule_bytes;
}

/// The memory of checkpoints, and of what a schedule keeps, is needed otherwise.
void PlannedCheckpoints::drop_plan() {
  simulation_.free_checkpoints();
  tiers_->close(Tier::host);
  set_plan({});
  count();
}

/// A plan that has no place yet, made with the memory of checkpoints free: schedules keep tables. Transfers run ahead
/// less where what is asked for needs more than is left beside them.
CheckpointPlan PlannedCheckpoints::plan_alone() {
  drop_plan();
  const auto plan_here = [this] {
    require_working_memory();
    const CountMemory counted(simulation_.memory());
    CheckpointPlan plan = hindsight::make_plan(inputs());
    wait_for_all(comm_);
    return plan;
  };
  try {
    return plan_here();
  } catch (const InputError&) {
    const bool is_deep = tiers_->depth() > SlowTiers::shallow;
    if (!is_deep || !(tiers_->is_asked_for(Tier::host) || tiers_->is_asked_for(Tier::disk))) throw;
  }
  set_depth(SlowTiers::shallow);
  require_working_memory();
  if (!has_known_costs_) measure_transfers();
  drop_plan();
  return plan_here();
}

/// Plans until what is planned has its place.
void PlannedCheckpoints::make_plan() {
  memory_seconds_ = 0.0;
  do {
    set_plan(plan_alone());
    count_working_memory(means_);  // a budget in slots has what the schedule keeps too
    set_limits();
    planned_at_ = process_seconds() - memory_seconds_;
  } while (!options_.only_plan && !open_tiers());
  if (options_.only_plan) return tiers_->close(Tier::disk);
  make_checkpoints();
}

void PlannedCheckpoints::make_checkpoints() {
  memory_seconds_ += seconds_of([&] {
    simulation_.reserve_checkpoints(plan_.request.capacities[means_.inputs.memory()], tiers_->all(),
                                    plan_.kind->walks_back);
  });
}

/// @returns false when another plan is needed.
bool PlannedCheckpoints::open_tiers() {
  if (means_.is_used(Tier::disk) && plan_.request.capacities[Tier::disk] == 0) {
    tiers_->close(Tier::disk);
    means_.uses_disk = false;  // checkpoints in host memory get what its transfers would take
    return false;
  }
  for (const Tier tier : slow_tiers) {
    const std::int64_t slots = plan_.request.capacities[tier];
    if (!tiers_->is_asked_for(tier) || slots == 0) {
      tiers_->close(tier);
      continue;
    }
    std::int64_t fit = 0;
    memory_seconds_ += seconds_of([&] { fit = tiers_->open(tier, slots, means_.bytes_for_slots(tier)); });
    if (fit == slots) continue;
    means_.most_units[index_of(tier)] = fit;
    return false;
  }
  return true;
}

void PlannedCheckpoints::shrink(const TierIsFull& full, double seconds) {
  const std::int64_t planned = plan_.request.capacities[full.tier()];
  tiers_->learn_sizes();
  count();
  if (means_.inputs.units[full.tier()] >= planned) {
    means_.most_units[index_of(full.tier())] = std::min(planned - 1, full.slots_that_fit());
    count();
  }
  warn_(fmt::format(
      "checkpoints.{}: {}; beginning again with {} states there, which loses the {} that this gradient had "
      "taken so far",
      to_text(full.tier()), full.what(), means_.inputs.units[full.tier()], seconds_text(comm_.max(seconds))));
  try {
    make_plan();
  } catch (const InputError& error) {
    throw ResourceError(error.what());
  }
}

void PlannedCheckpoints::foresee_sizes(const std::function<void()>& between) {
  std::vector<Tier> unsure;
  for (const Tier tier : slow_tiers) {
    const std::int64_t slots = plan_.request.capacities[tier];
    if (!plan_.is_open() && slots > 0 && comm_.any(tiers_->may_be_short(tier, slots, means_.bytes_for_slots(tier))))
      unsure.push_back(tier);
  }
  if (unsure.empty()) return;
  for (const Tier tier : slow_tiers) tiers_->close(tier);
  simulation_.free_checkpoints();
  tiers_->look_ahead(unsure, between);
  count();
  make_plan();
}

void PlannedCheckpoints::plan_again() {
  means_.uses_disk = true;
  has_known_costs_ = false;
  set_depth(depth_);
  measure_transfers();
  make_plan();
}

void PlannedCheckpoints::plan_freely() {
  const std::string schedule = std::exchange(means_.inputs.schedule, "auto");
  try {
    plan_again();
  } catch (...) {
    means_.inputs.schedule = schedule;
    throw;
  }
  means_.inputs.schedule = schedule;
}

void PlannedCheckpoints::plan_again(const OperationSeconds& known) {
  means_.uses_disk = has_known_costs_ = true;
  means_.inputs.seconds = known;
  set_depth(depth_);
  make_plan();
  has_known_costs_ = false;
}

void PlannedCheckpoints::plan_alike(const OperationSeconds& known, const std::string& disk_codec) {
  if (disk_codec != tiers_->disk_codec()) tiers_->set_disk_codec(disk_codec.empty() ? no_codec : disk_codec);
  plan_again(known);
}

}  // namespace hindsight

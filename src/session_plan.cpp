// Budgets, costs and the plan of a session.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "adjoint/plan/timeline.hpp"
#include "adjoint/schedule/mixed.hpp"
#include "adjoint/schedule/report.hpp"
#include "runtime/error.hpp"
#include "src/session.hpp"
#include "src/time_limit.hpp"

namespace hindsight {
namespace {

constexpr Tier slow_tiers[] = {Tier::host, Tier::disk};

/// That the buffers of a pool can be numbered for, with some for the states at work.
constexpr std::int64_t most_states = Pool::most_buffers - (std::int64_t{1} << 20U);

/// Checkpoints of a run whose end is open, when no budget is given: all slots are touched before it is known how many
/// steps there will be.
constexpr std::int64_t open_end_bytes = std::int64_t{1} << 30;

std::size_t index(Tier tier) {
  return static_cast<std::size_t>(tier);
}

template <class Work>
double seconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::int64_t bytes_of_slots(const CaseBudget& budget, std::int64_t working, std::int64_t state) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(budget.amount, state, &bytes) || __builtin_add_overflow(bytes, working, &bytes))
    throw InputError(budget.place, "checkpoints: so many slots are more bytes than can be counted");
  return bytes;
}

}  // namespace

/// What the case gives of a tier.
const std::optional<CaseBudget>& Session::given(Tier tier) const {
  const auto& checkpoints = case_.checkpoints;
  return tier == Tier::device ? checkpoints.device : tier == Tier::host ? checkpoints.host : checkpoints.disk;
}

bool Session::is_in_slots(Tier tier) const {
  return given(tier) && given(tier)->unit == CaseBudget::Unit::slots;
}

/// A tier's memory, unless it is given in slots. Where nothing is given, most of what is free.
void Session::read_budget(Tier tier) {
  if (is_in_slots(tier)) return;
  std::int64_t& budget = budgets_[index(tier)];
  const auto& given = this->given(tier);
  if (tier == Tier::host) {
    const HostBudget host = given ? HostBudget{given->amount, ""} : default_host_budget(comm_);
    budget = host.bytes;
    host_source_ = host.source;
  } else {
    const Machine& device = simulation_->machine();
    const std::int64_t free = device.free_bytes(), all = device.account()->used() + free;
    budget = given ? given->amount : all - free / 10;
    if (comm_.any(budget > all))
      throw ResourceError(fmt::format("checkpoints.device: {} are asked for, {} are free", bytes_text(budget),
                                      bytes_text(-comm_.max(-all))));
  }
  if (given || !case_.time.until || budget <= inputs_.working(tier) + open_end_bytes) return;
  budget = inputs_.working(tier) + open_end_bytes;
  if (tier == Tier::host)
    host_source_ = bytes_text(open_end_bytes) + " of checkpoints, because the run ends by a condition";
}

/// When the case gives more than there is. Collective. @returns whether it was said.
bool Session::warn_of_host_budget() {
  if (!given(Tier::host)) return false;
  const std::string text = warning_of_budget(budgets_[index(Tier::host)], comm_);
  if (!text.empty()) warn(text);
  return !text.empty();
}

/// The memory that states are made in and, where that is a device's, the host's.
std::vector<Tier> Session::memories() const {
  return simulation_->machine().is_host() ? std::vector<Tier>{Tier::host} : std::vector<Tier>{Tier::device, Tier::host};
}

/// All ranks plan with the capacities of the one that has the least.
void Session::read_budgets() {
  const auto& checkpoints = case_.checkpoints;
  const std::int64_t n = simulation_->time().steps();
  inputs_.seconds.memory = simulation_->memory_tier();
  inputs_.schedule = checkpoints.schedule;
  inputs_.steps = case_.time.until || !simulation_->time().is_known() ? unknown_steps : n;
  inputs_.at_most = n;
  inputs_.period = checkpoints.period;
  inputs_.gradients = options_.gradients;
  inputs_.record_units = simulation_->record_units();
  inputs_.keeps_records = !tiers_->is_asked_for(inputs_.memory());
  inputs_.state_bytes = simulation_->state_bytes();
  const std::vector<Tier> memories = this->memories();
  for (const Tier tier : memories) inputs_.working_bytes[index(tier)] = simulation_->working_bytes(tier);
  for (const Tier tier : memories) read_budget(tier);
  choose_overlap();
  require_working_memory();
}

/// Transfers run ahead deep only where many states fit beside them on all ranks, and what a gradient cannot do without.
void Session::choose_overlap() {
  if (tiers_->any()) {
    tiers_->choose_overlap(inputs_.at_most);
    inputs_.overlap = tiers_->overlap();
    count_units();
    bool is_roomy = true;
    for (const Tier tier : memories()) is_roomy = is_roomy && !comm_.any(!has_room_beside_transfers(tier));
    if (!is_roomy) tiers_->choose_overlap(0);
    inputs_.overlap = tiers_->overlap();
  }
  count_units();
}

bool Session::has_working_memory(Tier tier) const {
  return !comm_.any(inputs_.working(tier) > budgets_[index(tier)]);
}

void Session::require_working_memory() const {
  for (const Tier tier : memories()) {
    if (has_working_memory(tier)) continue;
    const std::int64_t transfers = comm_.max(transfer_bytes_[index(tier)]);
    const std::int64_t checkpoint = comm_.max(inputs_.at_most > 1 ? least_checkpoint_bytes(tier, inputs_) : 0);
    std::string and_more;
    if (transfers > 0)
      and_more = ", " + bytes_text(transfers) + " of it for slow tiers";
    else if (checkpoint > 0)
      and_more = fmt::format(" and {} for one checkpoint, together {}", bytes_text(checkpoint),
                             enough_text(comm_.max(inputs_.working(tier)) + checkpoint));
    throw InputError(fmt::format("checkpoints.{}: {}{} is too little: a gradient needs {} of working memory{}",
                                 to_text(tier), bytes_text(budgets_[index(tier)]),
                                 tier == Tier::host && !host_source_.empty() ? " (" + host_source_ + ")" : "",
                                 enough_text(comm_.max(inputs_.working(tier))), and_more));
  }
}

/// On this rank.
bool Session::has_room_beside_transfers(Tier tier) const {
  const std::int64_t states = SlowTiers::roomy * taken_bytes(tier, inputs_);
  return is_in_slots(tier) ||
         inputs_.working(tier) + std::max(states, least_checkpoint_bytes(tier, inputs_)) <= budgets_[index(tier)];
}

std::int64_t Session::budget(Tier tier) const {
  if (tier != Tier::disk) return budgets_[index(tier)];
  const auto& disk = given(tier);
  if (!disk) return 0;
  return is_in_slots(tier) ? disk->amount * unit_bytes(tier, inputs_) : disk->amount;
}

std::int64_t Session::peak_bytes(Tier tier) const {
  if (tier == Tier::host) return simulation_->memory()->peak();
  if (tier == inputs_.memory()) return simulation_->machine().account()->peak();
  const SlotTier* const slow = (*tiers_)[tier];
  return slow != nullptr ? slow->peak_bytes() : 0;
}

/// For slots, of this rank, beside what a plan's schedule keeps. Of a disk, no more than slots whose tables leave most
/// of the host memory to checkpoints.
std::int64_t Session::tier_bytes(Tier tier) const {
  const std::int64_t kept = tier == Tier::host ? plan_.schedule_bytes : 0;
  if (tier != Tier::disk) return std::max<std::int64_t>(0, budgets_[index(tier)] - inputs_.working(tier) - kept);
  const std::int64_t bytes = is_in_slots(tier) ? given(tier)->amount * inputs_.state_bytes : given(tier)->amount;
  return is_in_slots(Tier::host) ? bytes : std::min(bytes, tiers_->bytes_of_table(tier, bytes_for_tables(0)));
}

/// Host memory that the tables of another tier's slots may take, at most: a part of what a gradient can do without.
/// @param taken by such tables already.
std::int64_t Session::bytes_for_tables(std::int64_t taken) const {
  constexpr std::int64_t part = 8;
  const std::int64_t working = inputs_.working(Tier::host) - transfer_bytes_[index(Tier::host)];
  const std::int64_t least = inputs_.at_most > 1 ? least_checkpoint_bytes(Tier::host, inputs_) : 0;
  const std::int64_t needed = working + bytes_of_transfers(Tier::host) + least + taken;
  return std::max<std::int64_t>(0, budgets_[index(Tier::host)] - needed) / part;
}

/// Slots as far as their sizes are known now, and the memory of transfers. The host comes last, because the tables of
/// all slots lie in its memory.
void Session::count_units() {
  for (const Tier tier : slow_tiers)
    if (tiers_->is_asked_for(tier)) inputs_.slot_bytes[index(tier)] = tiers_->slot_bytes(tier);
  inputs_.host_table_bytes = tiers_->is_asked_for(Tier::host)
                                 ? tiers_->slot_memory() - inputs_.slot_bytes[index(Tier::host)]
                                 : Simulation::state_table_bytes;
  inputs_.units = {};
  for (const Tier tier : {Tier::disk, Tier::device, Tier::host}) {
    inputs_.units[tier] = std::max<std::int64_t>(0, -comm_.max(-units_of(tier)));
    count_transfers();
  }
  for (const Tier tier : memories()) inputs_.most_working[index(tier)] = comm_.max(inputs_.working(tier));
  inputs_.host_unit_bytes = comm_.max(taken_bytes(Tier::host, inputs_));
  inputs_.host_bytes = is_in_slots(Tier::host) ? unlimited_bytes : -comm_.max(-tier_bytes(Tier::host));
}

/// On this rank.
std::int64_t Session::units_of(Tier tier) const {
  std::int64_t units = 0;
  if (tiers_->is_asked_for(tier)) {
    const std::int64_t useful = std::max<std::int64_t>(1, inputs_.at_most - 1);
    const bool is_counted = tier == Tier::disk && is_in_slots(tier);
    units = std::min(useful, is_counted ? given(tier)->amount : tiers_->slots_in(tier, tier_bytes(tier)));
  } else if (tier == inputs_.memory()) {
    units = std::min(tier_bytes(tier) / taken_bytes(tier, inputs_), most_states);
    if (tier == Tier::device && !is_in_slots(Tier::host)) {  // its tables come after the disk's
      const std::int64_t tables = bytes_for_tables(bytes_of_tables()) / Simulation::state_table_bytes;
      units = std::min(units, std::max<std::int64_t>(1, tables));
    }
  }
  if (tier == Tier::disk && does_without_disk_) return 0;
  const std::int64_t most = most_units_[index(tier)];
  return most >= 0 ? std::min(units, most) : units;
}

/// Memory that transfers to the slow tiers in use take.
std::int64_t Session::bytes_of_transfers(Tier memory) const {
  std::int64_t bytes = 0;
  for (const Tier tier : slow_tiers) {
    if (!tiers_->is_asked_for(tier) || (tier == Tier::disk && does_without_disk_)) continue;
    if (memory == inputs_.memory()) bytes += tiers_->buffer_bytes(tier);
    if (memory == Tier::host) bytes += tiers_->working_bytes(tier);
  }
  return bytes;
}

/// Host memory of the tables of slots that lie elsewhere.
std::int64_t Session::bytes_of_tables() const {
  std::int64_t bytes = 0;
  if (inputs_.memory() == Tier::device) bytes += inputs_.units[Tier::device] * Simulation::state_table_bytes;
  if (tiers_->is_asked_for(Tier::disk) && !does_without_disk_)
    bytes += tiers_->table_bytes(Tier::disk, inputs_.units[Tier::disk], tier_bytes(Tier::disk));
  return bytes;
}

/// A budget in slots is for checkpoints alone, and as long as nothing is planned there is no limit. Of the memory that
/// states are made in, slots are as large as states at least, so more of coded ones fit.
void Session::count_transfers() {
  for (const Tier tier : memories()) {
    const std::int64_t bytes = bytes_of_transfers(tier) + (tier == Tier::host ? bytes_of_tables() : 0);
    inputs_.working_bytes[index(tier)] += bytes - std::exchange(transfer_bytes_[index(tier)], bytes);
    if (!is_in_slots(tier)) continue;
    const std::int64_t coded = unit_bytes(tier, inputs_);
    const std::int64_t larger = tier == inputs_.memory() ? std::max<std::int64_t>(0, inputs_.state_bytes - coded) : 0;
    budgets_[index(tier)] = bytes_of_slots(*given(tier), inputs_.working(tier), taken_bytes(tier, inputs_) + larger);
    if (tier == Tier::host && plan_.kind != nullptr) budgets_[index(tier)] += plan_.schedule_bytes;
  }
  const bool is_open = is_in_slots(Tier::host) && plan_.kind == nullptr;
  simulation_->memory()->set_limit(is_open ? unlimited_bytes : budgets_[index(Tier::host)]);
  if (inputs_.memory() == Tier::device) simulation_->machine().account()->set_limit(budgets_[index(Tier::device)]);
}

/// Plans with costs as given, else as measured on a few steps; where these promise a long gradient of short steps, on
/// more of them, for about a hundredth of its time.
void Session::plan_measured() {
  constexpr double is_long = 10, part = 1.5e-4, most = 0.1;  // seconds; of the gradient's time, and seconds of a sample
  drift_.settle();
  does_without_disk_ = false;
  const int repeats = inputs_.at_most < 50 ? 1 : inputs_.at_most < 500 ? 3 : 5;
  measure_steps(repeats, options_.only_plan ? 5e-3 : 1e-3);
  measure_transfers();
  if (options_.costs.empty()) {
    inputs_.seconds.look = comm_.max(measure_look());
    measure_memory();
    const double seconds = comm_.max(plan_alone().seconds), batch = std::min(most, part * seconds);
    if (seconds >= is_long && inputs_.seconds.forward <= batch) measure_steps(9, batch);
  }
  make_plan();
}

/// On more memory, step by step, for plans that take much of it: what was given back before is had faster than what
/// never was.
void Session::measure_memory() {
  constexpr std::int64_t smallest = std::int64_t{1} << 20U, first = std::int64_t{8} << 20U, part = 16, growth = 4;
  const Tier host = Tier::host;
  const auto useful = static_cast<double>(saturating_units(inputs_.at_most, inputs_.record_units));
  const auto unit = static_cast<double>(unit_bytes(host, inputs_));
  const std::int64_t there = -comm_.max(-(budgets_[index(host)] - simulation_->memory()->used()));
  const double most = comm_.max(std::min(useful * unit, static_cast<double>(there)));
  inputs_.seconds.touch = 0.0;
  if (most < static_cast<double>(smallest)) return;
  std::int64_t sample = std::min(first, static_cast<std::int64_t>(most) / 4), wanted = sample;
  do {
    sample = std::min(wanted, growth * sample);
    {
      const CountMemory counted(simulation_->memory());
      inputs_.seconds.touch = comm_.max(unit * seconds_of_fresh_byte(sample));
    }
    wanted = comm_.max(plan_alone().checkpoint_bytes(host, inputs_)) / part;
  } while (wanted > 2 * sample);
}

/// The memory of checkpoints, and of what a schedule keeps, is needed otherwise.
void Session::drop_plan() {
  simulation_->free_checkpoints();
  tiers_->close(Tier::host);
  plan_ = {};
  count_units();
}

void Session::measure_steps(int repeats, double batch) {
  drop_plan();
  const Tier memory = inputs_.memory();
  const std::int64_t unit = inputs_.state_bytes + (memory == Tier::host ? Simulation::measured_table_bytes : 0);
  std::int64_t fit = tier_bytes(memory) / unit;
  if (memory == Tier::device && !is_in_slots(Tier::host))
    fit = std::min(fit, tier_bytes(Tier::host) / Simulation::measured_table_bytes);
  const std::int64_t units = -comm_.max(-fit);
  OperationSeconds& seconds = inputs_.seconds;
  static_cast<StepSeconds&>(seconds) = simulation_->measure(repeats, batch, units);
  keep_in_memory();
  const ScheduleCosts measured = seconds.of_schedule();
  const ScheduleCosts costs = parse_costs(options_.costs, measured);
  seconds.record_last *= costs.reverse / measured.reverse;
  seconds.reverse *= costs.reverse / measured.reverse;
  seconds.reverse_kept *= costs.reverse / measured.reverse;
  seconds.record *= costs.forward / measured.forward;
  seconds.forward = costs.forward;
  if (!options_.costs.empty()) seconds.aside = 0.0;  // those who give costs mean what they give
}

/// States stay in the memory that they are made in, unless that holds them coded.
void Session::keep_in_memory() {
  const Tier memory = inputs_.memory();
  if (tiers_->is_asked_for(memory)) return;
  inputs_.seconds.write[index(memory)] = inputs_.seconds.save;
  inputs_.seconds.read[index(memory)] = inputs_.seconds.load;
}

void Session::measure_transfers() {
  drop_plan();
  OperationSeconds& seconds = inputs_.seconds;
  seconds.write = seconds.read = seconds.write_delay = seconds.read_delay = {};
  keep_in_memory();
  for (const Tier tier : slow_tiers) {
    if (!tiers_->is_asked_for(tier) || inputs_.units[tier] == 0) continue;
    const TransferSeconds transfer = tiers_->measure(tier, tier_bytes(tier));
    seconds.write[index(tier)] = transfer.write;
    seconds.read[index(tier)] = transfer.read;
    if (!options_.costs.empty()) continue;
    seconds.write_delay[index(tier)] = transfer.write_delay;
    seconds.read_delay[index(tier)] = transfer.read_delay;
  }
  count_units();
  const ScheduleCosts costs = parse_costs(options_.costs, seconds.of_schedule());
  seconds.write = costs.write;
  seconds.read = costs.read;
}

/// A plan that has no place yet, made with the memory of checkpoints free: schedules keep tables.
CheckpointPlan Session::plan_alone() {
  drop_plan();
  require_working_memory();
  const CountMemory counted(simulation_->memory());
  return hindsight::make_plan(inputs_);
}

/// Plans until what is planned has its place.
void Session::make_plan() {
  memory_seconds_ = 0.0;
  do {
    plan_ = plan_alone();
    count_transfers();  // a budget in slots has what the schedule keeps too
    planned_at_ = process_seconds() - memory_seconds_;
  } while (!options_.only_plan && !open_tiers());
  if (options_.only_plan) return tiers_->close(Tier::disk);
  make_checkpoints();
}

void Session::make_checkpoints() {
  memory_seconds_ +=
      seconds_of([&] { simulation_->reserve_checkpoints(plan_.request.capacities[inputs_.memory()], tiers_->all()); });
}

/// @returns false when another plan is needed.
bool Session::open_tiers() {
  if (tiers_->is_asked_for(Tier::disk) && !does_without_disk_ && plan_.request.capacities[Tier::disk] == 0) {
    tiers_->close(Tier::disk);
    does_without_disk_ = true;  // checkpoints in host memory get what its transfers would take
    return false;
  }
  for (const Tier tier : slow_tiers) {
    const std::int64_t slots = plan_.request.capacities[tier];
    if (!tiers_->is_asked_for(tier) || slots == 0) {
      tiers_->close(tier);
      continue;
    }
    std::int64_t fit = 0;
    memory_seconds_ += seconds_of([&] { fit = tiers_->open(tier, slots, tier_bytes(tier)); });
    if (fit == slots) continue;
    most_units_[index(tier)] = fit;
    return false;
  }
  return true;
}

/// Plans again with the slots that fit. @param seconds that the gradient had taken when it was broken off. @throws
/// ResourceError when they are too few.
void Session::shrink(const TierIsFull& full, double seconds) {
  has_shrunk_ = true;
  const std::int64_t planned = plan_.request.capacities[full.tier()];
  tiers_->learn_sizes();
  count_units();
  if (inputs_.units[full.tier()] >= planned) {
    most_units_[index(full.tier())] = std::min(planned - 1, full.slots_that_fit());
    count_units();
  }
  warn(
      fmt::format("checkpoints.{}: {}; beginning again with {} states there, which loses the {} that this gradient had "
                  "taken so far",
                  to_text(full.tier()), full.what(), inputs_.units[full.tier()], seconds_text(comm_.max(seconds))));
  try {
    make_plan();
  } catch (const InputError& error) {
    throw ResourceError(error.what());
  }
}

/// Before a first gradient with these codecs: where a tier could turn out too small, because only the first states of
/// the run were coded so far, learns what later ones take from a forward run, and plans with that. To begin a gradient
/// again costs as much, and more.
void Session::foresee_sizes() {
  std::vector<Tier> unsure;
  for (const Tier tier : slow_tiers) {
    const std::int64_t slots = plan_.request.capacities[tier];
    if (!plan_.is_open() && slots > 0 && comm_.any(tiers_->may_be_short(tier, slots, tier_bytes(tier))))
      unsure.push_back(tier);
  }
  if (unsure.empty()) return;
  for (const Tier tier : slow_tiers) tiers_->close(tier);
  simulation_->free_checkpoints();
  tiers_->look_ahead(unsure, [this] {
    if (options_.journal != nullptr) options_.journal->pause();
  });
  count_units();
  make_plan();
}

/// Codecs have changed: plans again. @param known costs with these codecs; null: transfers are measured, steps are not,
/// so that codecs are compared and not the machine's moods.
void Session::plan_again(const OperationSeconds* known) {
  does_without_disk_ = false;
  if (known != nullptr) {
    inputs_.seconds = *known;
    count_units();
  } else {
    measure_transfers();
  }
  make_plan();
}

}  // namespace hindsight

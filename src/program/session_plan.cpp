// Budgets, costs and the plan of a session.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "adjoint/schedule/report.hpp"
#include "src/error.hpp"
#include "src/program/session.hpp"

namespace hindsight {
namespace {

constexpr Tier slow_tiers[] = {Tier::host, Tier::disk};

/// Checkpoints of a run whose end is open, when no budget is given: all slots are touched before it is known how many
/// steps there will be.
constexpr std::int64_t open_end_bytes = std::int64_t{1} << 30;

std::size_t index(Tier tier) {
  return static_cast<std::size_t>(tier);
}

std::int64_t bytes_of_slots(const CaseBudget& budget, std::int64_t working, std::int64_t state) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(budget.amount, state, &bytes) || __builtin_add_overflow(bytes, working, &bytes))
    throw InputError("checkpoints.host: so many slots are more bytes than can be counted");
  return bytes;
}

}  // namespace

/// All ranks plan with the capacities of the one that has the least.
void Session::read_budgets() {
  const auto& checkpoints = case_.checkpoints;
  const std::int64_t n = simulation_->plan().steps(), state = simulation_->state_bytes();
  inputs_.schedule = checkpoints.schedule;
  inputs_.steps = case_.time.until ? unknown_steps : n;
  inputs_.at_most = n;
  inputs_.period = checkpoints.period;
  inputs_.record_units = simulation_->record_units();
  inputs_.keeps_records = !tiers_->is_asked_for(Tier::host);
  inputs_.state_bytes = state;
  inputs_.working_bytes = simulation_->working_bytes();
  const auto& host = checkpoints.host;
  const bool in_slots = host && host->unit == CaseBudget::Unit::slots;
  if (!in_slots) host_budget_ = host ? host->amount : default_host_budget(comm_);
  if (!host && case_.time.until) host_budget_ = std::min(host_budget_, inputs_.working_bytes + open_end_bytes);
  if (tiers_->any()) {
    const std::int64_t fit = in_slots ? n : (host_budget_ - inputs_.working_bytes) / state;
    tiers_->choose_overlap(-comm_.max(-fit));
    if (!in_slots && comm_.any(inputs_.working_bytes + bytes_of_transfers() > host_budget_)) tiers_->choose_overlap(0);
    inputs_.overlap = tiers_->overlap();
  }
  count_units();
  if (comm_.any(inputs_.working_bytes > host_budget_))
    throw InputError(fmt::format(
        "checkpoints.host: {} is too little: a gradient needs {} of working memory{}", bytes_text(host_budget_),
        bytes_text(comm_.max(inputs_.working_bytes)),
        transfer_bytes_ > 0 ? ", " + bytes_text(comm_.max(transfer_bytes_)) + " of it for transfers to slow tiers"
                            : ""));
}

std::int64_t Session::budget(Tier tier) const {
  if (tier == Tier::host) return host_budget_;
  const auto& disk = case_.checkpoints.disk;
  if (!disk) return 0;
  return disk->unit == CaseBudget::Unit::bytes ? disk->amount : disk->amount * unit_bytes(tier, inputs_);
}

/// For slots, of this rank. Of a disk, no more than pages whose table leaves most of the host memory to checkpoints.
std::int64_t Session::tier_bytes(Tier tier) const {
  if (tier == Tier::host) return std::max<std::int64_t>(0, host_budget_ - inputs_.working_bytes);
  constexpr std::int64_t part = 8;
  const CaseBudget& disk = *case_.checkpoints.disk;
  const std::int64_t bytes = disk.unit == CaseBudget::Unit::bytes ? disk.amount : disk.amount * inputs_.state_bytes;
  const auto& host = case_.checkpoints.host;
  if (host && host->unit == CaseBudget::Unit::slots) return bytes;
  const std::int64_t free = std::max<std::int64_t>(0, host_budget_ - (inputs_.working_bytes - transfer_bytes_));
  return std::min(bytes, tiers_->bytes_of_table(tier, free / part));
}

/// Slots as far as their sizes are known now, and the memory of transfers. The disk comes first, because the table of
/// its pages lies in host memory.
void Session::count_units() {
  inputs_.units = {};
  inputs_.units[Tier::disk] = std::max<std::int64_t>(0, -comm_.max(-units_of(Tier::disk)));
  count_transfers();
  inputs_.units[Tier::host] = std::max<std::int64_t>(0, -comm_.max(-units_of(Tier::host)));
  for (const Tier tier : slow_tiers)
    if (tiers_->is_asked_for(tier)) inputs_.slot_bytes[index(tier)] = tiers_->slot_bytes(tier);
}

/// On this rank.
std::int64_t Session::units_of(Tier tier) const {
  std::int64_t units = 0;
  if (tiers_->is_asked_for(tier)) {
    const auto& disk = case_.checkpoints.disk;
    const bool in_slots = tier == Tier::disk && disk->unit == CaseBudget::Unit::slots;
    const std::int64_t useful = std::max<std::int64_t>(1, inputs_.at_most - 1);
    units = std::min(useful, in_slots ? disk->amount : tiers_->slots_in(tier, tier_bytes(tier)));
  } else if (tier == Tier::host) {
    units = tier_bytes(tier) / inputs_.state_bytes;
  }
  if (tier == Tier::disk && does_without_disk_) return 0;
  const std::int64_t most = most_units_[index(tier)];
  return most >= 0 ? std::min(units, most) : units;
}

/// Host memory that transfers to the slow tiers in use take.
std::int64_t Session::bytes_of_transfers() const {
  std::int64_t bytes = tiers_->is_asked_for(Tier::host) ? tiers_->working_bytes(Tier::host) : 0;
  if (!tiers_->is_asked_for(Tier::disk) || does_without_disk_) return bytes;
  bytes += tiers_->working_bytes(Tier::disk);
  return bytes + tiers_->table_bytes(Tier::disk, inputs_.units[Tier::disk], tier_bytes(Tier::disk));
}

/// A budget in slots is for checkpoints alone.
void Session::count_transfers() {
  const std::int64_t bytes = bytes_of_transfers();
  inputs_.working_bytes += bytes - std::exchange(transfer_bytes_, bytes);
  const auto& host = case_.checkpoints.host;
  if (host && host->unit == CaseBudget::Unit::slots)
    host_budget_ = bytes_of_slots(*host, inputs_.working_bytes, inputs_.state_bytes);
  simulation_->memory()->set_limit(host_budget_);
}

/// Costs as given, else as measured on a few steps.
void Session::measure() {
  drift_.settle();
  tiers_->close(Tier::host);  // its memory is needed
  simulation_->free_checkpoints();
  count_units();
  const int repeats = inputs_.at_most < 50 ? 1 : inputs_.at_most < 500 ? 3 : 5;
  const double batch = options_.only_plan ? 5e-3 : 1e-3;
  const std::int64_t units = -comm_.max(-tier_bytes(Tier::host) / inputs_.state_bytes);
  const StepSeconds steps = simulation_->measure(repeats, batch, units);
  OperationSeconds& seconds = inputs_.seconds;
  seconds = {steps.forward, steps.record, steps.reverse_kept, steps.record_last, steps.reverse, {}, {}};
  seconds.write[index(Tier::host)] = steps.save;
  seconds.read[index(Tier::host)] = steps.load;
  simulation_->free_checkpoints();
  for (const Tier tier : slow_tiers)
    if (tiers_->is_asked_for(tier) && inputs_.units[tier] > 0)
      std::tie(seconds.write[index(tier)], seconds.read[index(tier)]) = tiers_->measure(tier, tier_bytes(tier));
  count_units();
  const ScheduleCosts measured{seconds.forward, seconds.record_last + seconds.reverse, seconds.write, seconds.read};
  const ScheduleCosts costs = parse_costs(options_.costs, measured);
  seconds.record_last *= costs.reverse / measured.reverse;
  seconds.reverse *= costs.reverse / measured.reverse;
  seconds.reverse_kept *= costs.reverse / measured.reverse;
  seconds.record *= costs.forward / measured.forward;
  seconds.forward = costs.forward;
  seconds.write = costs.write;
  seconds.read = costs.read;
}

/// Plans until what is planned has its place.
void Session::make_plan() {
  do plan_ = hindsight::make_plan(inputs_);
  while (!options_.only_plan && !open_tiers());
  if (options_.only_plan) return tiers_->close(Tier::disk);
  simulation_->reserve_checkpoints(plan_.request.capacities[Tier::host], tiers_->all());
}

/// @returns false when another plan is needed.
bool Session::open_tiers() {
  if (tiers_->is_asked_for(Tier::disk) && !does_without_disk_ && plan_.request.capacities[Tier::disk] == 0) {
    tiers_->close(Tier::disk);
    does_without_disk_ = true;  // checkpoints in host memory get what its transfers would take
    count_units();
    return false;
  }
  simulation_->free_checkpoints();
  for (const Tier tier : slow_tiers) {
    const std::int64_t slots = plan_.request.capacities[tier];
    if (!tiers_->is_asked_for(tier) || slots == 0) {
      tiers_->close(tier);
      continue;
    }
    const std::int64_t fit = tiers_->open(tier, slots, tier_bytes(tier));
    if (fit == slots) continue;
    most_units_[index(tier)] = fit;
    count_units();
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
  tiers_->look_ahead(unsure);
  count_units();
  make_plan();
}

/// Codecs have changed: plans again. @param known costs with these codecs; null: they are measured.
void Session::plan_again(const OperationSeconds* known) {
  does_without_disk_ = false;
  if (known != nullptr) {
    inputs_.seconds = *known;
    count_units();
  } else {
    measure();
  }
  make_plan();
}

}  // namespace hindsight

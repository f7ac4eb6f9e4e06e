#include "adjoint/gradients/means.hpp"

#include <algorithm>

#include "adjoint/problem/simulation.hpp"
#include "adjoint/store/pool.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// That the buffers of a pool can be numbered for, with some for the states at work.
constexpr std::int64_t most_states = Pool::most_buffers - (std::int64_t{1} << 20U);

std::int64_t bytes_of_slots(const TierBudget& budget, std::int64_t working, std::int64_t state) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(budget.amount, state, &bytes) || __builtin_add_overflow(bytes, working, &bytes))
    throw InputError(budget.place, "checkpoints: so many slots are more bytes than can be counted");
  return bytes;
}

/// Host memory that the tables of another tier's slots may take, at most: a part of what a gradient can do without.
/// @param taken by such tables already.
std::int64_t bytes_for_tables(const Means& means, std::int64_t taken) {
  constexpr std::int64_t part = 8;
  const std::int64_t working = means.own_working[index_of(Tier::host)];
  const std::int64_t least = means.inputs.at_most > 1 ? least_checkpoint_bytes(Tier::host, means.inputs) : 0;
  const std::int64_t needed = working + means.transfer_bytes(Tier::host) + least + taken;
  return std::max<std::int64_t>(0, means.budgets[index_of(Tier::host)] - needed) / part;
}

/// Host memory of the tables of slots that lie elsewhere.
std::int64_t bytes_of_tables(const Means& means) {
  std::int64_t bytes = 0;
  if (means.inputs.memory() == Tier::device) bytes += means.inputs.units[Tier::device] * Simulation::state_table_bytes;
  if (means.is_used(Tier::disk))
    bytes += means.slow[index_of(Tier::disk)]->layout.table_bytes(means.inputs.units[Tier::disk],
                                                                  means.bytes_for_slots(Tier::disk));
  return bytes;
}

/// Of this rank.
std::int64_t units_of(const Means& means, Tier tier) {
  const PlanInputs& inputs = means.inputs;
  std::int64_t units = 0;
  if (const auto& slow = means.slow[index_of(tier)]) {
    const std::int64_t useful = std::max<std::int64_t>(1, inputs.at_most - 1);
    const bool is_counted = tier == Tier::disk && means.is_in_slots(tier);
    units = std::min(useful, is_counted ? means.checkpoints.budget(tier)->amount
                                        : slow->layout.slots_in(means.bytes_for_slots(tier)));
  } else if (tier == inputs.memory()) {
    units = std::min(means.bytes_for_slots(tier) / taken_bytes(tier, inputs), most_states);
    if (tier == Tier::device && !means.is_in_slots(Tier::host)) {  // its tables come after the disk's
      const std::int64_t tables = bytes_for_tables(means, bytes_of_tables(means)) / Simulation::state_table_bytes;
      units = std::min(units, std::max<std::int64_t>(1, tables));
    }
  }
  if (tier == Tier::disk && !means.uses_disk) return 0;
  const std::int64_t most = means.most_units[index_of(tier)];
  return most >= 0 ? std::min(units, most) : units;
}

}  // namespace

std::int64_t Means::budget(Tier tier) const {
  if (tier != Tier::disk) return budgets[index_of(tier)];
  if (!checkpoints.disk) return 0;
  return is_in_slots(tier) ? checkpoints.disk->amount * unit_bytes(tier, inputs) : checkpoints.disk->amount;
}

std::int64_t Means::bytes_for_slots(Tier tier) const {
  const std::int64_t kept = tier == Tier::host ? schedule_bytes.value_or(0) : 0;
  if (tier != Tier::disk) return std::max<std::int64_t>(0, budgets[index_of(tier)] - inputs.working(tier) - kept);
  const std::int64_t amount = checkpoints.disk->amount;
  const std::int64_t bytes = is_in_slots(tier) ? amount * inputs.state_bytes : amount;
  if (is_in_slots(Tier::host)) return bytes;
  return std::min(bytes, slow[index_of(tier)]->layout.bytes_of_table(bytes_for_tables(*this, 0)));
}

bool Means::has_room_for(std::int64_t states, Tier tier) const {
  const std::int64_t wanted = std::max(states * taken_bytes(tier, inputs), least_checkpoint_bytes(tier, inputs));
  return is_in_slots(tier) || inputs.working(tier) + wanted <= budgets[index_of(tier)];
}

std::int64_t Means::transfer_bytes(Tier where) const {
  std::int64_t bytes = 0;
  for (const Tier tier : {Tier::host, Tier::disk}) {
    if (!is_used(tier)) continue;
    if (where == inputs.memory()) bytes += slow[index_of(tier)]->buffer_bytes;
    if (where == Tier::host) bytes += slow[index_of(tier)]->scratch_bytes;
  }
  return bytes;
}

/// A budget in slots is for checkpoints alone. Of the memory that states are made in, slots are as large as states at
/// least, so more of coded ones fit.
void count_working_memory(Means& means) {
  PlanInputs& inputs = means.inputs;
  for (const Tier tier : {Tier::device, Tier::host}) {
    if (!means.is_memory(tier)) continue;
    const std::size_t t = index_of(tier);
    const std::int64_t tables = tier == Tier::host ? bytes_of_tables(means) : 0;
    inputs.working_bytes[t] = means.own_working[t] + means.transfer_bytes(tier) + tables;
    if (!means.is_in_slots(tier)) continue;
    const std::int64_t coded = unit_bytes(tier, inputs);
    const std::int64_t larger = tier == inputs.memory() ? std::max<std::int64_t>(0, inputs.state_bytes - coded) : 0;
    means.budgets[t] =
        bytes_of_slots(*means.checkpoints.budget(tier), inputs.working(tier), taken_bytes(tier, inputs) + larger);
    if (tier == Tier::host) means.budgets[t] += means.schedule_bytes.value_or(0);
  }
}

void count_units(Means& means, const LeastOfRanks& least) {
  PlanInputs& inputs = means.inputs;
  for (const Tier tier : {Tier::device, Tier::host})
    if (!means.is_in_slots(tier)) means.budgets[index_of(tier)] = means.memory_bytes[index_of(tier)];
  for (const Tier tier : {Tier::host, Tier::disk})
    if (const auto& slow = means.slow[index_of(tier)]) inputs.slot_bytes[index_of(tier)] = slow->layout.slot_bytes;
  const auto& host = means.slow[index_of(Tier::host)];
  inputs.host_table_bytes = host ? host->layout.slot_memory() - host->layout.slot_bytes : Simulation::state_table_bytes;
  inputs.units = {};
  for (const Tier tier : {Tier::disk, Tier::device, Tier::host}) {
    inputs.units[tier] = std::max<std::int64_t>(0, least(units_of(means, tier)));
    count_working_memory(means);
  }
  for (const Tier tier : {Tier::device, Tier::host})
    if (means.is_memory(tier)) inputs.most_working[index_of(tier)] = -least(-inputs.working(tier));
  inputs.host_unit_bytes = -least(-taken_bytes(Tier::host, inputs));
  inputs.host_bytes = means.is_in_slots(Tier::host) ? unlimited_bytes : least(means.bytes_for_slots(Tier::host));
}

}  // namespace hindsight

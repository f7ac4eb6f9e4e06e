#include "adjoint/store/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hindsight {
namespace {

// Failures of transfers that a run lives with: so many, and a part of all.
constexpr std::int64_t always_forgiven = 3, one_in = 10;

}  // namespace

Checkpoints::Checkpoints(std::int64_t host_units, std::int64_t record_units, Pool& states,
                         std::array<SlotTier*, tier_count> tiers, const Communicator& comm)
    : record_units_(record_units), states_(states), tiers_(tiers), comm_(comm) {
  if (tiers_[static_cast<std::size_t>(Tier::host)] == nullptr) kept_.resize(static_cast<std::size_t>(host_units));
  for (std::size_t t = 0; t < tier_count; ++t)
    if (tiers_[t] != nullptr) steps_[t].assign(static_cast<std::size_t>(tiers_[t]->settings().slots), -1);
}

int Checkpoints::prefetches() const {
  int sum = 0;
  for (const SlotTier* tier : tiers_) sum += tier != nullptr ? tier->settings().prefetch : 0;
  return sum;
}

PerTier Checkpoints::slow_slots() const {
  PerTier slots{};
  for (std::size_t t = 0; t < tier_count; ++t) slots[t] = static_cast<std::int64_t>(steps_[t].size());
  return slots;
}

std::int64_t Checkpoints::step_of(Slot slot) const {
  const auto tier = static_cast<std::size_t>(slot.tier), index = static_cast<std::size_t>(slot.index);
  return tiers_[tier] == nullptr ? kept_[index].step : steps_[tier][index];
}

void Checkpoints::write(Slot slot, const Buffer& state, std::int64_t step) {
  SlotTier& tier = *tiers_[static_cast<std::size_t>(slot.tier)];
  tier.save(slot.index, state, step);
  slow_step(slot) = step;
  const bool fails = tier.traffic().lost > always_forgiven + tier.traffic().writes / one_in;
  if (!comm_.any(tier.is_full() || fails)) return;
  if (!comm_.any(tier.is_full()))
    throw ResourceError("too many checkpoints could not be written to go on; the last: " +
                        comm_.first_text(tier.problem()));
  const std::int64_t here = tier.is_full() ? tier.slots_that_fit() : tier.settings().slots;
  const std::int64_t fit = -comm_.max(-here);
  throw TierIsFull(slot.tier, fit, comm_.first_text(tier.problem()));
}

StepRecord Checkpoints::read(Slot slot) {
  SlotTier& tier = *tiers_[static_cast<std::size_t>(slot.tier)];
  StepRecord record{tier.load(slot.index, states_), {}};
  ++loads_;
  if (!comm_.any(!record.base)) return record;
  record.reset();
  slow_step(slot) = -1;
  if (++failures_ <= always_forgiven + loads_ / one_in) return record;
  throw ResourceError(fmt::format("{} of {} checkpoints could not be read back, too many to go on; the last: {}",
                                  failures_, loads_, comm_.first_text(tier.problem())));
  return record;
}

void Checkpoints::forget(Slot slot) {
  tiers_[static_cast<std::size_t>(slot.tier)]->release(slot.index);
  slow_step(slot) = -1;
}

void Checkpoints::replace(Slot slot, const Buffer& state, std::int64_t step) {
  forget(slot);
  write(slot, state, step);
}

std::optional<Checkpoints::Found> Checkpoints::latest_before(std::int64_t step) const {
  std::optional<Found> best;
  const auto look = [&](Tier tier, std::size_t index, std::int64_t at) {
    if (at >= 0 && at < step && (!best || at > best->step)) best = {{tier, static_cast<std::int64_t>(index)}, at};
  };
  for (std::size_t i = 0; i < kept_.size(); ++i) look(Tier::host, i, kept_[i].step);
  for (std::size_t t = 0; t < tier_count; ++t)
    for (std::size_t i = 0; i < steps_[t].size(); ++i) look(static_cast<Tier>(t), i, steps_[t][i]);
  return best;
}

void Checkpoints::finish() {
  for (SlotTier* tier : tiers_)
    if (tier != nullptr) tier->finish();
}

void Checkpoints::clear() {
  std::fill(kept_.begin(), kept_.end(), Kept{});
  for (std::size_t t = 0; t < tier_count; ++t) {
    if (tiers_[t] == nullptr) continue;
    tiers_[t]->clear();
    std::fill(steps_[t].begin(), steps_[t].end(), -1);
  }
  in_use_ = peak_ = {};
  loads_ = failures_ = 0;
}

}  // namespace hindsight

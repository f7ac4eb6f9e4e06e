#include "adjoint/store/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hindsight {
namespace {

// Failures of transfers that a run lives with: so many, and a part of all.
constexpr std::int64_t always_forgiven = 3, one_in = 10;

}  // namespace

Checkpoints::Checkpoints(Tier memory, std::int64_t units, std::int64_t record_units, Pool& states,
                         std::array<SlotTier*, tier_count> tiers, const Communicator& comm)
    : memory_(memory), record_units_(record_units), states_(states), tiers_(tiers), comm_(comm) {
  const auto m = static_cast<std::size_t>(memory);
  if (tiers_[m] == nullptr) kept_.resize(static_cast<std::size_t>(units));
  is_lost_[m].assign(kept_.size(), false);
  for (std::size_t t = 0; t < tier_count; ++t)
    if (tiers_[t] != nullptr) {
      steps_[t].assign(static_cast<std::size_t>(tiers_[t]->settings().slots), -1);
      inherited_[t].assign(steps_[t].size(), false);
      is_lost_[t].assign(steps_[t].size(), false);
    }
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
  inherited_[static_cast<std::size_t>(slot.tier)][static_cast<std::size_t>(slot.index)] = false;
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
  lose({slot, slow_step(slot), Content::state});
  // Its place may have been taken by others after the epoch that it was kept in: no sign of a bad disk.
  if (inherited_[static_cast<std::size_t>(slot.tier)][static_cast<std::size_t>(slot.index)]) return record;
  if (++failures_ <= always_forgiven + loads_ / one_in) return record;
  throw ResourceError(fmt::format("{} of {} checkpoints could not be read back, too many to go on; the last: {}",
                                  failures_, loads_, comm_.first_text(tier.problem())));
}

void Checkpoints::forget(Slot slot) {
  tiers_[static_cast<std::size_t>(slot.tier)]->release(slot.index);
  slow_step(slot) = -1;
}

void Checkpoints::lose(const Lost& lost) {
  lost_.push_back(lost);
  is_lost_[static_cast<std::size_t>(lost.slot.tier)][static_cast<std::size_t>(lost.slot.index)] = true;
}

/// The slot is free, and no longer lost.
Lost Checkpoints::give_up(Slot slot) {
  const auto found = std::find_if(lost_.begin(), lost_.end(), [&](const Lost& lost) { return lost.slot == slot; });
  const Lost lost = *found;
  lost_.erase(found);
  is_lost_[static_cast<std::size_t>(slot.tier)][static_cast<std::size_t>(slot.index)] = false;
  if (tiers_[static_cast<std::size_t>(slot.tier)] != nullptr) {
    forget(slot);
  } else {
    kept_[static_cast<std::size_t>(slot.index)].step = -1;
  }
  return lost;
}

std::vector<Lost> Checkpoints::lost_up_to(std::int64_t step) const {
  std::vector<Lost> found;
  for (const Lost& lost : lost_)
    if (lost.step <= step) found.push_back(lost);
  std::sort(found.begin(), found.end(), [](const Lost& a, const Lost& b) { return a.step < b.step; });
  return found;
}

void Checkpoints::refill(const Lost& lost, StepRecord record) {
  give_up(lost.slot);
  in_use_[static_cast<std::size_t>(lost.slot.tier)] -= units_of(lost);
  save(lost.slot, std::move(record), lost.step);
}

/// All slots that hold something, lost ones included.
std::vector<Lost> Checkpoints::used() const {
  std::vector<Lost> all = lost_;
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (kept_[i].record.base)
      all.push_back({{memory_, static_cast<std::int64_t>(i)},
                     kept_[i].step,
                     kept_[i].record.stages ? Content::record : Content::state});
  for (std::size_t t = 0; t < tier_count; ++t)
    for (std::size_t i = 0; i < steps_[t].size(); ++i) {
      const Slot slot{static_cast<Tier>(t), static_cast<std::int64_t>(i)};
      if (steps_[t][i] >= 0 && !is_lost(slot)) all.push_back({slot, steps_[t][i], Content::state});
    }
  return all;
}

void Checkpoints::flush() {
  for (SlotTier* tier : tiers_)
    if (tier != nullptr) tier->flush();
}

void Checkpoints::save_table(BlockWriter& to, const std::function<std::int64_t(const StepRecord&)>& keep) const {
  std::vector<std::int64_t> table, kept_at;
  for (const Lost& slot : used()) {
    table.insert(table.end(), {static_cast<std::int64_t>(slot.slot.tier), std::int64_t{slot.slot.index}, slot.step,
                               slot.content == Content::record});
    const bool is_here = slot.slot.tier == memory_ && !kept_.empty() && !is_lost(slot.slot);
    kept_at.push_back(is_here ? keep(kept_[static_cast<std::size_t>(slot.slot.index)].record) : not_kept);
  }
  ArchiveWriter& archive = to.archive();
  archive.write(table);
  archive.write(kept_at);
  archive.write(std::vector<std::int64_t>(peak_.begin(), peak_.end()));
  for (const SlotTier* tier : tiers_)
    archive.write(tier != nullptr ? tier->places_outside() : std::vector<std::int64_t>());
}

void Checkpoints::restore_table(BlockReader& from, const std::function<StepRecord(std::int64_t)>& read) {
  clear();
  const bool is_own = !comm_.any(!from.is_own());
  const auto table = from.get<std::vector<std::int64_t>>();
  const auto kept_at = from.all<std::vector<std::int64_t>>();
  const auto peak = from.get<std::vector<std::int64_t>>();
  std::copy_n(peak.begin(), std::min(peak.size(), peak_.size()), peak_.begin());
  std::array<std::vector<bool>, tier_count> is_there;
  for (std::size_t t = 0; t < tier_count; ++t) {
    const auto places = from.all<std::vector<std::int64_t>>();
    if (tiers_[t] != nullptr && is_own) is_there[t] = tiers_[t]->adopt(places[0]);
  }
  for (std::size_t i = 0; i + 3 < table.size(); i += 4) {
    const auto t = static_cast<std::size_t>(table[i]);
    const Lost found{{static_cast<Tier>(table[i]), table[i + 1]},
                     table[i + 2],
                     table[i + 3] != 0 ? Content::record : Content::state};
    const auto index = static_cast<std::size_t>(table[i + 1]);
    const bool is_memory = found.slot.tier == memory_;
    if (t >= tier_count || index >= (tiers_[t] != nullptr ? steps_[t].size() : is_memory ? kept_.size() : 0))
      throw ResourceError("the journal names a slot that the plan does not have");
    (tiers_[t] != nullptr ? steps_[t][index] : kept_[index].step) = found.step;
    in_use_[t] += units_of(found);
    const std::int64_t place = is_own && i / 4 < kept_at[0].size() ? kept_at[0][i / 4] : not_kept;
    if (place != not_kept && !kept_.empty()) {
      try {
        comm_.together([&] { kept_[index].record = read(place); });
      } catch (const ResourceError&) {  // damaged
        kept_[index].record.reset();
        lose(found);
      }
      continue;
    }
    if (tiers_[t] != nullptr) inherited_[t][index] = true;
    if (comm_.any(is_there[t].size() <= index || !is_there[t][index])) lose(found);
  }
}

std::optional<Checkpoints::Found> Checkpoints::latest_before(std::int64_t step) const {
  std::optional<Found> best;
  const auto look = [&](Tier tier, std::size_t index, std::int64_t at) {
    if (at < 0 || at >= step || (best && at <= best->step)) return;
    const Slot slot{tier, static_cast<std::int64_t>(index)};
    if (!is_lost(slot)) best = {slot, at};
  };
  for (std::size_t i = 0; i < kept_.size(); ++i) look(memory_, i, kept_[i].step);
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
  lost_.clear();
  for (std::vector<bool>& of_tier : is_lost_) std::fill(of_tier.begin(), of_tier.end(), false);
  in_use_ = peak_ = {};
  loads_ = failures_ = 0;
}

}  // namespace hindsight

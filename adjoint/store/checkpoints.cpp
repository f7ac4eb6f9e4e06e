#include "adjoint/store/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hindsight {
namespace {

// Failures of transfers that a run lives with: so many, and a part of all.
constexpr std::int64_t always_forgiven = 3, one_in = 10;

}  // namespace

Checkpoints::Checkpoints(Tier memory, std::int64_t units, std::int64_t record_units, Pool& states,
                         std::array<SlotTier*, tier_count> tiers, const Communicator& comm, RecordKind kind)
    : memory_(memory), record_units_(record_units), kind_(kind), states_(states), tiers_(tiers), comm_(comm) {
  const auto m = index_of(memory);
  if (tiers_[m] == nullptr) {
    kept_.resize(static_cast<std::size_t>(units));
    held_[m].resize(kept_.size());
  }
  for (std::size_t t = 0; t < tier_count; ++t)
    if (tiers_[t] != nullptr) held_[t].resize(static_cast<std::size_t>(tiers_[t]->settings().slots));
}

Checkpoints::~Checkpoints() {
  for (Kept& kept : kept_) drop(kept);
}

int Checkpoints::prefetches() const {
  int sum = 0;
  for (const SlotTier* tier : tiers_) sum += tier != nullptr ? tier->settings().prefetch : 0;
  return sum;
}

PerTier Checkpoints::slow_slots() const {
  PerTier slots{};
  for (std::size_t t = 0; t < tier_count; ++t)
    if (tiers_[t] != nullptr) slots[t] = tiers_[t]->settings().slots;
  return slots;
}

void Checkpoints::write(Slot slot, const Buffer& state, std::int64_t step) {
  SlotTier& tier = *tier_of(slot);
  tier.save(slot.index, state, step);
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
  SlotTier& tier = *tier_of(slot);
  StepRecord record{tier.load(slot.index, states_), {}};
  ++loads_;
  if (!comm_.any(!record.base)) return record;
  record.reset();
  held(slot).is_lost = 1;
  // Its place may have been taken by others after the epoch that it was kept in: no sign of a bad disk.
  if (held(slot).is_inherited != 0) return record;
  if (++failures_ <= always_forgiven + loads_ / one_in) return record;
  throw ResourceError(fmt::format("{} of {} checkpoints could not be read back, too many to go on; the last: {}",
                                  failures_, loads_, comm_.first_text(tier.problem())));
}

CountedVector<Lost> Checkpoints::lost_between(std::int64_t first, std::int64_t last) const {
  constexpr std::size_t few = 64;
  std::size_t slots = 0;
  for (const auto& of_tier : held_) slots += of_tier.size();
  const std::size_t most = few + slots / per_lost;
  const auto is_earlier = [](const Lost& a, const Lost& b) {
    return a.step != b.step ? a.step < b.step : a.content < b.content;
  };
  CountedVector<Lost> found;  // a heap, the latest on top
  found.reserve(std::min(most, slots));
  for (std::size_t t = 0; t < tier_count; ++t)
    each_slot(t, [&](Slot slot) {
      const Held& here = held(slot);
      if (here.is_lost == 0 || here.step < first || here.step > last) return;
      const Lost lost{slot, here.step, here.is_record != 0 ? Content::record : Content::state, {}, -1};
      if (found.size() == most) {
        if (!is_earlier(lost, found.front())) return;
        std::pop_heap(found.begin(), found.end(), is_earlier);
        found.pop_back();
      }
      found.push_back(lost);
      std::push_heap(found.begin(), found.end(), is_earlier);
    });
  std::sort_heap(found.begin(), found.end(), is_earlier);
  look_before(found);
  return found;
}

void Checkpoints::look_before(std::span<Lost> by_step) const {
  for (Lost& lost : by_step) lost.step_before = -1;
  for (std::size_t t = 0; t < tier_count; ++t)
    each_slot(t, [&](Slot slot) {
      const Held& here = held(slot);
      if (here.is_lost != 0) return;
      const auto next = std::upper_bound(by_step.begin(), by_step.end(), std::int64_t{here.step},
                                         [](std::int64_t step, const Lost& lost) { return step < lost.step; });
      if (next == by_step.end() || next->step_before >= here.step) return;
      next->before = slot;
      next->step_before = here.step;
    });
  for (std::size_t i = 1; i < by_step.size(); ++i) {
    if (by_step[i].step_before >= by_step[i - 1].step_before) continue;
    by_step[i].before = by_step[i - 1].before;
    by_step[i].step_before = by_step[i - 1].step_before;
  }
}

void Checkpoints::look_before(Lost& lost) const {
  look_before({&lost, 1});
}

void Checkpoints::refill(const Lost& lost, StepRecord record) {
  release(lost.slot);
  save(lost.slot, std::move(record), lost.step, lost.content);
}

void Checkpoints::flush() {
  for (SlotTier* tier : tiers_)
    if (tier != nullptr) tier->flush();
}

void Checkpoints::save_places(BlockWriter& to, std::int64_t at_once, const KeepRecords& keep) const {
  ArchiveWriter& archive = to.archive();
  archive.write(std::vector<std::int64_t>(peak_.begin(), peak_.end()));
  for (const SlotTier* tier : tiers_)
    archive.write(tier != nullptr ? tier->places_outside() : std::vector<std::int64_t>());
  if (kept_.empty()) at_once = 0;
  std::vector<std::int64_t> places;
  std::vector<StepRecord> together;
  const auto keep_these = [&] {
    if (!together.empty()) places.push_back(keep(together));
    together.clear();
  };
  if (at_once > 0)
    each_slot(index_of(memory_), [&](Slot slot) {
      together.push_back(share(kept_[static_cast<std::size_t>(slot.index)], held(slot).is_record != 0));
      if (std::ssize(together) == at_once) keep_these();
    });
  keep_these();
  archive.write(at_once);
  archive.write(places);
}

void Checkpoints::pass_over(const Action& action) {
  const auto lose = [&](Slot slot, std::int64_t step, bool is_record) {
    hold(slot, step, is_record);
    held(slot).is_lost = 1;
  };
  if (const auto* save = std::get_if<Save>(&action))
    lose(save->slot, save->step, save->content == Content::record && (record_units_ > 1 || kind_ != RecordKind::state));
  if (const auto* release = std::get_if<Release>(&action)) let_go(release->slot);
  if (const auto* move = std::get_if<Move>(&action)) {
    lose(move->to, step_of(move->from), held(move->from).is_record != 0);
    let_go(move->from);
  }
}

void Checkpoints::restore_places(BlockReader& from, const ReadRecords& read) {
  const bool is_own = !comm_.any(!from.is_own());
  const auto peak = from.get<std::vector<std::int64_t>>();
  std::copy_n(peak.begin(), std::min(peak.size(), peak_.size()), peak_.begin());
  for (std::size_t t = 0; t < tier_count; ++t) {
    const auto places = from.all<std::vector<std::int64_t>>();
    if (tiers_[t] == nullptr) continue;
    each_slot(t, [&](Slot slot) { held(slot).is_inherited = 1; });
    if (is_own) find_places(static_cast<Tier>(t), tiers_[t]->adopt(places[0]));
  }
  const auto at_once = from.get<std::int64_t>();
  const auto places = from.all<std::vector<std::int64_t>>();
  if (is_own && at_once > 0 && !kept_.empty()) restore_records(places[0], static_cast<std::size_t>(at_once), read);
}

/// What all ranks found is not lost.
void Checkpoints::find_places(Tier tier, const std::vector<bool>& is_there) {
  constexpr std::size_t at_once = 1024;
  CountedVector<Held>& all = held_[index_of(tier)];
  std::array<double, at_once> missing{};
  for (std::size_t first = 0; first < all.size(); first += at_once) {
    const std::size_t count = std::min(at_once, all.size() - first);
    for (std::size_t i = 0; i < count; ++i) missing[i] = is_there[first + i] ? 0.0 : 1.0;
    comm_.sum({missing.data(), count});
    for (std::size_t i = 0; i < count; ++i)
      if (all[first + i].step >= 0 && missing[i] == 0.0) all[first + i].is_lost = 0;
  }
}

/// Groups that are damaged on some rank stay lost.
void Checkpoints::restore_records(const std::vector<std::int64_t>& places, std::size_t at_once,
                                  const ReadRecords& read) {
  std::vector<Slot> group;
  std::size_t next = 0;
  const auto restore_these = [&] {
    if (group.empty()) return;
    std::vector<StepRecord> records(group.size());
    try {
      comm_.together([&] {
        if (next >= places.size()) throw ResourceError("the journal has the places of fewer checkpoints");
        read(places[next], records);
      });
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (!records[i].base) continue;  // it was lost then, on all ranks
        Held& now = held(group[i]);
        kept_[static_cast<std::size_t>(group[i].index)] =
            detach(records[i], now.is_record != 0 ? Content::record : Content::state);
        now.is_lost = 0;
      }
    } catch (const ResourceError&) {
    }
    ++next;
    group.clear();
  };
  each_slot(index_of(memory_), [&](Slot slot) {
    group.push_back(slot);
    if (group.size() == at_once) restore_these();
  });
  restore_these();
}

void Checkpoints::finish() {
  for (SlotTier* tier : tiers_)
    if (tier != nullptr) tier->finish();
}

void Checkpoints::clear() {
  // A sweep that came to its end has left none of them.
  if (in_use_[index_of(memory_)] > 0)
    for (Kept& kept : kept_) drop(kept);
  for (std::size_t t = 0; t < tier_count; ++t) {
    if (tiers_[t] != nullptr) tiers_[t]->clear();
    if (in_use_[t] > 0) std::fill(held_[t].begin(), held_[t].end(), Held{});
  }
  in_use_ = peak_ = {};
  loads_ = failures_ = 0;
}

}  // namespace hindsight

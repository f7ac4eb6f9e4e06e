// What the slots of all tiers hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/store/pool.hpp"
#include "adjoint/store/slot_tier.hpp"
#include "runtime/communicator.hpp"
#include "runtime/error.hpp"
#include "solvers/grid/block_archive.hpp"

namespace hindsight {

/// What reversing a step needs: the state it starts from and its stages. Where states have two levels there are no
/// stages, and the first level alone may be all that is needed.
struct StepRecord {
  Buffer base, stages;
  void reset() {
    base.reset();
    stages.reset();
  }
};

/// A tier has no room for what was planned: all ranks throw it together. Plan again with the slots that fit.
class TierIsFull : public ResourceError {
 public:
  TierIsFull(Tier tier, std::int64_t slots_that_fit, const std::string& message)
      : ResourceError(message), tier_(tier), slots_that_fit_(slots_that_fit) {}
  Tier tier() const { return tier_; }
  std::int64_t slots_that_fit() const { return slots_that_fit_; }

 private:
  Tier tier_;
  std::int64_t slots_that_fit_;
};

/// A checkpoint that has to be computed again: its slot was damaged, or died with the process that filled it.
struct Lost {
  Slot slot;
  std::int64_t step = 0;
  Content content = Content::state;
  Slot before;                    ///< holds the latest state before that one which is not lost
  std::int64_t step_before = -1;  ///< -1: there is none
};

/// The slots of all tiers, made before the first step: nothing is allocated while stepping. The memory that states are
/// made in holds references to buffers, states and records alike; a tier with a SlotTier holds states there. Slots of
/// those are saved and loaded by all ranks together.
class Checkpoints {
  /// What a slot holds. It is lost when it is to be computed again before it can be loaded.
  struct Held {
    std::int64_t step : 56 = -1;  // -1: the slot is free
    std::uint64_t is_record : 1 = 0, is_lost : 1 = 0;
    std::uint64_t is_inherited : 1 = 0;  // of a slow tier: an earlier process wrote it
  };
  static_assert(sizeof(Held) == 8);
  /// References of a slot in memory; `more` are the stages of a record, or the level before of a state.
  struct Kept {
    std::uint32_t base = Pool::none, more = Pool::none;
  };
  /// Slots per one of the lost ones that are looked at together.
  static constexpr std::int64_t per_lost = 64;
  static constexpr std::int64_t lost_bytes = 1;

 public:
  /// Host memory that is kept about each slot, of the memory that states are made in and of slow tiers.
  static constexpr std::int64_t table_bytes = sizeof(Held) + sizeof(Kept) + lost_bytes;
  static constexpr std::int64_t slow_table_bytes = sizeof(Held) + lost_bytes;

  /// What a record of one unit is: a state; a state with a trail behind it (SpanStepper); of a state of two levels the
  /// first one alone.
  enum class RecordKind { state, trail, first_level };
  /// @param memory that states are made in. @param units of one state there. @param record_units that a record with
  /// stages takes. @param states gives the buffers that states are read back into; must outlive this. @param tiers
  /// null: references.
  Checkpoints(Tier memory, std::int64_t units, std::int64_t record_units, Pool& states,
              std::array<SlotTier*, tier_count> tiers, const Communicator& comm, RecordKind kind = RecordKind::state);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// @param record of buffers of the pool. @param step of the state, or of the state that the record starts from.
  /// @throws TierIsFull
  void save(Slot slot, StepRecord record, std::int64_t step, Content content = Content::state) {
    hold(slot, step, record.stages || (kind_ != RecordKind::state && content == Content::record));
    if (tier_of(slot) == nullptr) {
      kept_[static_cast<std::size_t>(slot.index)] = detach(record, content);
    } else {
      write(slot, record.base, step);
    }
  }
  /// A record without base: the slot is lost. @throws ResourceError when too many are found damaged.
  StepRecord load(Slot slot) {
    if (held(slot).is_lost != 0) return {};
    if (tier_of(slot) != nullptr) return read(slot);
    return share(kept_[static_cast<std::size_t>(slot.index)], held(slot).is_record != 0);
  }
  void release(Slot slot) {
    if (tier_of(slot) == nullptr) {
      drop(kept_[static_cast<std::size_t>(slot.index)]);
    } else {
      tier_of(slot)->release(slot.index);
    }
    let_go(slot);
  }
  /// Begins to read a slot that will be loaded. @returns false when it cannot be done now.
  bool prefetch(Slot slot) {
    if (held(slot).step < 0) return false;
    return held(slot).is_lost != 0 || tiers_[index_of(slot.tier)]->prefetch(slot.index, states_);
  }
  /// Per tier: slots that are copies in another place, 0 where they are references.
  PerTier slow_slots() const;
  /// Whether there is such a slot; what is asked of others, and of what is not in them, is not looked at.
  bool has(Slot slot) const {
    return static_cast<std::uint64_t>(slot.index) < static_cast<std::uint64_t>(slots(slot.tier));
  }
  std::int64_t slots(Tier tier) const { return std::ssize(held_[index_of(tier)]); }
  /// Of the state in a slot; -1: it is free.
  std::int64_t step_of(Slot slot) const { return held(slot).step; }
  /// Whether what a slot holds can be reversed.
  bool has_record(Slot slot) const {
    return (record_units_ == 1 && kind_ == RecordKind::state) ||
           (held(slot).is_record != 0 && tier_of(slot) == nullptr);
  }
  /// Slots that are read ahead, over all tiers, at most.
  int prefetches() const;

  /// What is lost of steps from `first` to `last`, by step, states before records; of much the earliest alone. Looks at
  /// all slots twice.
  CountedVector<Lost> lost_between(std::int64_t first, std::int64_t last) const;
  /// What was lost takes its place again.
  void refill(const Lost& lost, StepRecord record);
  /// Where to begin to compute it again, now that more slots may be lost. Looks at all slots.
  void look_before(Lost& lost) const;

  /// Waits for transfers that nobody waits for any more.
  void finish();
  /// What slots hold outside of memory has reached its device, as far as it can.
  void flush();
  /// What the sweep's actions do not tell: where that is which is not in memory, or will not be.
  /// @param keep keeps what some slots in memory hold, records without base for lost ones, and says where.
  /// @param at_once slots whose records are kept together, at most; 0: none are kept.
  using KeepRecords = std::function<std::int64_t(std::span<const StepRecord>)>;
  void save_places(BlockWriter& to, std::int64_t at_once, const KeepRecords& keep) const;
  /// An action that an earlier process executed: slots hold what it says, and are lost until restore_places().
  void pass_over(const Action& action);
  /// Slots that are not found where they were stay lost. @param read reads what was kept of some slots. Collective.
  using ReadRecords = std::function<void(std::int64_t place, std::span<StepRecord>)>;
  void restore_places(BlockReader& from, const ReadRecords& read);
  /// Forgets everything, that of a sweep that was broken off too.
  void clear();
  /// Units of memory that hold something by reference.
  std::int64_t units_in_memory() const { return kept_.empty() ? 0 : in_use_[index_of(memory_)]; }
  /// Units in use at most since clear(), per tier.
  const PerTier& peak() const { return peak_; }

 private:
  SlotTier* tier_of(Slot slot) const { return tiers_[index_of(slot.tier)]; }
  Held& held(Slot slot) { return held_[index_of(slot.tier)][static_cast<std::size_t>(slot.index)]; }
  const Held& held(Slot slot) const { return held_[index_of(slot.tier)][static_cast<std::size_t>(slot.index)]; }
  void hold(Slot slot, std::int64_t step, bool is_record) {
    Held& now = held(slot);
    now.step = step;
    now.is_record = is_record ? 1 : 0;
    now.is_inherited = 0;
    const auto tier = index_of(slot.tier);
    in_use_[tier] += units_of(now);
    peak_[tier] = std::max(peak_[tier], in_use_[tier]);
  }
  void let_go(Slot slot) {
    Held& now = held(slot);
    in_use_[index_of(slot.tier)] -= units_of(now);
    now = {};
  }
  std::int64_t units_of(const Held& slot) const { return slot.is_record != 0 ? record_units_ : 1; }
  void drop(Kept& kept) {
    states_.drop(std::exchange(kept.base, Pool::none));
    states_.drop(std::exchange(kept.more, Pool::none));
  }
  Kept detach(StepRecord& record, Content content) const {
    const bool is_first_level = kind_ == RecordKind::first_level && content == Content::record;
    if (is_first_level) record.base.drop_before();
    const std::uint32_t more = record.stages ? record.stages.detach() : record.base.detach_before();
    return {record.base.detach(), more};
  }
  /// Another reference to it. A record that is held as one has stages, if anything.
  StepRecord share(const Kept& kept, bool is_record) const {
    if (is_record) return {states_.share(kept.base), states_.share(kept.more)};
    return {states_.share(kept.base, kept.more), {}};
  }
  void write(Slot slot, const Buffer& state, std::int64_t step);
  StepRecord read(Slot slot);
  /// Calls `visit(slot)` for all slots of a tier that hold something, lost ones included.
  template <class Visit>
  void each_slot(std::size_t tier, Visit visit) const {
    for (std::size_t i = 0; i < held_[tier].size(); ++i)
      if (held_[tier][i].step >= 0) visit(Slot{static_cast<Tier>(tier), static_cast<std::int64_t>(i)});
  }
  void look_before(std::span<Lost> by_step) const;
  void find_places(Tier tier, const std::vector<bool>& is_there);
  void restore_records(const std::vector<std::int64_t>& places, std::size_t at_once, const ReadRecords& read);

  Tier memory_;
  std::int64_t record_units_;
  RecordKind kind_;
  Pool& states_;
  CountedVector<Kept> kept_;  // in memory, by reference
  std::array<CountedVector<Held>, tier_count> held_;
  PerTier in_use_{}, peak_{};
  std::array<SlotTier*, tier_count> tiers_;
  Communicator comm_;
  std::int64_t loads_ = 0, failures_ = 0;
};

}  // namespace hindsight

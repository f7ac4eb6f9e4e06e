// What the slots of all tiers hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/store/pool.hpp"
#include "adjoint/store/slot_tier.hpp"
#include "solvers/grid/block_archive.hpp"
#include "src/communicator.hpp"
#include "src/error.hpp"

namespace hindsight {

/// What reversing a step needs: the state it starts from and its stages.
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
  std::int64_t step;
  Content content;
};

/// The slots of all tiers, made before the first step: nothing is allocated while stepping. The memory that states are
/// made in holds references to buffers, states and records alike; a tier with a SlotTier holds states there. Slots of
/// those are saved and loaded by all ranks together.
class Checkpoints {
 public:
  /// @param memory that states are made in. @param units of one state there. @param record_units that a record with
  /// stages takes. @param states gives the buffers that states are read back into; must outlive this. @param tiers
  /// null: references.
  Checkpoints(Tier memory, std::int64_t units, std::int64_t record_units, Pool& states,
              std::array<SlotTier*, tier_count> tiers, const Communicator& comm);

  /// @param step of the state, or of the state that the record starts from. @throws TierIsFull
  void save(Slot slot, StepRecord record, std::int64_t step) {
    const auto tier = static_cast<std::size_t>(slot.tier);
    in_use_[tier] += record.stages ? record_units_ : 1;
    peak_[tier] = std::max(peak_[tier], in_use_[tier]);
    if (tiers_[tier] == nullptr) {
      kept_[static_cast<std::size_t>(slot.index)] = {std::move(record), step};
    } else {
      write(slot, record.base, step);
    }
  }
  /// A record without base: the slot is lost. @throws ResourceError when too many are found damaged.
  StepRecord load(Slot slot) {
    if (!lost_.empty() && is_lost(slot)) return {};
    if (tiers_[static_cast<std::size_t>(slot.tier)] == nullptr)
      return kept_[static_cast<std::size_t>(slot.index)].record;
    return read(slot);
  }
  void release(Slot slot) {
    const auto tier = static_cast<std::size_t>(slot.tier);
    std::int64_t units = 1;
    if (!lost_.empty() && is_lost(slot)) {
      units = units_of(give_up(slot));
    } else if (tiers_[tier] == nullptr) {
      Kept& kept = kept_[static_cast<std::size_t>(slot.index)];
      if (kept.record.stages) units = record_units_;
      kept.record.reset();
      kept.step = -1;
    } else {
      forget(slot);
    }
    in_use_[tier] -= units;
  }
  /// Begins to read a slot that will be loaded. @returns false when it cannot be done now.
  bool prefetch(Slot slot) {
    if (!lost_.empty() && is_lost(slot)) return true;
    return tiers_[static_cast<std::size_t>(slot.tier)]->prefetch(slot.index, states_);
  }
  /// Per tier: slots that are copies in another place, 0 where they are references.
  PerTier slow_slots() const;
  /// Of the state in a slot.
  std::int64_t step_of(Slot slot) const;
  /// Slots that are read ahead, over all tiers, at most.
  int prefetches() const;

  /// What is lost of steps up to this one, by step.
  std::vector<Lost> lost_up_to(std::int64_t step) const;
  /// What was lost takes its place again.
  void refill(const Lost& lost, StepRecord record);
  struct Found {
    Slot slot;
    std::int64_t step;
  };
  /// The latest state before `step` in a slot that is not lost.
  std::optional<Found> latest_before(std::int64_t step) const;

  /// Waits for transfers that nobody waits for any more.
  void finish();
  /// What slots hold outside of memory has reached its device, as far as it can.
  void flush();
  static constexpr std::int64_t not_kept = -1;
  /// Which slots hold what, and where outside of memory. @param keep keeps what is held in memory and says where, or
  /// not_kept.
  void save_table(BlockWriter& to, const std::function<std::int64_t(const StepRecord&)>& keep) const;
  /// Slots that are not found where they were are lost. @param read what was kept at a place. Collective.
  void restore_table(BlockReader& from, const std::function<StepRecord(std::int64_t)>& read);
  /// Forgets everything, that of a sweep that was broken off too.
  void clear();
  /// Units of memory that hold something by reference.
  std::int64_t units_in_memory() const { return kept_.empty() ? 0 : in_use_[static_cast<std::size_t>(memory_)]; }
  /// Units in use at most since clear(), per tier.
  const PerTier& peak() const { return peak_; }

 private:
  struct Kept {
    StepRecord record;
    std::int64_t step = -1;
  };
  void write(Slot slot, const Buffer& state, std::int64_t step);
  StepRecord read(Slot slot);
  void forget(Slot slot);
  bool is_lost(Slot slot) const {
    return is_lost_[static_cast<std::size_t>(slot.tier)][static_cast<std::size_t>(slot.index)];
  }
  void lose(const Lost& lost);
  Lost give_up(Slot slot);
  std::int64_t units_of(const Lost& lost) const { return lost.content == Content::record ? record_units_ : 1; }
  std::vector<Lost> used() const;
  std::int64_t& slow_step(Slot slot) {
    return steps_[static_cast<std::size_t>(slot.tier)][static_cast<std::size_t>(slot.index)];
  }

  Tier memory_;
  std::int64_t record_units_;
  Pool& states_;
  std::vector<Kept> kept_;                                   // in memory, by reference
  std::array<std::vector<std::int64_t>, tier_count> steps_;  // of slots in slow tiers; -1: free
  std::array<std::vector<bool>, tier_count> inherited_;      // of them, those that an earlier process wrote
  std::vector<Lost> lost_;
  std::array<std::vector<bool>, tier_count> is_lost_;  // of all slots, which are in lost_
  PerTier in_use_{}, peak_{};
  std::array<SlotTier*, tier_count> tiers_;
  Communicator comm_;
  std::int64_t loads_ = 0, failures_ = 0;
};

}  // namespace hindsight

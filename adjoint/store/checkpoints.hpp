// What the slots of all tiers hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/store/pool.hpp"

namespace hindsight {

/// What reversing a step needs: the state it starts from and its stages.
struct StepRecord {
  Buffer base, stages;
  void reset() {
    base.reset();
    stages.reset();
  }
};

/// Numbered places for states outside the memory that steps work in. Transfers copy, and block until they are done.
class SlotStore {
 public:
  virtual ~SlotStore() = default;
  virtual std::int64_t slots() const = 0;
  virtual void write(std::int64_t slot, const double* state) = 0;
  virtual void read(std::int64_t slot, double* state) = 0;
};

/// Memory with a delay: stands for a slower tier, to study schedules. @param seconds of one transfer at least.
class DelayedMemory final : public SlotStore {
 public:
  DelayedMemory(std::int64_t slots, std::int64_t doubles_each, double write_seconds, double read_seconds);
  std::int64_t slots() const override { return slots_; }
  void write(std::int64_t slot, const double* state) override;
  void read(std::int64_t slot, double* state) override;

 private:
  std::int64_t slots_, each_;
  double write_seconds_, read_seconds_;
  Memory memory_;
};

/// The slots of all tiers, made before the first step: nothing is allocated while stepping. Host memory holds
/// references to buffers, states and records alike; the other tiers hold copies of states.
class Checkpoints {
 public:
  /// @param host_units of one state. @param record_units that a record with stages takes. @param states gives the
  /// buffers that states are read back into; must outlive this.
  Checkpoints(std::int64_t host_units, std::int64_t record_units, Pool& states,
              std::array<SlotStore*, tier_count> others);

  void save(Slot slot, StepRecord record) {
    const auto tier = static_cast<std::size_t>(slot.tier);
    in_use_[tier] += record.stages ? record_units_ : 1;
    peak_[tier] = std::max(peak_[tier], in_use_[tier]);
    if (slot.tier == Tier::host) {
      host_[static_cast<std::size_t>(slot.index)] = std::move(record);
    } else {
      other(slot.tier).write(slot.index, record.base.data());
    }
  }
  StepRecord load(Slot slot) {
    if (slot.tier == Tier::host) return host_[static_cast<std::size_t>(slot.index)];
    return read(slot);
  }
  void release(Slot slot) {
    std::int64_t units = 1;
    if (slot.tier == Tier::host) {
      StepRecord& record = host_[static_cast<std::size_t>(slot.index)];
      if (record.stages) units = record_units_;
      record.reset();
    }
    in_use_[static_cast<std::size_t>(slot.tier)] -= units;
  }
  /// Forgets everything, that of a sweep that was broken off too.
  void clear();
  /// Units in use at most since clear(), per tier.
  const PerTier& peak() const { return peak_; }

 private:
  SlotStore& other(Tier tier) const { return *others_[static_cast<std::size_t>(tier)]; }
  StepRecord read(Slot slot);

  std::int64_t record_units_;
  Pool& states_;
  std::vector<StepRecord> host_;
  PerTier in_use_{}, peak_{};
  std::array<SlotStore*, tier_count> others_;
};

}  // namespace hindsight

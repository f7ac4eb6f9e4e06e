// Which slots to read ahead: a second run through a schedule's actions, ahead of the first.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "adjoint/schedule/schedule.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

/// Looks for loads from slow tiers among the actions to come, as many as are read ahead at most. A slot may be read
/// when its last save before that load is done. Allocates only when it is made.
class Prefetcher {
 public:
  /// Memory that is kept about each slot that may be read ahead.
  static constexpr std::int64_t table_bytes = sizeof(std::int64_t);
  /// @param ahead the actions that will be executed, not of an online schedule. @param most slots read ahead at most.
  /// @param slots per tier whose loads are worth it, 0 for others.
  Prefetcher(ActionStream ahead, int most, const PerTier& slots);

  /// In place of before(), for an action that was executed by an earlier process.
  void pass_over(const Action& action) { follow(action); }
  /// To be called before each action is executed. @param begin starts to read a slot, or says that it cannot now.
  template <class Begin>
  void before(const Action& action, const Begin& begin) {
    look_ahead();
    for (Coming& coming : coming_) {
      if (coming.has_begun) continue;
      if (coming.saved_at >= position_ || !begin(coming.slot)) break;
      coming.has_begun = true;
    }
    follow(action);
  }

 private:
  struct Coming {
    Slot slot;
    std::int64_t saved_at;  ///< number of the action that must be done before
    bool has_begun;
  };
  /// None that there is not is.
  bool is_slow(Slot slot) const {
    return static_cast<std::uint64_t>(slot.index) < saved_at_[index_of(slot.tier)].size();
  }
  std::int64_t& saved_at(Slot slot) { return saved_at_[index_of(slot.tier)][static_cast<std::size_t>(slot.index)]; }
  void look_ahead();
  void look_at(const Action& action);
  void follow(const Action& action);

  ActionStream stream_;
  std::size_t most_;
  std::int64_t position_ = 0, ahead_ = 0;  // actions executed and looked at
  bool has_ended_ = false;
  std::vector<Coming> coming_;  // in the order of their loads
  std::array<CountedVector<std::int64_t>, tier_count> saved_at_;
};

}  // namespace hindsight

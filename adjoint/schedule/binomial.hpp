// Reversal of a segment with equal slots: the binomial numbers of Revolve, its cost, and its actions one by one.
//
// beta(s, r) = C(s+r, s) is the longest segment that s slots reverse when no step is advanced more than r times
// (Griewank, Walther 2000, TOMS 799). All counts are 64 bits wide and saturate at `endless`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "adjoint/schedule/action.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

inline constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

/// C(s+r, s), or `endless` where it is larger; s, r >= 0.
std::int64_t beta(std::int64_t s, std::int64_t r);
/// The least r with beta(s, r) >= length; length, s >= 1.
std::int64_t repetition(std::int64_t length, std::int64_t s);
/// The fewest plain steps that reverse `length` steps with s slots, r*length - C(s+r, r-1); `endless` if it overflows.
std::int64_t binomial_plain_steps(std::int64_t length, std::int64_t s);

/// A few actions that belong together.
class ActionBatch {
 public:
  void clear() { size_ = 0; }
  void add(const Action& action) { actions_[size_++] = action; }
  const Action* begin() const { return actions_.data(); }
  const Action* end() const { return actions_.data() + size_; }

 private:
  std::array<Action, 8> actions_;
  std::size_t size_ = 0;
};

/// Where the checkpoints of a sweep lie: the one of its first state, and the others by depth of nesting.
class SlotOrder {
 public:
  /// Depth 0 in `first`, depth d in slot d-1 after `next`.
  SlotOrder(Slot first, Slot next) : first_(first), next_(next) {}
  /// Depth d in table[d], which must outlive this.
  explicit SlotOrder(const Slot* table) : table_(table) {}
  /// Depth 0 in `first`, depth d in others[d-1], which must outlive this.
  SlotOrder(Slot first, const Slot* others) : first_(first), table_(others), from_(1) {}
  Slot operator[](std::size_t depth) const {
    if (table_ != nullptr) return depth < from_ ? first_ : table_[depth - from_];
    return depth == 0 ? first_ : Slot{next_.tier, next_.index + static_cast<std::int64_t>(depth) - 1};
  }

 private:
  Slot first_, next_;
  const Slot* table_ = nullptr;
  std::size_t from_ = 0;  // depth of the table's first entry
};

/// Reverses steps begin to end-1 with the fewest plain steps for `slots` slots, the one of state `begin` included.
/// Turns when it reaches `last`, the last step of the run. Memory: one entry per slot in use.
class BinomialSweep {
 public:
  struct Segment {
    std::int64_t begin, end, slots;
    std::int64_t last = -1;  ///< the run's last step if this sweep is to turn there
    bool is_live = true;     ///< state `begin` is live
    bool is_kept = false;    ///< state `begin` is in its slot already, and stays there at the end
  };
  BinomialSweep(const Segment& segment, SlotOrder order);
  /// Another segment; allocates nothing when it has no more slots, or steps, than the one before.
  void restart(const Segment& segment, SlotOrder order);
  /// Memory that a sweep over so many steps with so many slots takes.
  static std::int64_t bytes(std::int64_t length, std::int64_t slots) {
    return std::max<std::int64_t>(1, std::min(slots, length)) * static_cast<std::int64_t>(sizeof(Part));
  }
  /// How often a sweep over `length` steps sets out from its first state. Takes time like the number of repetitions.
  static std::int64_t starts(std::int64_t length, std::int64_t slots);
  /// The next actions; false after the last.
  bool next(ActionBatch& batch);

 private:
  /// Ends where the one above it begins, and has a slot more.
  struct Part {
    std::int64_t begin;
    std::int64_t r;      ///< repetition
    std::int64_t below;  ///< beta(slots, r-1), less than the length
  };
  static Part first_part(std::int64_t begin, std::int64_t length, std::int64_t slots);
  static Part split(Part& part, std::int64_t end, std::int64_t slots);

  CountedVector<Part> open_;  // the latest in time on top; the state at the begin of each is in the slot of its depth
  std::int64_t end_ = 0, slots_ = 0;  // of the part on top; of the lowest
  SlotOrder order_;
  std::int64_t last_ = -1;
  bool live_ = true, kept_ = false, started_ = false;
};

}  // namespace hindsight

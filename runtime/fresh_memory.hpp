// What host memory takes that is written for the first time.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/memory.hpp"

namespace hindsight {

/// Takes memory and keeps it as long as it lives: some lies ready, and is had many times faster than what a virtual
/// machine has to ask for. What was taken lies ready for others once this is gone. Counts as all Memory does.
class FreshMemory {
 public:
  /// @param piece bytes that are taken at once, with what is counted beside the doubles in them; some KiB at least.
  explicit FreshMemory(std::int64_t piece);

  /// Takes whole pieces, until one more would be more bytes in all or memory was met that did not lie ready.
  /// @throws as Memory does.
  void take_up_to(std::int64_t bytes);
  std::int64_t bytes() const { return Memory::bytes_of(doubles_) * static_cast<std::int64_t>(pieces_.size()); }
  bool has_met_unready() const { return unready_.pieces >= enough_; }
  /// Seconds of a byte, once a piece was taken: of what lies ready, and of what does not (0: not enough of it was met).
  double ready_seconds() const;
  double unready_seconds() const { return has_met_unready() ? of_byte(unready_) : 0.0; }

 private:
  struct Writes {
    double seconds = 0.0;
    int pieces = 0;
    void add(double taken) {
      seconds += taken;
      ++pieces;
    }
  };
  void take_piece();
  std::int64_t piece_bytes() const { return doubles_ * static_cast<std::int64_t>(sizeof(double)); }
  double of_byte(const Writes& writes) const {
    return writes.seconds / static_cast<double>(writes.pieces * piece_bytes());
  }

  static constexpr int enough_ = 2;  // pieces that tell what more of them take
  std::int64_t doubles_;
  std::vector<Memory> pieces_;
  Writes ready_, unready_, again_;
};

}  // namespace hindsight

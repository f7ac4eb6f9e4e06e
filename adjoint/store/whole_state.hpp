// The state that others are stored as differences to.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "adjoint/store/medium.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

/// The last state that was coded whole, as it will be decoded, and where its bytes are stored. Transfer threads take
/// turns: who codes as number n sees what the turns before n left. All memory is made by the constructor.
class WholeState {
 public:
  explicit WholeState(std::int64_t bytes) : cells_(Memory::pages(bytes)) {}

  /// The object is its holder's alone while it lives.
  class Turn {
   public:
    /// Waits for the turns before this one, which other threads must be at: jobs begin in the order of their turns.
    Turn(WholeState& whole, std::int64_t number);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    WholeState& whole_;
  };
  /// While no turn is taken or waited for: the next one has this number.
  void restart(std::int64_t number) {
    next_ = number;
    stored = {};
  }

  double* cells() const { return cells_.data(); }
  StoredBytes stored;  ///< no page: the cells mean nothing

 private:
  Memory cells_;
  std::mutex mutex_;
  std::condition_variable passed_;
  std::int64_t next_ = 0;
};

}  // namespace hindsight

// What the steps of a sweep leave behind for walking back over them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "adjoint/problem/discretisation.hpp"
#include "adjoint/sweep/sweep_keeper.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

/// Memory of the host for all steps of a sweep, one after another (Stepper::left_behind()).
class WalkTape {
 public:
  explicit WalkTape(const Discretisation& problem)
      : communicator_(problem.grid().communicator()), shape_(problem.stepper().left_behind(problem.grid())) {}

  bool is_needed() const { return !shape_.arrays.empty(); }
  bool is_in_use() const { return is_in_use_; }
  /// Of each step, on this rank.
  std::int64_t bytes_per_step() const { return shape_.padded_bytes(); }
  /// Makes the memory for so many steps, or, with 0, frees it. Collective.
  void reserve(std::int64_t steps);

  /// Begins a sweep whose steps are walked back over, or one whose steps are not.
  void begin(bool is_wanted) {
    is_in_use_ = is_wanted && is_needed();
    written_ = 0;
    logged_.clear();
  }
  /// In use: of a step that is taken or, once it was, walked back over and reversed.
  double* of(std::int64_t step) const { return memory_.data() + step * shape_.padded_doubles; }
  /// Where a step that is taken writes.
  double* written_by(std::int64_t step) {
    written_ = std::max(written_, step + 1);
    while (!logged_.empty() && logged_.back().end() > step) logged_.pop_back();
    return of(step);
  }
  /// This step is reversed: nobody reads any more what it and later ones left.
  void forget_from(std::int64_t step) { written_ = std::min(written_, step); }

  /// As far as it is written and still read; steps that earlier saves have logged are named.
  void save(BlockWriter& to, SweepKeeper& keeper);
  void restore(BlockReader& from, SweepKeeper& keeper);

 private:
  /// Steps in the keeper's log.
  struct Piece {
    std::int64_t first, count, place;
    std::int64_t end() const { return first + count; }
  };
  Communicator communicator_;
  StateShape shape_;
  Memory memory_;
  bool is_in_use_ = false;
  std::int64_t written_ = 0;  // steps
  std::int64_t logged_at_once_ = 1;
  std::vector<Piece> logged_;
};

}  // namespace hindsight

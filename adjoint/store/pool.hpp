// Equal buffers for states and stages, all allocated before the first step, shared by counting.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/memory.hpp"

namespace hindsight {

class Pool;

/// A counted reference to one buffer of a pool, or to a chain of several; the pool must outlive it. A state is written
/// once, by the step that makes it, and only read afterwards (its ghosts excepted), so a checkpoint is a second
/// reference and costs no copy.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer& other);
  Buffer(Buffer&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), index_(other.index_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this == &other) return *this;
    reset();
    pool_ = std::exchange(other.pool_, nullptr);
    index_ = other.index_;
    return *this;
  }
  Buffer& operator=(const Buffer& other) { return *this = Buffer(other); }
  ~Buffer() { reset(); }
  void reset();
  /// Of the first buffer.
  double* data() const;
  /// Of all buffers of the chain, in order, written to `parts`.
  void data(double** parts) const;
  explicit operator bool() const { return pool_ != nullptr; }

 private:
  friend class Pool;
  Buffer(Pool* pool, std::int64_t index) : pool_(pool), index_(index) {}
  Pool* pool_ = nullptr;
  std::int64_t index_ = 0;
};

/// Not thread-safe. Neither acquiring nor releasing allocates.
class Pool {
 public:
  /// @param machine where the buffers are.
  Pool(std::int64_t buffers, std::int64_t doubles_each, Machine& machine = Machine::host());
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  /// @throws Error(bug) when all buffers are in use: the plan was wrong.
  Buffer acquire() {
    const std::int64_t index = take();
    count_[static_cast<std::size_t>(index)] = 1;
    next_[static_cast<std::size_t>(index)] = none;
    return {this, index};
  }
  /// A chain of `parts` buffers (at least one), which live and die together.
  Buffer acquire(int parts);
  std::int64_t bytes() const { return memory_.bytes(); }

 private:
  friend class Buffer;
  static constexpr std::int64_t none = -1;
  std::int64_t take() {
    if (free_count_ == 0) fail_empty();
    return free_[--free_count_];
  }
  void give_back(std::int64_t first) {
    for (std::int64_t index = first; index != none; index = next_[static_cast<std::size_t>(index)])
      free_[free_count_++] = index;
  }
  [[noreturn]] static void fail_empty();

  Memory memory_;
  std::int64_t each_;
  std::vector<std::uint32_t> count_;  // of references, for the first buffer of a chain
  std::vector<std::int64_t> next_;    // in a chain
  std::vector<std::int64_t> free_;    // the first free_count_ are free, the last of them is taken next
  std::size_t free_count_ = 0;
};

inline Buffer::Buffer(const Buffer& other) : pool_(other.pool_), index_(other.index_) {
  if (pool_ != nullptr) ++pool_->count_[static_cast<std::size_t>(index_)];
}

inline void Buffer::reset() {
  if (pool_ != nullptr && --pool_->count_[static_cast<std::size_t>(index_)] == 0) pool_->give_back(index_);
  pool_ = nullptr;
}

inline double* Buffer::data() const {
  return pool_->memory_.data() + index_ * pool_->each_;
}

}  // namespace hindsight

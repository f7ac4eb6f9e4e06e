// Equal buffers for states and stages, all allocated before the first step, shared by counting.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/memory.hpp"
#include "solvers/grid/state_shape.hpp"

namespace hindsight {

class Pool;

/// A counted reference to one buffer of a pool, to a chain of several, or to the two levels of a state (StateBlocks);
/// the pool must outlive it. A state that several refer to is only read (its ghosts excepted), so a checkpoint is a
/// second reference and costs no copy; one that is alone may be overwritten by the step that follows.
class Buffer {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;
  Buffer() = default;
  Buffer(const Buffer& other);
  Buffer(Buffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        index_(other.index_),
        before_(std::exchange(other.before_, std::uint32_t{none})) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this == &other) return *this;
    reset();
    pool_ = std::exchange(other.pool_, nullptr);
    index_ = other.index_;
    before_ = std::exchange(other.before_, std::uint32_t{none});
    return *this;
  }
  Buffer& operator=(const Buffer& other) { return *this = Buffer(other); }
  ~Buffer() { reset(); }
  void reset();
  /// Of the first buffer.
  double* data() const;
  /// The levels of a state.
  StateBlocks blocks() const;
  /// Whether nothing else refers to the first buffer.
  bool is_alone() const;
  /// The same of the level before, which there must be.
  bool is_level_before_alone() const;
  /// Each level takes the other's place.
  void exchange_levels() { std::swap(index_, before_); }
  /// Another's first buffer becomes the level before; it has none yet.
  void set_before(const Buffer& other);
  bool has_before() const { return before_ != none; }
  /// Another reference to the level before, which there must be, as a first buffer.
  Buffer level_before() const;
  /// Of all buffers of the chain, in order, written to `parts`.
  void data(double** parts) const;
  explicit operator bool() const { return pool_ != nullptr; }
  /// Gives the reference up, to be kept as a number: its pool's share() and drop() take it. Of an empty one: none. The
  /// level before has been given up.
  std::uint32_t detach();
  /// The same of the level before; none: there is none.
  std::uint32_t detach_before() { return std::exchange(before_, std::uint32_t{none}); }
  void drop_before();

 private:
  friend class Pool;
  Buffer(Pool* pool, std::uint32_t index, std::uint32_t before = none) : pool_(pool), index_(index), before_(before) {}
  Pool* pool_ = nullptr;
  std::uint32_t index_ = 0, before_ = none;
};

/// Not thread-safe. Neither acquiring nor releasing allocates. Buffers lie one after the other, and what is kept about
/// each of them takes eight bytes, so that states of one number are kept well too.
class Pool {
  /// Of each buffer: what follows in its chain, or in the list of free ones; references, of the first of a chain.
  struct Link {
    std::uint32_t next, count;
  };

 public:
  /// Host memory that is kept about each buffer.
  static constexpr std::int64_t table_bytes = sizeof(Link);
  static constexpr std::uint32_t none = Buffer::none;
  static constexpr std::int64_t most_buffers = none;
  /// @param buffers at most most_buffers. @param machine where the buffers are.
  Pool(std::int64_t buffers, std::int64_t doubles_each, Machine& machine = Machine::host());
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  /// @throws Error(bug) when all buffers are in use: the plan was wrong.
  Buffer acquire() {
    const std::uint32_t index = take();
    links_[index] = {none, 1};
    return {this, index};
  }
  /// A chain of `parts` buffers (at least one), which live and die together.
  Buffer acquire(int parts);
  /// Another reference to what was detached; none: empty. @param before detached from the level before; none: there is
  /// none.
  Buffer share(std::uint32_t index, std::uint32_t before = none) {
    if (index == none) return {};
    ++links_[index].count;
    if (before != none) ++links_[before].count;
    return {this, index, before};
  }
  /// Gives a detached reference back.
  void drop(std::uint32_t index) {
    if (index != none) release(index);
  }
  /// The levels of a state, as many as there are to be: each a buffer.
  Buffer acquire_levels(int levels) {
    Buffer state = acquire();
    if (levels > 1) state.set_before(acquire());
    return state;
  }
  std::int64_t bytes() const { return memory_.bytes(); }

 private:
  friend class Buffer;
  std::uint32_t take() {
    const std::uint32_t index = first_free_;
    if (index == none) fail_empty();
    first_free_ = links_[index].next;
    return index;
  }
  double* data_of(std::uint32_t index) const { return memory_.data() + static_cast<std::int64_t>(index) * each_; }
  void release(std::uint32_t index) {
    if (--links_[index].count == 0) give_back(index);
  }
  /// The last of a chain is taken first again.
  void give_back(std::uint32_t index) {
    while (index != none) {
      const std::uint32_t next = links_[index].next;
      links_[index].next = first_free_;
      first_free_ = index;
      index = next;
    }
  }
  [[noreturn]] static void fail_empty();

  Memory memory_;
  std::int64_t each_;
  CountedVector<Link> links_;
  std::uint32_t first_free_ = none;
};

inline Buffer::Buffer(const Buffer& other) : pool_(other.pool_), index_(other.index_), before_(other.before_) {
  if (pool_ != nullptr) ++pool_->links_[index_].count;
  if (before_ != none) ++pool_->links_[before_].count;
}

inline void Buffer::drop_before() {
  if (before_ != none) pool_->release(detach_before());
}

inline void Buffer::reset() {
  drop_before();
  if (pool_ != nullptr) pool_->release(index_);
  pool_ = nullptr;
}

inline void Buffer::set_before(const Buffer& other) {
  before_ = other.index_;
  ++pool_->links_[before_].count;
}

inline Buffer Buffer::level_before() const {
  return pool_->share(before_);
}

inline std::uint32_t Buffer::detach() {
  return std::exchange(pool_, nullptr) != nullptr ? index_ : Pool::none;
}

inline bool Buffer::is_alone() const {
  return pool_->links_[index_].count == 1;
}

inline bool Buffer::is_level_before_alone() const {
  return pool_->links_[before_].count == 1;
}

inline double* Buffer::data() const {
  return pool_->data_of(index_);
}

inline StateBlocks Buffer::blocks() const {
  return {data(), has_before() ? pool_->data_of(before_) : nullptr};
}

}  // namespace hindsight

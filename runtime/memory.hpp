// Memory that is counted: every array of states, records, slots, queues and scratch is one of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "runtime/host_allocation.hpp"
#include "runtime/machine.hpp"

namespace hindsight {

inline constexpr std::int64_t unlimited_bytes = std::int64_t{1} << 62U;

/// Bytes in use and at most, of one simulation on one rank. Not thread-safe: memory is made while setting up.
class MemoryAccount {
 public:
  /// From now on take() refuses what would lead beyond this many bytes.
  void set_limit(std::int64_t bytes) {
    limit_ = bytes;
    overdrawn_ = 0;
  }
  /// @throws Error(bug) beyond the limit: what was planned does not fit the budget.
  void take(std::int64_t bytes);
  /// The same for memory that cannot be refused where it is asked for: whoever asks must look at overdrawn() later.
  void take_anyway(std::int64_t bytes);
  void give_back(std::int64_t bytes) { used_ -= bytes; }
  std::int64_t used() const { return used_; }
  std::int64_t peak() const { return peak_; }
  /// The peak is counted from now on.
  void restart_peak() { peak_ = used_; }
  std::int64_t limit() const { return limit_; }
  /// At most, what was in use beyond the limit since that was set.
  std::int64_t overdrawn() const { return overdrawn_; }

 private:
  std::int64_t used_ = 0, peak_ = 0, limit_ = unlimited_bytes, overdrawn_ = 0;
};

/// While it lives, memory made by this thread counts in `account`; they may be nested.
class CountMemory {
 public:
  explicit CountMemory(std::shared_ptr<MemoryAccount> account);
  ~CountMemory();
  CountMemory(const CountMemory&) = delete;
  CountMemory& operator=(const CountMemory&) = delete;
  /// The account that this thread's memory counts in now; null: none.
  static const std::shared_ptr<MemoryAccount>& current();

 private:
  std::shared_ptr<MemoryAccount> outer_;
};

/// Bytes that count in the account that was current when this was made, wherever they are.
class CountedBytes {
 public:
  CountedBytes() = default;
  /// @throws Error(bug) beyond the account's limit.
  explicit CountedBytes(std::int64_t bytes) : account_(CountMemory::current()), bytes_(bytes) {
    if (account_) account_->take(bytes_);
  }
  ~CountedBytes() {
    if (account_) account_->give_back(bytes_);
  }
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;

 private:
  std::shared_ptr<MemoryAccount> account_;
  std::int64_t bytes_ = 0;
};

/// Of containers that count, in the account that was current when the container was made.
template <class T>
class CountedAllocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  CountedAllocator() : account_(CountMemory::current()) {}
  template <class U>
  CountedAllocator(const CountedAllocator<U>& other) : account_(other.account()) {}
  T* allocate(std::size_t count) {
    if (account_) account_->take(bytes_of(count));
    try {
      return static_cast<T*>(allocate_host(bytes_of(count), alignof(T)));
    } catch (...) {
      if (account_) account_->give_back(bytes_of(count));
      throw;
    }
  }
  void deallocate(T* place, std::size_t count) {
    free_host(place, bytes_of(count));
    if (account_) account_->give_back(bytes_of(count));
  }
  const std::shared_ptr<MemoryAccount>& account() const { return account_; }
  bool operator==(const CountedAllocator& other) const { return account_ == other.account_; }

 private:
  static std::int64_t bytes_of(std::size_t count) { return static_cast<std::int64_t>(count * sizeof(T)); }
  std::shared_ptr<MemoryAccount> account_;
};

template <class T>
using CountedVector = std::vector<T, CountedAllocator<T>>;

/// Aligned memory, zeroed, that has been touched once (first touch is slow and must not fall into the time loop; where
/// it takes a while, of more than 32 MiB, the process can be asked to stop meanwhile: Stopped is thrown).
class Memory {
 public:
  Memory() = default;
  /// Aligned to 64 bytes; large blocks begin staggered, so that they do not alias within a 4 KiB page.
  /// @param machine must outlive it.
  explicit Memory(std::int64_t doubles, Machine& machine = Machine::host());
  /// Whole pages of the host's memory, as transfers past the page cache need them.
  static Memory pages(std::int64_t bytes, Machine& host = Machine::host());
  Memory(Memory&& other) noexcept : machine_(other.machine_) { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept;
  ~Memory() { release(); }

  double* data() const { return block_ + offset_; }
  std::int64_t size() const { return size_; }  ///< in doubles
  /// What it takes from an account.
  std::int64_t bytes() const { return (offset_ + size_) * static_cast<std::int64_t>(sizeof(double)); }
  void clear();
  /// Of a block of so many doubles, at most.
  static constexpr std::int64_t most_stagger = 4096;
  static std::int64_t bytes_of(std::int64_t doubles);

 private:
  Memory(std::int64_t doubles, std::int64_t offset, std::int64_t alignment, Machine& machine);
  void release();
  Machine* machine_ = &Machine::host();
  double* block_ = nullptr;
  std::int64_t offset_ = 0, size_ = 0;
  std::shared_ptr<MemoryAccount> account_;
};

/// An array for the host to read: where it is, or a copy of a device's.
class HostView {
 public:
  HostView(Machine& machine, const double* array, std::int64_t count) : data_(array) {
    if (machine.is_host()) return;
    copy_.resize(static_cast<std::size_t>(count));
    machine.copy(copy_.data(), array, count);
    data_ = copy_.data();
  }
  const double* data() const { return data_; }
  double operator[](std::int64_t i) const { return data_[i]; }

 private:
  CountedVector<double> copy_;
  const double* data_;
};

}  // namespace hindsight

// Memory that lies several times in a row of addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/memory.hpp"

namespace hindsight {

/// Of the host, zeroed, touched once. What is written at one address is read at all that are a multiple of its size
/// away: rings of rows need no copies of the rows at their ends.
class RepeatedMemory {
 public:
  static constexpr std::int64_t times = 4;
  /// Sizes are multiples of it.
  static constexpr std::int64_t page = 4096;
  RepeatedMemory() = default;
  /// @param bytes which count once. @throws std::bad_alloc; Error(bug) beyond the current account's limit.
  explicit RepeatedMemory(std::int64_t bytes);
  RepeatedMemory(RepeatedMemory&& other) noexcept
      : counted_(std::move(other.counted_)),
        first_(std::exchange(other.first_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  RepeatedMemory& operator=(RepeatedMemory&&) = delete;
  ~RepeatedMemory();
  /// The first of them.
  double* data() const { return reinterpret_cast<double*>(first_); }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<CountedBytes> counted_;
  char* first_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace hindsight

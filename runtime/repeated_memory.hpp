// Memory that lies several times in a row of addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/memory.hpp"

namespace hindsight {

/// Of the host, zeroed. What is written at one address is read at all that are a multiple of its size away: rings of
/// rows need no copies of the rows at their ends. The first time is touched once; the system may count what is used of
/// the others again.
class RepeatedMemory {
 public:
  static constexpr std::int64_t times = 3;
  /// Bytes that sizes are multiples of: a page of the system's.
  static std::int64_t page();
  /// @param bytes which count once in the current account. @throws ResourceError; Error(bug) beyond the account's
  /// limit, and for other sizes.
  explicit RepeatedMemory(std::int64_t bytes);
  RepeatedMemory(RepeatedMemory&& other) noexcept
      : counted_(std::move(other.counted_)), first_(std::exchange(other.first_, nullptr)), bytes_(other.bytes_) {}
  RepeatedMemory& operator=(RepeatedMemory&&) = delete;
  ~RepeatedMemory();
  /// The first of them.
  double* data() const { return reinterpret_cast<double*>(first_); }

 private:
  std::unique_ptr<CountedBytes> counted_;
  char* first_ = nullptr;
  std::int64_t bytes_;
};

}  // namespace hindsight

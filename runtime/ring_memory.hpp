// Arrays of which the ends and a part that moves are in use, at addresses as if all of them were there.
#pragma once

#include <cstdint>

#include "runtime/memory.hpp"

namespace hindsight {

/// Of the host. Between its ends an array lies in the same pages again and again: what is written there stays until a
/// window's length further on is written. So what works on an array from one end to the other finds it in a cache, and
/// needs no other addresses than for all of it.
class RingMemory {
 public:
  /// In bytes.
  struct Layout {
    std::int64_t arrays = 1, stride = 0;  ///< from one array to the next
    std::int64_t lower = 0, upper = 0;    ///< of an array, at its begin and end: there it has memory of its own
    std::int64_t window = 0;              ///< of what is between, stays
  };
  /// Whether there is anything to be had: much less memory than all of it.
  static bool pays(const Layout& layout);
  RingMemory() = default;
  /// Zeroed. @throws ResourceError
  explicit RingMemory(const Layout& layout);
  RingMemory(RingMemory&& other) noexcept { *this = static_cast<RingMemory&&>(other); }
  RingMemory& operator=(RingMemory&& other) noexcept;
  ~RingMemory() { release(); }

  double* data() const { return static_cast<double*>(begin_); }

 private:
  void release();
  void map_ring(std::int64_t from, std::int64_t to, std::int64_t period);
  void* begin_ = nullptr;
  std::int64_t bytes_ = 0;
  std::unique_ptr<CountedBytes> counted_;
};

}  // namespace hindsight

// Lossless compression of blocks of bytes.
#pragma once

#include <cstdint>

namespace hindsight {

/// Holds its working memory from the start: neither call allocates. One per thread.
class Compressor {
 public:
  virtual ~Compressor() = default;
  /// @returns the bytes written; 0 when they would be more than `room`.
  virtual std::int64_t compress(const char* in, std::int64_t bytes, char* out, std::int64_t room) = 0;
  /// @returns whether `in` held exactly `room` bytes, which are then in `out`.
  virtual bool decompress(const char* in, std::int64_t bytes, char* out, std::int64_t room) = 0;
};

}  // namespace hindsight

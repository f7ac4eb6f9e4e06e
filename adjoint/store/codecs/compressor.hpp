// Lossless compression of blocks of bytes: lz4 and zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

std::unique_ptr<Compressor> make_lz4(int acceleration);
/// @param most_bytes that it will be given to compress at once: it takes the more memory the more these are.
std::unique_ptr<Compressor> make_zstd(int level, std::int64_t most_bytes);
/// By name: lz4 or zstd.
std::unique_ptr<Compressor> make_compressor(const std::string& name, int level, std::int64_t most_bytes);

}  // namespace hindsight

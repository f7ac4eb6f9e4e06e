// Numbers of any width as losslessly compressed blocks.
#pragma once

#include <cstdint>
#include <memory>

#include "adjoint/store/codecs/compressor.hpp"
#include "src/memory.hpp"

namespace hindsight {

/// Chunks of numbers that fit the cache, each as one block per byte plane (as one block without shuffle). A block is
/// its size (32 bits) and its bytes, which are compressed only where that makes them fewer: nothing grows beyond
/// bound().
class BlockCoder {
 public:
  static constexpr std::int64_t chunk = 32 * 1024;  ///< numbers
  BlockCoder(std::unique_ptr<Compressor> compressor, int width, bool shuffle);

  static std::int64_t bound(std::int64_t count, int width);
  /// @param out room for bound(). @returns its new end.
  char* encode(const char* numbers, std::int64_t count, char* out);
  /// Reads [in, end) only. @returns what follows the numbers; null when it is damaged.
  const char* decode(const char* in, const char* end, std::int64_t count, char* numbers);

 private:
  bool is_shuffled(std::int64_t count) const;
  char* put(const char* bytes, std::int64_t count, char* out);
  const char* get(const char* in, const char* end, std::int64_t count, char* bytes);

  std::unique_ptr<Compressor> compressor_;
  int width_;
  bool shuffle_;
  Memory planes_;
};

}  // namespace hindsight

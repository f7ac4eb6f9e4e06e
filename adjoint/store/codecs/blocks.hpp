// Numbers of any width as losslessly compressed blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "adjoint/store/codecs/compressor.hpp"
#include "adjoint/store/codecs/differences.hpp"
#include "runtime/memory.hpp"

namespace hindsight {

/// Numbers in chunks that fit the cache. A block is its size (32 bits) and its bytes, which are compressed only where
/// that makes them fewer: nothing grows beyond bound(). A chunk without shuffle, or of few numbers, is one block; with
/// it, a byte that tells the kind of differences, and a block for each byte plane. Where that saves an
/// eighth, the differences are those of the numbers less a reference's; only with shuffle.
class BlockCoder {
 public:
  static constexpr std::int64_t chunk = 32768;  ///< numbers
  /// @param most numbers that it is given at once. @param row numbers from one row of the grid to the next; 0: there is
  /// one.
  BlockCoder(std::unique_ptr<Compressor> compressor, int width, std::int64_t most, std::int64_t row, bool shuffle);
  /// The most bytes that its compressor is given at once.
  static std::int64_t most_bytes(std::int64_t most, int width) { return std::min(most, chunk) * width; }

  static std::int64_t bound(std::int64_t count, int width);
  struct Written {
    char* end;
    bool needs_reference = false;
  };
  /// @param reference as many numbers; null: none. @param out room for bound().
  Written encode(const char* numbers, const char* reference, std::int64_t count, char* out);
  /// Reads [in, end) only. @param has_reference `numbers` hold one, whose place they take. @returns what follows the
  /// numbers; null when it is damaged.
  const char* decode(const char* in, const char* end, std::int64_t count, bool has_reference, char* numbers);

 private:
  bool is_shuffled(std::int64_t count) const;
  char* put_differences(Differences kind, const char* numbers, std::int64_t count, int mark, char* out);
  Written put_planes(const char* numbers, const char* reference, std::int64_t count, char* out);
  const char* get_planes(const char* in, const char* end, std::int64_t count, bool has_reference, char* numbers);
  char* put(const char* bytes, std::int64_t count, char* out);
  const char* get(const char* in, const char* end, std::int64_t count, char* bytes);
  char* differences() const { return reinterpret_cast<char*>(differences_.data()); }
  char* planes() const { return reinterpret_cast<char*>(planes_.data()); }

  std::unique_ptr<Compressor> compressor_;
  int width_;
  std::int64_t row_;  // 0 as well where a chunk holds few
  bool shuffle_;
  Memory differences_, planes_;  // of a chunk
};

}  // namespace hindsight

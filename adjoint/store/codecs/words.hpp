// Doubles as shorter words, chunk by chunk, as they are or losslessly compressed.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "adjoint/store/codecs/blocks.hpp"

namespace hindsight {

template <class Word>
class WordChunks {
 public:
  static constexpr int width = sizeof(Word);

  /// @param then null: words as they are. @param row see BlockCoder.
  WordChunks(std::int64_t cells, std::int64_t row, std::unique_ptr<Compressor> then, bool shuffle)
      : cells_(cells), memory_((std::min(chunk, cells) * width + 7) / 8) {
    if (then) blocks_.emplace(std::move(then), width, row, shuffle);
  }

  std::int64_t bound() const { return BlockCoder::bound(cells_, width); }

  /// @param convert from double to Word. @returns the end of what is written.
  template <class Convert>
  char* encode(const double* cells, Convert convert, char* out) {
    for (std::int64_t first = 0; first < cells_; first += chunk) {
      const std::int64_t n = std::min(chunk, cells_ - first);
      convert_all(cells + first, n, words(), convert);
      out = put(n, out);
    }
    return out;
  }

  /// @param convert from Word to double. @returns what follows the words; null when they are damaged.
  template <class Convert>
  const char* decode(const char* in, const char* end, Convert convert, double* cells) {
    for (std::int64_t first = 0; first < cells_; first += chunk) {
      const std::int64_t n = std::min(chunk, cells_ - first);
      in = get(in, end, n);
      if (in == nullptr) return nullptr;
      convert_all(words(), n, cells + first, convert);
    }
    return in;
  }

 private:
  static constexpr std::int64_t chunk = BlockCoder::chunk;

  /// to[i] = convert(from[i]), in groups that compilers vectorise.
  template <class From, class To, class Convert>
  static void convert_all(const From* __restrict from, std::int64_t count, To* __restrict to, Convert convert) {
    constexpr int group = 16;
    std::int64_t i = 0;
    for (; i + group <= count; i += group)
      for (int j = 0; j < group; ++j) to[i + j] = convert(from[i + j]);
    for (; i < count; ++i) to[i] = convert(from[i]);
  }

  Word* words() const { return reinterpret_cast<Word*>(memory_.data()); }
  char* bytes() const { return reinterpret_cast<char*>(memory_.data()); }

  char* put(std::int64_t count, char* out) {
    if (blocks_) return blocks_->encode(bytes(), count, out);
    std::memcpy(out, bytes(), static_cast<std::size_t>(count * width));
    return out + count * width;
  }

  const char* get(const char* in, const char* end, std::int64_t count) {
    if (blocks_) return blocks_->decode(in, end, count, bytes());
    if (end - in < count * width) return nullptr;
    std::memcpy(bytes(), in, static_cast<std::size_t>(count * width));
    return in + count * width;
  }

  std::int64_t cells_;
  Memory memory_;  // of one chunk
  std::optional<BlockCoder> blocks_;
};

}  // namespace hindsight

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

  /// @param then null: words as they are. @param row see BlockCoder. @param references whether encode() gets some.
  WordChunks(std::int64_t cells, std::int64_t row, std::unique_ptr<Compressor> then, bool shuffle, bool references)
      : cells_(cells), memory_(doubles()), reference_(then && references ? doubles() : 0) {
    if (then) blocks_.emplace(std::move(then), width, cells, row, shuffle);
  }

  std::int64_t bound() const { return BlockCoder::bound(cells_, width); }

  /// @param reference null: none. @param convert from double to Word.
  template <class Convert>
  BlockCoder::Written encode(const double* cells, const double* reference, Convert convert, char* out) {
    BlockCoder::Written written{out};
    const bool has_reference = reference != nullptr && reference_.size() > 0;
    for (std::int64_t first = 0; first < cells_; first += chunk) {
      const std::int64_t n = std::min(chunk, cells_ - first);
      convert_all(cells + first, n, words(memory_), convert);
      if (has_reference) convert_all(reference + first, n, words(reference_), convert);
      const BlockCoder::Written piece =
          put(bytes(memory_), has_reference ? bytes(reference_) : nullptr, n, written.end);
      written = {piece.end, piece.needs_reference || written.needs_reference};
    }
    return written;
  }

  /// @param has_reference `cells` hold one. @param to_word the conversion at encode(). @param convert from Word to
  /// double. @returns what follows the words; null when they are damaged.
  template <class ToWord, class Convert>
  const char* decode(const char* in, const char* end, bool has_reference, ToWord to_word, Convert convert,
                     double* cells) {
    for (std::int64_t first = 0; first < cells_; first += chunk) {
      const std::int64_t n = std::min(chunk, cells_ - first);
      if (has_reference) convert_all(cells + first, n, words(memory_), to_word);
      in = get(in, end, n, has_reference, bytes(memory_));
      if (in == nullptr) return nullptr;
      convert_all(words(memory_), n, cells + first, convert);
    }
    return in;
  }

  /// Words that were made elsewhere, and back; without references.
  char* encode_words(const char* words, char* out) {
    for (std::int64_t first = 0; first < cells_; first += chunk)
      out = put(words + first * width, nullptr, std::min(chunk, cells_ - first), out).end;
    return out;
  }
  const char* decode_words(const char* in, const char* end, char* words) {
    for (std::int64_t first = 0; first < cells_ && in != nullptr; first += chunk)
      in = get(in, end, std::min(chunk, cells_ - first), false, words + first * width);
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

  std::int64_t doubles() const { return (std::min(chunk, cells_) * width + 7) / 8; }
  static Word* words(const Memory& memory) { return reinterpret_cast<Word*>(memory.data()); }
  static char* bytes(const Memory& memory) { return reinterpret_cast<char*>(memory.data()); }

  BlockCoder::Written put(const char* words, const char* reference, std::int64_t count, char* out) {
    if (blocks_) return blocks_->encode(words, reference, count, out);
    std::memcpy(out, words, static_cast<std::size_t>(count * width));
    return {out + count * width};
  }

  const char* get(const char* in, const char* end, std::int64_t count, bool has_reference, char* words) {
    if (blocks_) return blocks_->decode(in, end, count, has_reference, words);
    if (end - in < count * width) return nullptr;
    std::memcpy(words, in, static_cast<std::size_t>(count * width));
    return in + count * width;
  }

  std::int64_t cells_;
  Memory memory_, reference_;  // of one chunk each
  std::optional<BlockCoder> blocks_;
};

}  // namespace hindsight

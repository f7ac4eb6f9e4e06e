// Shorter numbers in place of doubles.
#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "adjoint/store/codecs/field_coder.hpp"

namespace hindsight {
namespace {

struct Float32 {
  using Word = float;
  static constexpr double largest = 0x1.fffffep127;
  static Word from(double value) { return static_cast<float>(value); }
  static double to(Word word) { return word; }
};

struct Bfloat16 {
  using Word = std::uint16_t;
  static constexpr double largest = 0x1.fep127;
  static Word from(double value) {
    // Rounded to 8 bits while a double, so that it is rounded once; again only below the normal range of floats.
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t odd = bits >> 45U & 1U;
    const auto rounded = (bits + 0xfffffffffffU + odd) & ~std::uint64_t{0x1fffffffffff};
    const auto word = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(rounded)));
    return static_cast<Word>((word + 0x7fffU + (word >> 16U & 1U)) >> 16U);
  }
  static double to(Word word) { return std::bit_cast<float>(std::uint32_t{word} << 16U); }
};

/// to[i] = convert(from[i]), in groups that compilers vectorise.
template <class From, class To, class Convert>
void convert_all(const From* __restrict from, std::int64_t count, To* __restrict to, Convert convert) {
  constexpr int group = 16;
  std::int64_t i = 0;
  for (; i + group <= count; i += group)
    for (int j = 0; j < group; ++j) to[i + j] = convert(from[i + j]);
  for (; i < count; ++i) to[i] = convert(from[i]);
}

template <class Format>
class Demotion final : public FieldCoder {
 public:
  using Word = typename Format::Word;
  static constexpr int width = sizeof(Word);
  static constexpr std::int64_t chunk = BlockCoder::chunk;

  Demotion(std::int64_t cells, std::unique_ptr<Compressor> then, bool shuffle)
      : cells_(cells), words_memory_((std::min(chunk, cells) * width + 7) / 8) {
    if (then) blocks_.emplace(std::move(then), width, shuffle);
  }

  std::int64_t encode(const double* cells, char* out, std::int64_t room) override {
    if (room < BlockCoder::bound(cells_, width) || largest_magnitude(cells, cells_) > Format::largest) return 0;
    char* end = out;
    for (std::int64_t first = 0; first < cells_; first += chunk) {
      const std::int64_t n = std::min(chunk, cells_ - first);
      convert_all(cells + first, n, words(), Format::from);
      end = put(n, end);
    }
    return end - out;
  }

  bool decode(const char* in, std::int64_t bytes, double* cells) override {
    const char* const end = in + bytes;
    for (std::int64_t first = 0; first < cells_; first += chunk) {
      const std::int64_t n = std::min(chunk, cells_ - first);
      in = get(in, end, n);
      if (in == nullptr) return false;
      convert_all(words(), n, cells + first, Format::to);
    }
    return in == end;
  }

 private:
  Word* words() const { return reinterpret_cast<Word*>(words_memory_.data()); }
  char* bytes() const { return reinterpret_cast<char*>(words_memory_.data()); }

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
  Memory words_memory_;  // of one chunk
  std::optional<BlockCoder> blocks_;
};

}  // namespace

std::unique_ptr<FieldCoder> make_float32(std::int64_t cells, std::unique_ptr<Compressor> then, bool shuffle) {
  return std::make_unique<Demotion<Float32>>(cells, std::move(then), shuffle);
}

std::unique_ptr<FieldCoder> make_bfloat16(std::int64_t cells, std::unique_ptr<Compressor> then, bool shuffle) {
  return std::make_unique<Demotion<Bfloat16>>(cells, std::move(then), shuffle);
}

}  // namespace hindsight

// Shorter numbers in place of doubles: nearest ones of 32 bits (relative error 2^-24) or bfloat16 (2^-8). Below their
// normal range, 2^-126, the error is absolute: 2^-150 and 2^-134.
#include <bit>

#include "adjoint/store/codecs/field_coder.hpp"
#include "adjoint/store/codecs/kinds.hpp"
#include "adjoint/store/codecs/words.hpp"

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

template <class Format>
class Demotion final : public WordFieldCoder {
 public:
  Demotion(const Index3& cells, std::unique_ptr<Compressor> then, bool shuffle, bool references)
      : cells_(count_of(cells)), words_(cells_, row_of(cells), std::move(then), shuffle, references) {}

  Encoded encode(const double* cells, const double* reference, char* out, std::int64_t room) override {
    if (room < words_.bound() || !scale(largest_magnitude(cells, cells_))) return {};
    const auto written = words_.encode(cells, reference, Format::from, out);
    return {written.end - out, written.needs_reference};
  }

  bool decode(const char* in, std::int64_t bytes, bool has_reference, double* cells) override {
    return words_.decode(in, in + bytes, has_reference, Format::from, Format::to, cells) == in + bytes;
  }

  std::optional<double> scale(double largest) const override {
    return largest > Format::largest ? std::nullopt : std::optional(1.0);
  }

  Encoded encode_words(const char* words, double, char* out, std::int64_t room) override {
    if (room < words_.bound()) return {};
    return {words_.encode_words(words, out) - out, false};
  }

  bool decode_words(const char* in, std::int64_t bytes, char* words, double* scale) override {
    *scale = 1.0;
    return words_.decode_words(in, in + bytes, words) == in + bytes;
  }

 private:
  std::int64_t cells_;
  WordChunks<typename Format::Word> words_;
};

template <class Format>
std::shared_ptr<const Codec> make_demotion(const CodecSettings& settings, Words words) {
  const bool is_compressed = !settings.then.empty();
  const std::string name = settings.kind + (is_compressed ? "+" + compressor_text(settings, settings.then) : "");
  const auto lossy = [settings](const Index3& cells, bool) {
    auto then = settings.then.empty() ? nullptr : compressor_for(cells, settings, settings.then);
    return std::make_unique<Demotion<Format>>(cells, std::move(then), settings.shuffle, settings.difference);
  };
  const std::string& lossless = is_compressed ? settings.then : default_compressor();
  return std::make_shared<StateCodec>(name, settings.difference, lossless_coders(settings, lossless), lossy, words);
}

template <class Format>
CodecKind demotion_kind(const char* name, Words words) {
  return {.name = name, .is_lossy = true, .then = Then::if_asked, .make = [words](const CodecSettings& settings) {
            return make_demotion<Format>(settings, words);
          }};
}

}  // namespace

CodecKind float32_kind() {
  return demotion_kind<Float32>("float32", Words::float32);
}

CodecKind bfloat16_kind() {
  return demotion_kind<Bfloat16>("bfloat16", Words::bfloat16);
}

}  // namespace hindsight

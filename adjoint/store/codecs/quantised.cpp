// Whole multiples of a step in place of doubles, with errors of at most tolerance times the field's largest magnitude.
#include <bit>

#include "adjoint/store/codecs/field_coder.hpp"
#include "adjoint/store/codecs/kinds.hpp"
#include "adjoint/store/codecs/words.hpp"

namespace hindsight {
namespace {

constexpr double margin = 0x1p-20;           // of the step, for the rounding of its multiples
constexpr double rounding = 0x1p-51;         // of a cell, on the way to a multiple and back, over its magnitude
constexpr double least_tolerance = 0x1p-48;  // below, that rounding would show
constexpr double least_error = 0x1p-1000;    // its reciprocal and the field's multiples stay finite

/// The nearest integer below 2^51 in magnitude, ties to even, else any; needs no instruction that vectors lack.
std::int64_t nearest(double value) {
  constexpr double shift = 0x1.8p52;
  return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value + shift) - std::bit_cast<std::uint64_t>(shift));
}

/// A field is its step and its multiples.
template <class Word>
class Quantised final : public WordFieldCoder {
 public:
  Quantised(const Index3& cells, double tolerance, std::unique_ptr<Compressor> then, bool shuffle, bool references)
      : tolerance_(tolerance),
        cells_(count_of(cells)),
        words_(cells_, row_of(cells), std::move(then), shuffle, references) {}

  Encoded encode(const double* cells, const double* reference, char* out, std::int64_t room) override {
    const std::optional<double> step = scale(largest_magnitude(cells, cells_));
    if (!step || room < step_bytes + words_.bound()) return {};
    std::memcpy(out, &*step, step_bytes);
    const auto written = words_.encode(cells, reference, multiples_of(*step), out + step_bytes);
    return {written.end - out, written.needs_reference};
  }

  bool decode(const char* in, std::int64_t bytes, bool has_reference, double* cells) override {
    if (bytes < step_bytes) return false;
    double step = 0.0;
    std::memcpy(&step, in, sizeof step);
    const auto value = [step](Word multiple) { return static_cast<double>(multiple) * step; };
    return words_.decode(in + step_bytes, in + bytes, has_reference, multiples_of(step), value, cells) == in + bytes;
  }

  /// The step.
  std::optional<double> scale(double largest) const override {
    const double error = tolerance_ * largest;
    const bool is_possible = tolerance_ >= least_tolerance && error >= least_error && largest < 0x1p1000;
    return is_possible ? std::optional(2 * error * (1 - margin - rounding / tolerance_)) : std::nullopt;
  }

  Encoded encode_words(const char* words, double step, char* out, std::int64_t room) override {
    if (room < step_bytes + words_.bound()) return {};
    std::memcpy(out, &step, step_bytes);
    return {words_.encode_words(words, out + step_bytes) - out, false};
  }

  bool decode_words(const char* in, std::int64_t bytes, char* words, double* step) override {
    if (bytes < step_bytes) return false;
    std::memcpy(step, in, step_bytes);
    return words_.decode_words(in + step_bytes, in + bytes, words) == in + bytes;
  }

 private:
  static constexpr std::int64_t step_bytes = sizeof(double);

  /// A reference's may be any words, but they are the same words in encode() and decode().
  static auto multiples_of(double step) {
    return [per_step = 1 / step](double value) { return static_cast<Word>(nearest(value * per_step)); };
  }

  double tolerance_;
  std::int64_t cells_;
  WordChunks<Word> words_;
};

/// Whether the multiples need 64 bits rather than 32.
bool is_long(double tolerance) {
  return tolerance < 0x1p-30;
}

std::unique_ptr<FieldCoder> make_coder(const Index3& cells, const CodecSettings& settings, const std::string& then) {
  auto compressor = compressor_for(cells, settings, then);
  if (is_long(settings.tolerance))
    return std::make_unique<Quantised<std::int64_t>>(cells, settings.tolerance, std::move(compressor), settings.shuffle,
                                                     settings.difference);
  return std::make_unique<Quantised<std::int32_t>>(cells, settings.tolerance, std::move(compressor), settings.shuffle,
                                                   settings.difference);
}

std::shared_ptr<const Codec> make(const CodecSettings& settings) {
  const std::string then = settings.then.empty() ? default_compressor() : settings.then;
  const auto lossy = [settings, then](const Index3& cells, bool is_joined) {
    // A tolerance belongs to a field: fields that are joined keep their bits.
    return is_joined ? nullptr : make_coder(cells, settings, then);
  };
  const bool is_64 = is_long(settings.tolerance);
  return std::make_shared<StateCodec>((is_64 ? "quantised64+" : "quantised+") + compressor_text(settings, then),
                                      settings.difference, lossless_coders(settings, then), lossy,
                                      is_64 ? Words::multiples64 : Words::multiples32);
}

}  // namespace

CodecKind quantised_kind() {
  return {.name = "quantised", .is_lossy = true, .has_tolerance = true, .then = Then::always, .make = make};
}

}  // namespace hindsight

#include <algorithm>
#include <bit>
#include <limits>

#include "adjoint/store/codecs/kinds.hpp"

namespace hindsight {
namespace {

class Lossless final : public FieldCoder {
 public:
  Lossless(const Index3& cells, Element element, std::unique_ptr<Compressor> compressor, bool shuffle)
      : width_(static_cast<int>(bytes_of(element))),
        numbers_(doubles_of(element, count_of(cells)) * 8 / width_),
        blocks_(std::move(compressor), width_, numbers_, row_of(cells), shuffle) {}

  Encoded encode(const double* cells, const double* reference, char* out, std::int64_t room) override {
    if (room < BlockCoder::bound(numbers_, width_)) return {};
    const auto written =
        blocks_.encode(reinterpret_cast<const char*>(cells), reinterpret_cast<const char*>(reference), numbers_, out);
    return {written.end - out, written.needs_reference};
  }

  bool decode(const char* in, std::int64_t bytes, bool has_reference, double* cells) override {
    return blocks_.decode(in, in + bytes, numbers_, has_reference, reinterpret_cast<char*>(cells)) == in + bytes;
  }

 private:
  int width_;
  std::int64_t numbers_;  // those that fill up the last double included
  BlockCoder blocks_;
};

class SinglesCoder final : public FieldCoder {
 public:
  SinglesCoder(std::unique_ptr<FieldCoder> of_doubles, std::int64_t cells)
      : of_doubles_(std::move(of_doubles)), count_(cells), wide_(cells), wide_reference_(cells) {}

  Encoded encode(const double* cells, const double* reference, char* out, std::int64_t room) override {
    widen(cells, wide_);
    if (reference != nullptr) widen(reference, wide_reference_);
    return of_doubles_->encode(wide_.data(), reference != nullptr ? wide_reference_.data() : nullptr, out, room);
  }

  bool decode(const char* in, std::int64_t bytes, bool has_reference, double* cells) override {
    if (has_reference) widen(cells, wide_);
    if (!of_doubles_->decode(in, bytes, has_reference, wide_.data())) return false;
    std::copy_n(wide_.data(), count_, reinterpret_cast<float*>(cells));
    return true;
  }

 private:
  void widen(const double* singles, Memory& to) const {
    std::copy_n(reinterpret_cast<const float*>(singles), count_, to.data());
  }

  std::unique_ptr<FieldCoder> of_doubles_;
  std::int64_t count_;
  Memory wide_, wide_reference_;
};

}  // namespace

std::string compressor_text(const CodecSettings& settings, const std::string& compressor) {
  return (settings.shuffle ? "shuffle+" : "") + compressor;
}

std::unique_ptr<Compressor> compressor_for(const Index3& cells, const CodecSettings& settings,
                                           const std::string& name) {
  return make_compressor(name, settings.level, BlockCoder::most_bytes(count_of(cells), sizeof(double)));
}

std::unique_ptr<FieldCoder> coder_of_singles(std::unique_ptr<FieldCoder> of_doubles, std::int64_t cells) {
  return of_doubles ? std::make_unique<SinglesCoder>(std::move(of_doubles), cells) : nullptr;
}

StateCodec::MakeLossless lossless_coders(const CodecSettings& settings, const std::string& compressor) {
  return [settings, compressor](const Index3& cells, Element element) {
    return std::make_unique<Lossless>(cells, element, compressor_for(cells, settings, compressor), settings.shuffle);
  };
}

CodecKind lossless_kind(const char* name, MakeCompressor compressor) {
  const auto make = [](const CodecSettings& settings) {
    return std::make_shared<StateCodec>(compressor_text(settings, settings.kind), settings.difference,
                                        lossless_coders(settings, settings.kind), nullptr);
  };
  return {.name = name, .make = make, .make_compressor = compressor};
}

std::int64_t count_of(const Index3& cells) {
  return cells[0] * cells[1] * cells[2];
}

std::int64_t row_of(const Index3& cells) {
  for (const std::int64_t n : cells)
    if (n > 1) return n < count_of(cells) ? n : 0;
  return 0;
}

double largest_magnitude(const double* cells, std::int64_t count) {
  // Bits of magnitudes order as the magnitudes do, infinity and NaN last.
  constexpr std::uint64_t magnitude = ~std::uint64_t{0} >> 1U;
  std::uint64_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<std::uint64_t>(cells[i]) & magnitude);
  return std::min(largest, std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity())) == largest
             ? std::bit_cast<double>(largest)
             : std::numeric_limits<double>::infinity();
}

}  // namespace hindsight

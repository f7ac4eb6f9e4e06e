#include <algorithm>
#include <bit>
#include <limits>

#include "adjoint/store/codecs/field_coder.hpp"

namespace hindsight {
namespace {

class Lossless final : public FieldCoder {
 public:
  Lossless(std::int64_t cells, BlockCoder blocks) : cells_(cells), blocks_(std::move(blocks)) {}

  std::int64_t encode(const double* cells, char* out, std::int64_t room) override {
    if (room < BlockCoder::bound(cells_, sizeof(double))) return 0;
    return blocks_.encode(reinterpret_cast<const char*>(cells), cells_, out) - out;
  }

  bool decode(const char* in, std::int64_t bytes, double* cells) override {
    return blocks_.decode(in, in + bytes, cells_, reinterpret_cast<char*>(cells)) == in + bytes;
  }

 private:
  std::int64_t cells_;
  BlockCoder blocks_;
};

}  // namespace

std::unique_ptr<FieldCoder> make_lossless(std::int64_t cells, BlockCoder blocks) {
  return std::make_unique<Lossless>(cells, std::move(blocks));
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

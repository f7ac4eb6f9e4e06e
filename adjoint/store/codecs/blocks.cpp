#include "adjoint/store/codecs/blocks.hpp"

#include <algorithm>
#include <cstring>

#include "adjoint/store/codecs/differences.hpp"
#include "adjoint/store/codecs/shuffle.hpp"

namespace hindsight {
namespace {

using Size = std::uint32_t;
constexpr std::int64_t fewest_shuffled = 256;  // numbers; below, the planes' sizes would cost more than they save
constexpr int to_a_reference = 8;              // beside a kind of differences

}  // namespace

BlockCoder::BlockCoder(std::unique_ptr<Compressor> compressor, int width, std::int64_t most, std::int64_t row,
                       bool shuffle)
    : compressor_(std::move(compressor)),
      width_(width),
      row_(4 * row <= chunk ? row : 0),
      shuffle_(shuffle),
      differences_(is_shuffled(most) ? (most_bytes(most, width) + 7) / 8 : 0),
      planes_(differences_.size()) {}

std::int64_t BlockCoder::bound(std::int64_t count, int width) {
  const std::int64_t chunks = (count + chunk - 1) / chunk;
  return count * width + chunks * (1 + width * static_cast<std::int64_t>(sizeof(Size)));
}

bool BlockCoder::is_shuffled(std::int64_t count) const {
  return shuffle_ && count >= fewest_shuffled;
}

char* BlockCoder::put(const char* bytes, std::int64_t count, char* out) {
  char* const content = out + sizeof(Size);
  std::int64_t written = compressor_->compress(bytes, count, content, count - 1);
  if (written == 0) {
    std::memcpy(content, bytes, static_cast<std::size_t>(count));
    written = count;
  }
  const Size size = static_cast<Size>(written);
  std::memcpy(out, &size, sizeof size);
  return content + written;
}

const char* BlockCoder::get(const char* in, const char* end, std::int64_t count, char* bytes) {
  Size size = 0;
  if (end - in < static_cast<std::int64_t>(sizeof size)) return nullptr;
  std::memcpy(&size, in, sizeof size);
  in += sizeof size;
  if (size > count || size > end - in) return nullptr;
  if (size == count) {
    std::memcpy(bytes, in, size);
  } else if (!compressor_->decompress(in, size, bytes, count)) {
    return nullptr;
  }
  return in + size;
}

char* BlockCoder::put_differences(Differences kind, const char* numbers, std::int64_t count, int mark, char* out) {
  const bool is_plain = kind == Differences::none;
  if (!is_plain) to_differences(width_, kind, row_, numbers, count, differences());
  to_planes(width_, is_plain ? numbers : differences(), count, planes());
  *out++ = static_cast<char>(static_cast<int>(kind) | mark);
  for (int b = 0; b < width_; ++b) out = put(planes() + b * count, count, out);
  return out;
}

/// The reference is tried where it leaves fewer digits, and taken where it leaves fewer bytes by so much that it may be
/// read as well.
BlockCoder::Written BlockCoder::put_planes(const char* numbers, const char* reference, std::int64_t count, char* out) {
  constexpr std::int64_t part = 8;  // of the bytes, that it must save
  const BestDifferences best = best_differences(width_, Differences::none, row_, numbers, count);
  char* const end = put_differences(best.kind, numbers, count, 0, out);
  if (reference == nullptr) return {end};
  subtract(width_, numbers, reference, count, planes());
  const BestDifferences other = best_differences(width_, Differences::zero, row_, planes(), count);
  if (other.digits >= best.digits) return {end};
  char* const end_of_other = put_differences(other.kind, planes(), count, to_a_reference, out);
  if ((end_of_other - out) * part <= (end - out) * (part - 1)) return {end_of_other, true};
  return {put_differences(best.kind, numbers, count, 0, out)};
}

const char* BlockCoder::get_planes(const char* in, const char* end, std::int64_t count, bool has_reference,
                                   char* numbers) {
  if (in == end) return nullptr;
  const int byte = static_cast<unsigned char>(*in++);
  const bool is_to_reference = (byte & to_a_reference) != 0;
  if ((byte & ~to_a_reference) > static_cast<int>(Differences::zero) || is_to_reference > has_reference) return nullptr;
  const auto kind = static_cast<Differences>(byte & ~to_a_reference);
  if (kind == (is_to_reference ? Differences::none : Differences::zero)) return nullptr;
  for (int b = 0; b < width_ && in != nullptr; ++b) in = get(in, end, count, planes() + b * count);
  if (in == nullptr) return nullptr;
  const bool is_plain = kind == Differences::none;
  from_planes(width_, planes(), count, is_plain ? numbers : differences());
  if (!is_plain) from_differences(width_, kind, row_, differences(), count, is_to_reference ? planes() : numbers);
  if (is_to_reference) add(width_, planes(), numbers, count, numbers);
  return in;
}

BlockCoder::Written BlockCoder::encode(const char* numbers, const char* reference, std::int64_t count, char* out) {
  Written written{out};
  for (std::int64_t first = 0; first < count; first += chunk) {
    const std::int64_t n = std::min(chunk, count - first);
    const char* from = numbers + first * width_;
    if (is_shuffled(n)) {
      const Written planes =
          put_planes(from, reference != nullptr ? reference + first * width_ : nullptr, n, written.end);
      written = {planes.end, planes.needs_reference || written.needs_reference};
    } else {
      written.end = put(from, n * width_, written.end);
    }
  }
  return written;
}

const char* BlockCoder::decode(const char* in, const char* end, std::int64_t count, bool has_reference, char* numbers) {
  for (std::int64_t first = 0; first < count && in != nullptr; first += chunk) {
    const std::int64_t n = std::min(chunk, count - first);
    char* to = numbers + first * width_;
    in = is_shuffled(n) ? get_planes(in, end, n, has_reference, to) : get(in, end, n * width_, to);
  }
  return in;
}

}  // namespace hindsight

#include "adjoint/store/codecs/state_codec.hpp"

#include <cstring>

namespace hindsight {
namespace {

/// A lossy coder may put one number before as many words as there are cells.
std::int64_t field_room(const StateShape& field) {
  return BlockCoder::bound(cells_of_a_field(field), sizeof(double)) + static_cast<std::int64_t>(sizeof(double));
}

constexpr std::int64_t fewest_cells = 16;  // of a field that is coded on its own
constexpr std::uint32_t magic = 0x31435348, magic_with_reference = 0x52435348;

struct Header {
  std::uint32_t magic, codec;
  std::int64_t doubles, bytes;
};

/// A field's bytes and whether it is lossless.
using Mark = std::uint64_t;

bool is_joined(const StateShape& shape) {
  return cells_of_a_field(shape) < fewest_cells;
}

/// The fields as they are coded.
StateShape coded(const StateShape& shape) {
  if (!is_joined(shape)) return shape;
  StateShape one;
  one.cells = {shape.doubles(), 1, 1};
  return one;
}

class StateCoder final : public Coder {
 public:
  StateCoder(std::uint32_t codec, bool references, const StateShape& shape, std::unique_ptr<FieldCoder> lossless,
             std::unique_ptr<FieldCoder> lossy)
      : codec_(codec),
        references_(references),
        shape_(shape),
        lossless_(std::move(lossless)),
        lossy_(std::move(lossy)) {}

  Encoded encode(const double* cells, const double* reference, char* out) override {
    if (!references_) reference = nullptr;
    Encoded all{sizeof(Header)};
    for (std::int64_t f = 0; f < shape_.fields; ++f) {
      const std::int64_t first = f * cells_of_a_field(shape_);
      const Encoded field = put(cells + first, reference != nullptr ? reference + first : nullptr, out + all.bytes);
      all = {all.bytes + field.bytes, all.needs_reference || field.needs_reference};
    }
    const Header header{all.needs_reference ? magic_with_reference : magic, codec_, shape_.doubles(), all.bytes};
    std::memcpy(out, &header, sizeof header);
    return all;
  }

  bool decode(const char* in, std::int64_t bytes, bool has_reference, double* cells) override {
    Header header{};
    if (bytes < static_cast<std::int64_t>(sizeof header)) return false;
    std::memcpy(&header, in, sizeof header);
    if (header.magic != (has_reference ? magic_with_reference : magic) || header.codec != codec_ ||
        header.doubles != shape_.doubles() || header.bytes != bytes)
      return false;
    const char *const end = in + bytes, *at = in + sizeof header;
    for (std::int64_t f = 0; f < shape_.fields && at != nullptr; ++f)
      at = get(at, end, has_reference, cells + f * cells_of_a_field(shape_));
    return at == end;
  }

 private:
  Encoded put(const double* cells, const double* reference, char* out) {
    char* const content = out + sizeof(Mark);
    const std::int64_t room = field_room(shape_);
    Encoded field = lossy_ ? lossy_->encode(cells, reference, content, room) : Encoded{};
    const bool is_lossless = field.bytes == 0;
    if (is_lossless) field = lossless_->encode(cells, reference, content, room);
    const Mark mark = static_cast<Mark>(field.bytes) << 1U | static_cast<Mark>(is_lossless);
    std::memcpy(out, &mark, sizeof mark);
    field.bytes += static_cast<std::int64_t>(sizeof mark);
    return field;
  }

  const char* get(const char* in, const char* end, bool has_reference, double* cells) {
    Mark mark = 0;
    if (end - in < static_cast<std::int64_t>(sizeof mark)) return nullptr;
    std::memcpy(&mark, in, sizeof mark);
    in += sizeof mark;
    const auto bytes = static_cast<std::int64_t>(mark >> 1U);
    FieldCoder* const coder = (mark & 1U) != 0U ? lossless_.get() : lossy_.get();
    if (coder == nullptr || bytes > end - in || !coder->decode(in, bytes, has_reference, cells)) return nullptr;
    return in + bytes;
  }

  std::uint32_t codec_;
  bool references_;
  StateShape shape_;
  std::unique_ptr<FieldCoder> lossless_, lossy_;
};

}  // namespace

StateCodec::StateCodec(std::string name, bool references, Make lossless, Make lossy)
    : name_((references ? "difference+" : "") + std::move(name)),
      references_(references),
      lossless_(std::move(lossless)),
      lossy_(std::move(lossy)) {}

std::int64_t StateCodec::bound(const StateShape& shape) const {
  const StateShape fields = coded(shape);
  const auto mark = static_cast<std::int64_t>(sizeof(Mark));
  return static_cast<std::int64_t>(sizeof(Header)) + fields.fields * (mark + field_room(fields));
}

std::unique_ptr<Coder> StateCodec::coder(const StateShape& shape) const {
  const StateShape fields = coded(shape);
  const std::uint32_t codec = crc32c(name_.data(), static_cast<std::int64_t>(name_.size()));
  const bool joined = is_joined(shape);
  return std::make_unique<StateCoder>(codec, references_, fields, lossless_(fields, joined),
                                      lossy_ ? lossy_(fields, joined) : nullptr);
}

}  // namespace hindsight

#include "adjoint/store/codecs/state_codec.hpp"

#include <cstring>

#include "runtime/error.hpp"

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

class StateCoder final : public Coder, private WordsCoder {
 public:
  /// @param words bytes of one, which the lossy coder makes; 0: cells only.
  StateCoder(std::uint32_t codec, bool references, const StateShape& shape, std::unique_ptr<FieldCoder> lossless,
             std::unique_ptr<FieldCoder> lossy, int words)
      : codec_(codec),
        references_(references),
        shape_(shape),
        lossless_(std::move(lossless)),
        lossy_(std::move(lossy)),
        words_(words > 0 ? dynamic_cast<WordFieldCoder*>(lossy_.get()) : nullptr),
        field_words_(words * cells_of_a_field(shape)) {
    if (words > 0 && words_ == nullptr) throw Error(ExitCode::bug, "a codec makes no words");
  }

  Encoded encode(const double* cells, const double* reference, char* out) override {
    if (!references_) reference = nullptr;
    Encoded all{sizeof(Header)};
    for (std::int64_t f = 0; f < shape_.fields; ++f) {
      const std::int64_t first = f * cells_of_a_field(shape_);
      const Encoded field = put(cells + first, reference != nullptr ? reference + first : nullptr, out + all.bytes);
      all = {all.bytes + field.bytes, all.needs_reference || field.needs_reference};
    }
    put_header(all, out);
    return all;
  }

  bool decode(const char* in, std::int64_t bytes, bool has_reference, double* cells) override {
    if (!is_header(in, bytes, has_reference ? magic_with_reference : magic)) return false;
    const char *const end = in + bytes, *at = in + sizeof(Header);
    for (std::int64_t f = 0; f < shape_.fields && at != nullptr; ++f)
      at = get(at, end, has_reference, cells + f * cells_of_a_field(shape_));
    return at == end;
  }

  WordsCoder* words() override { return words_ != nullptr ? this : nullptr; }

 private:
  bool scales(const double* largest, double* scales) const override {
    for (std::int64_t f = 0; f < shape_.fields; ++f) {
      const std::optional<double> scale = words_->scale(largest[f]);
      if (!scale) return false;
      scales[f] = *scale;
    }
    return true;
  }

  Encoded encode(const char* words, const double* scales, char* out) override {
    Encoded all{sizeof(Header)};
    for (std::int64_t f = 0; f < shape_.fields; ++f) {
      char* const mark = out + all.bytes;
      const Encoded field =
          words_->encode_words(words + f * field_words_, scales[f], mark + sizeof(Mark), field_room(shape_));
      if (field.bytes == 0) throw Error(ExitCode::bug, "words of a field take more room than its cells");
      put_mark(field.bytes, false, mark);
      all.bytes += field.bytes + static_cast<std::int64_t>(sizeof(Mark));
    }
    put_header(all, out);
    return all;
  }

  bool decode(const char* in, std::int64_t bytes, char* words, double* scales) override {
    if (!is_header(in, bytes, magic)) return false;
    const char *const end = in + bytes, *at = in + sizeof(Header);
    for (std::int64_t f = 0; f < shape_.fields; ++f) {
      const auto [content, size, is_lossless] = field_at(at, end);
      if (content == nullptr || is_lossless ||
          !words_->decode_words(content, size, words + f * field_words_, scales + f))
        return false;
      at = content + size;
    }
    return at == end;
  }

  void put_header(const Encoded& all, char* out) const {
    const Header header{all.needs_reference ? magic_with_reference : magic, codec_, shape_.doubles(), all.bytes};
    std::memcpy(out, &header, sizeof header);
  }

  bool is_header(const char* in, std::int64_t bytes, std::uint32_t with) const {
    Header header{};
    if (bytes < static_cast<std::int64_t>(sizeof header)) return false;
    std::memcpy(&header, in, sizeof header);
    return header.magic == with && header.codec == codec_ && header.doubles == shape_.doubles() &&
           header.bytes == bytes;
  }

  static void put_mark(std::int64_t bytes, bool is_lossless, char* out) {
    const Mark mark = static_cast<Mark>(bytes) << 1U | static_cast<Mark>(is_lossless);
    std::memcpy(out, &mark, sizeof mark);
  }

  /// A field's bytes; null: its mark is damaged.
  struct Field {
    const char* content = nullptr;
    std::int64_t bytes = 0;
    bool is_lossless = false;
  };
  static Field field_at(const char* in, const char* end) {
    Mark mark = 0;
    if (end - in < static_cast<std::int64_t>(sizeof mark)) return {};
    std::memcpy(&mark, in, sizeof mark);
    in += sizeof mark;
    const auto bytes = static_cast<std::int64_t>(mark >> 1U);
    return bytes > end - in ? Field{} : Field{in, bytes, (mark & 1U) != 0U};
  }

  Encoded put(const double* cells, const double* reference, char* out) {
    char* const content = out + sizeof(Mark);
    const std::int64_t room = field_room(shape_);
    Encoded field = lossy_ ? lossy_->encode(cells, reference, content, room) : Encoded{};
    const bool is_lossless = field.bytes == 0;
    if (is_lossless) field = lossless_->encode(cells, reference, content, room);
    put_mark(field.bytes, is_lossless, out);
    field.bytes += static_cast<std::int64_t>(sizeof(Mark));
    return field;
  }

  const char* get(const char* in, const char* end, bool has_reference, double* cells) {
    const Field field = field_at(in, end);
    FieldCoder* const coder = field.is_lossless ? lossless_.get() : lossy_.get();
    if (field.content == nullptr || coder == nullptr ||
        !coder->decode(field.content, field.bytes, has_reference, cells))
      return nullptr;
    return field.content + field.bytes;
  }

  std::uint32_t codec_;
  bool references_;
  StateShape shape_;
  std::unique_ptr<FieldCoder> lossless_, lossy_;
  WordFieldCoder* words_;     // lossy_, if a device may make the words
  std::int64_t field_words_;  // bytes of a field's words
};

}  // namespace

StateCodec::StateCodec(std::string name, bool references, Make lossless, Make lossy, std::optional<Words> words)
    : name_((references ? "difference+" : "") + std::move(name)),
      references_(references),
      lossless_(std::move(lossless)),
      lossy_(std::move(lossy)),
      words_(words) {}

std::optional<Words> StateCodec::words(const StateShape& shape) const {
  return references_ || is_joined(shape) ? std::nullopt : words_;
}

std::int64_t StateCodec::bound(const StateShape& shape) const {
  const StateShape fields = coded(shape);
  const auto mark = static_cast<std::int64_t>(sizeof(Mark));
  return static_cast<std::int64_t>(sizeof(Header)) + fields.fields * (mark + field_room(fields));
}

std::unique_ptr<Coder> StateCodec::coder(const StateShape& shape) const {
  const StateShape fields = coded(shape);
  const std::uint32_t codec = crc32c(name_.data(), static_cast<std::int64_t>(name_.size()));
  const bool joined = is_joined(shape);
  const std::optional<Words> words = this->words(shape);
  return std::make_unique<StateCoder>(codec, references_, fields, lossless_(fields, joined),
                                      lossy_ ? lossy_(fields, joined) : nullptr, words ? bytes_of(*words) : 0);
}

}  // namespace hindsight

#include "adjoint/store/codecs/state_codec.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "adjoint/store/codecs/kinds.hpp"
#include "adjoint/store/packed_state.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// A lossy coder may put one number before as many words as there are cells. @param doubles of the field, which may be
/// of singles.
std::int64_t field_room(std::int64_t doubles, Element element) {
  const int width = static_cast<int>(bytes_of(element));
  return BlockCoder::bound(doubles * 8 / width, width) + static_cast<std::int64_t>(sizeof(double));
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
  return shape.is_uniform() && !shape.arrays.empty() && shape.arrays.front().count() < fewest_cells;
}

/// Cells of a field as they are coded, and whether they may be coded with a loss.
struct Field {
  Index3 cells;
  Element element = Element::float64;
  bool is_plain = false;  ///< bits are kept
  std::int64_t doubles() const { return doubles_of(element, count_of(cells)); }
  friend bool operator==(const Field&, const Field&) = default;
};

std::vector<Field> fields_of(const StateShape& shape) {
  if (is_joined(shape)) return {{{shape.doubles(), 1, 1}}};
  std::vector<Field> fields;
  for (const StateArray& array : shape.arrays) {
    const bool is_plain = array.element != shape.arrays.front().element || array.count() < fewest_cells;
    if (array.doubles() == 0) continue;
    if (is_plain)
      fields.push_back({{array.doubles(), 1, 1}, Element::float64, true});
    else
      fields.push_back({array.cells, array.element});
  }
  return fields;
}

/// A field's coders: shared by fields that are alike.
struct FieldCoders {
  std::shared_ptr<FieldCoder> lossless, lossy;  ///< lossy: null where there is none
  std::int64_t doubles = 0;
  Element element = Element::float64;
  std::int64_t room() const { return field_room(doubles, element); }
};

class StateCoder final : public Coder, private WordsCoder {
 public:
  /// @param words bytes of one, which the lossy coder makes, the same of all fields; 0: cells only.
  StateCoder(std::uint32_t codec, bool references, std::vector<FieldCoders> fields, int words)
      : codec_(codec), references_(references), fields_(std::move(fields)) {
    for (const FieldCoders& field : fields_) doubles_ += field.doubles;
    if (words == 0) return;
    words_ = dynamic_cast<WordFieldCoder*>(fields_.front().lossy.get());
    field_words_ = words * fields_.front().doubles;
    if (words_ == nullptr) throw Error(ExitCode::bug, "a codec makes no words");
  }

  Encoded encode(const double* cells, const double* reference, char* out) override {
    if (!references_) reference = nullptr;
    Encoded all{sizeof(Header)};
    std::int64_t first = 0;
    for (const FieldCoders& coders : fields_) {
      const double* const own = reference != nullptr ? reference + first : nullptr;
      const Encoded field = put(coders, cells + first, own, out + all.bytes);
      all = {all.bytes + field.bytes, all.needs_reference || field.needs_reference};
      first += coders.doubles;
    }
    put_header(all, out);
    return all;
  }

  bool decode(const char* in, std::int64_t bytes, bool has_reference, double* cells) override {
    if (!is_header(in, bytes, has_reference ? magic_with_reference : magic)) return false;
    const char *const end = in + bytes, *at = in + sizeof(Header);
    for (const FieldCoders& coders : fields_) {
      at = get(coders, at, end, has_reference, cells);
      if (at == nullptr) return false;
      cells += coders.doubles;
    }
    return at == end;
  }

  WordsCoder* words() override { return words_ != nullptr ? this : nullptr; }

 private:
  bool scales(const double* largest, double* scales) const override {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const std::optional<double> scale = words_->scale(largest[f]);
      if (!scale) return false;
      scales[f] = *scale;
    }
    return true;
  }

  Encoded encode(const char* words, const double* scales, char* out) override {
    Encoded all{sizeof(Header)};
    for (std::size_t f = 0; f < fields_.size(); ++f, words += field_words_) {
      char* const mark = out + all.bytes;
      const Encoded field = words_->encode_words(words, scales[f], mark + sizeof(Mark), fields_[f].room());
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
    for (std::size_t f = 0; f < fields_.size(); ++f, words += field_words_) {
      const auto [content, size, is_lossless] = field_at(at, end);
      if (content == nullptr || is_lossless || !words_->decode_words(content, size, words, scales + f)) return false;
      at = content + size;
    }
    return at == end;
  }

  void put_header(const Encoded& all, char* out) const {
    const Header header{all.needs_reference ? magic_with_reference : magic, codec_, doubles_, all.bytes};
    std::memcpy(out, &header, sizeof header);
  }

  bool is_header(const char* in, std::int64_t bytes, std::uint32_t with) const {
    Header header{};
    if (bytes < static_cast<std::int64_t>(sizeof header)) return false;
    std::memcpy(&header, in, sizeof header);
    return header.magic == with && header.codec == codec_ && header.doubles == doubles_ && header.bytes == bytes;
  }

  static void put_mark(std::int64_t bytes, bool is_lossless, char* out) {
    const Mark mark = static_cast<Mark>(bytes) << 1U | static_cast<Mark>(is_lossless);
    std::memcpy(out, &mark, sizeof mark);
  }

  /// A field's bytes; null: its mark is damaged.
  struct Found {
    const char* content = nullptr;
    std::int64_t bytes = 0;
    bool is_lossless = false;
  };
  static Found field_at(const char* in, const char* end) {
    Mark mark = 0;
    if (end - in < static_cast<std::int64_t>(sizeof mark)) return {};
    std::memcpy(&mark, in, sizeof mark);
    in += sizeof mark;
    const auto bytes = static_cast<std::int64_t>(mark >> 1U);
    return bytes > end - in ? Found{} : Found{in, bytes, (mark & 1U) != 0U};
  }

  static Encoded put(const FieldCoders& coders, const double* cells, const double* reference, char* out) {
    char* const content = out + sizeof(Mark);
    const std::int64_t room = coders.room();
    Encoded field = coders.lossy ? coders.lossy->encode(cells, reference, content, room) : Encoded{};
    const bool is_lossless = field.bytes == 0;
    if (is_lossless) field = coders.lossless->encode(cells, reference, content, room);
    put_mark(field.bytes, is_lossless, out);
    field.bytes += static_cast<std::int64_t>(sizeof(Mark));
    return field;
  }

  static const char* get(const FieldCoders& coders, const char* in, const char* end, bool has_reference,
                         double* cells) {
    const Found field = field_at(in, end);
    FieldCoder* const coder = (field.is_lossless ? coders.lossless : coders.lossy).get();
    if (field.content == nullptr || coder == nullptr ||
        !coder->decode(field.content, field.bytes, has_reference, cells))
      return nullptr;
    return field.content + field.bytes;
  }

  std::uint32_t codec_;
  bool references_;
  std::vector<FieldCoders> fields_;
  std::int64_t doubles_ = 0;
  WordFieldCoder* words_ = nullptr;  // the fields' lossy coder, if a device may make the words
  std::int64_t field_words_ = 0;     // bytes of a field's words
};

}  // namespace

StateCodec::StateCodec(std::string name, bool references, MakeLossless lossless, Make lossy, std::optional<Words> words)
    : name_((references ? "difference+" : "") + std::move(name)),
      references_(references),
      lossless_(std::move(lossless)),
      lossy_(std::move(lossy)),
      words_(words) {}

std::optional<Words> StateCodec::words(const StateShape& shape) const {
  return references_ || is_joined(shape) || !shape.is_uniform() ? std::nullopt : words_;
}

std::int64_t StateCodec::bound(const StateShape& shape) const {
  auto bytes = static_cast<std::int64_t>(sizeof(Header));
  for (const Field& field : fields_of(shape))
    bytes += static_cast<std::int64_t>(sizeof(Mark)) + field_room(field.doubles(), field.element);
  return bytes;
}

std::unique_ptr<Coder> StateCodec::coder(const StateShape& shape) const {
  const std::vector<Field> fields = fields_of(shape);
  const bool joined = is_joined(shape);
  std::vector<FieldCoders> coders;
  for (const Field& field : fields) {
    const auto same = std::find(fields.begin(), fields.end(), field) - fields.begin();
    if (same < std::ssize(coders)) {
      coders.push_back(coders[static_cast<std::size_t>(same)]);
      continue;
    }
    std::unique_ptr<FieldCoder> lossy = lossy_ && !field.is_plain ? lossy_(field.cells, joined) : nullptr;
    if (field.element == Element::float32) lossy = coder_of_singles(std::move(lossy), count_of(field.cells));
    coders.push_back({lossless_(field.cells, field.element), std::move(lossy), field.doubles(), field.element});
  }
  const std::uint32_t codec = crc32c(name_.data(), static_cast<std::int64_t>(name_.size()));
  const std::optional<Words> words = this->words(shape);
  return std::make_unique<StateCoder>(codec, references_, std::move(coders), words ? bytes_of(*words) : 0);
}

}  // namespace hindsight

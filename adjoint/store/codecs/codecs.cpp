#include "adjoint/store/codecs/codecs.hpp"

#include "adjoint/store/codecs/kinds.hpp"
#include "runtime/error.hpp"
#include "runtime/memory.hpp"

namespace hindsight {
namespace {

CodecKind none_kind() {
  return {.name = no_codec, .takes_difference = false, .make = [](const CodecSettings&) { return nullptr; }};
}

}  // namespace

Registry<CodecKind>& codecs() {
  static Registry<CodecKind> all(
      "codec", {none_kind(), float32_kind(), bfloat16_kind(), lz4_kind(), zstd_kind(), quantised_kind(), zfp_kind()});
  return all;
}

std::vector<std::string> codec_names(const std::function<bool(const CodecKind&)>& is_so) {
  std::vector<std::string> names;
  for (const CodecKind& kind : codecs().all())
    if (is_so(kind)) names.push_back(kind.name);
  return names;
}

std::vector<std::string> compressor_names() {
  return codec_names(&CodecKind::is_compressor);
}

const std::string& default_compressor() {
  static const std::string name = zstd_kind().name;
  return name;
}

std::shared_ptr<const Codec> make_codec(const CodecSettings& settings) {
  return codecs().find(settings.kind).make(settings);
}

std::unique_ptr<Compressor> make_compressor(const std::string& name, int level, std::int64_t most_bytes) {
  const CodecKind& kind = codecs().find(name);
  if (!kind.is_compressor()) throw Error(ExitCode::bug, "codec '" + name + "' is no compressor");
  return kind.make_compressor(level, most_bytes);
}

std::int64_t coder_bytes(const Codec& codec, const StateShape& shape) {
  const auto account = std::make_shared<MemoryAccount>();
  const CountMemory count(account);
  codec.coder(shape);
  return account->peak();
}

}  // namespace hindsight

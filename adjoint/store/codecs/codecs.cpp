#include "adjoint/store/codecs/codecs.hpp"

#include <fmt/format.h>

#include "adjoint/store/codecs/state_codec.hpp"
#include "runtime/error.hpp"
#include "runtime/memory.hpp"

namespace hindsight {
namespace {

std::string compressor_name(const CodecSettings& settings, const std::string& compressor) {
  return (settings.shuffle ? "shuffle+" : "") + compressor;
}

std::unique_ptr<Compressor> compressor_for(const Index3& cells, const std::string& name, int level) {
  return make_compressor(name, level, BlockCoder::most_bytes(count_of(cells), sizeof(double)));
}

StateCodec::Make lossless(const CodecSettings& settings, const std::string& compressor) {
  return [settings, compressor](const Index3& cells, bool) {
    return make_lossless(cells, compressor_for(cells, compressor, settings.level), settings.shuffle);
  };
}

/// @param make make_float32 or make_bfloat16.
template <class MakeCoder>
std::shared_ptr<const Codec> demotion(const CodecSettings& settings, MakeCoder make, Words words) {
  const bool is_compressed = !settings.then.empty();
  const std::string name = settings.kind + (is_compressed ? "+" + compressor_name(settings, settings.then) : "");
  const auto lossy = [settings, make](const Index3& cells, bool) -> std::unique_ptr<FieldCoder> {
    auto then = settings.then.empty() ? nullptr : compressor_for(cells, settings.then, settings.level);
    return make(cells, std::move(then), settings.shuffle, settings.difference);
  };
  return std::make_shared<StateCodec>(name, settings.difference,
                                      lossless(settings, is_compressed ? settings.then : "zstd"), lossy, words);
}

// A tolerance belongs to a field: fields that are joined keep their bits (in both codecs below).
std::shared_ptr<const Codec> quantised(const CodecSettings& settings) {
  const std::string then = settings.then.empty() ? "zstd" : settings.then;
  const auto lossy = [settings, then](const Index3& cells, bool is_joined) -> std::unique_ptr<FieldCoder> {
    if (is_joined) return nullptr;
    return make_quantised(cells, settings.tolerance, compressor_for(cells, then, settings.level), settings.shuffle,
                          settings.difference);
  };
  const bool is_long = is_quantised_long(settings.tolerance);
  return std::make_shared<StateCodec>((is_long ? "quantised64+" : "quantised+") + compressor_name(settings, then),
                                      settings.difference, lossless(settings, then), lossy,
                                      is_long ? Words::multiples64 : Words::multiples32);
}

std::shared_ptr<const Codec> zfp(const CodecSettings& settings) {
  const auto lossy = [settings](const Index3& cells, bool is_joined) {
    return is_joined ? nullptr : make_zfp(cells, settings.tolerance, settings.difference);
  };
  return std::make_shared<StateCodec>("zfp", settings.difference, lossless(settings, "zstd"), lossy);
}

}  // namespace

std::unique_ptr<Compressor> make_compressor(const std::string& name, int level, std::int64_t most_bytes) {
  if (name == "lz4") return make_lz4(level);
  if (name == "zstd") return make_zstd(level, most_bytes);
  throw Error(ExitCode::bug, fmt::format("there is no compressor '{}'", name));
}

std::shared_ptr<const Codec> make_codec(const CodecSettings& settings) {
  const std::string& kind = settings.kind;
  if (kind == "none") return nullptr;
  if (kind == "float32") return demotion(settings, make_float32, Words::float32);
  if (kind == "bfloat16") return demotion(settings, make_bfloat16, Words::bfloat16);
  if (kind == "quantised") return quantised(settings);
  if (kind == "zfp") return zfp(settings);
  if (kind == "lz4" || kind == "zstd")
    return std::make_shared<StateCodec>(compressor_name(settings, kind), settings.difference, lossless(settings, kind),
                                        nullptr);
  throw Error(ExitCode::bug, fmt::format("there is no codec '{}'", kind));
}

std::int64_t coder_bytes(const Codec& codec, const StateShape& shape) {
  const auto account = std::make_shared<MemoryAccount>();
  const CountMemory count(account);
  codec.coder(shape);
  return account->peak();
}

}  // namespace hindsight

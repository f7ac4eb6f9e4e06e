#define ZSTD_STATIC_LINKING_ONLY  // contexts in memory of ours
#include <zstd.h>

#include <algorithm>

#include "adjoint/store/codecs/kinds.hpp"
#include "runtime/error.hpp"
#include "runtime/memory.hpp"

namespace hindsight {
namespace {

Memory memory_of(std::size_t bytes) {
  return Memory(static_cast<std::int64_t>((bytes + 7) / 8));
}

std::size_t bytes_of(const Memory& memory) {
  return static_cast<std::size_t>(memory.size()) * sizeof(double);
}

/// What compressing up to so many bytes takes: zstd has other parameters for fewer bytes, which may take more.
std::size_t compression_bytes(int level, std::int64_t most_bytes) {
  std::size_t most = 0;
  for (const std::int64_t few : {std::int64_t{16} << 10, std::int64_t{128} << 10, most_bytes}) {
    const auto bytes = static_cast<unsigned long long>(std::max<std::int64_t>(1, std::min(few, most_bytes)));
    most = std::max(most, ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(level, bytes, 0)));
  }
  return most;
}

class Zstd final : public Compressor {
 public:
  Zstd(int level, std::int64_t most_bytes)
      : level_(level),
        out_memory_(memory_of(compression_bytes(level, most_bytes))),
        in_memory_(memory_of(ZSTD_estimateDCtxSize())),
        out_(ZSTD_initStaticCCtx(out_memory_.data(), bytes_of(out_memory_))),
        in_(ZSTD_initStaticDCtx(in_memory_.data(), bytes_of(in_memory_))) {
    if (out_ == nullptr || in_ == nullptr) throw Error(ExitCode::bug, "zstd refused its memory");
  }

  std::int64_t compress(const char* in, std::int64_t bytes, char* out, std::int64_t room) override {
    const std::size_t written =
        ZSTD_compressCCtx(out_, out, static_cast<std::size_t>(room), in, static_cast<std::size_t>(bytes), level_);
    return ZSTD_isError(written) != 0U ? 0 : static_cast<std::int64_t>(written);
  }

  bool decompress(const char* in, std::int64_t bytes, char* out, std::int64_t room) override {
    return ZSTD_decompressDCtx(in_, out, static_cast<std::size_t>(room), in, static_cast<std::size_t>(bytes)) ==
           static_cast<std::size_t>(room);
  }

 private:
  int level_;
  Memory out_memory_, in_memory_;
  ZSTD_CCtx* out_;  // lie in the memory above
  ZSTD_DCtx* in_;
};

std::unique_ptr<Compressor> make_zstd(int level, std::int64_t most_bytes) {
  return std::make_unique<Zstd>(level, most_bytes);
}

}  // namespace

CodecKind zstd_kind() {
  return lossless_kind("zstd", make_zstd);
}

}  // namespace hindsight

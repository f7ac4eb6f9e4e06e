#include <lz4.h>

#include "adjoint/store/codecs/kinds.hpp"
#include "runtime/memory.hpp"

namespace hindsight {
namespace {

class Lz4 final : public Compressor {
 public:
  explicit Lz4(int acceleration) : acceleration_(acceleration) {}

  std::int64_t compress(const char* in, std::int64_t bytes, char* out, std::int64_t room) override {
    return LZ4_compress_fast_extState(state_.data(), in, out, static_cast<int>(bytes), static_cast<int>(room),
                                      acceleration_);
  }

  bool decompress(const char* in, std::int64_t bytes, char* out, std::int64_t room) override {
    return LZ4_decompress_safe(in, out, static_cast<int>(bytes), static_cast<int>(room)) == room;
  }

 private:
  int acceleration_;
  Memory state_{(LZ4_sizeofState() + 7) / 8};
};

/// @param level its acceleration.
std::unique_ptr<Compressor> make_lz4(int level, std::int64_t) {
  return std::make_unique<Lz4>(level);
}

}  // namespace

CodecKind lz4_kind() {
  return lossless_kind("lz4", make_lz4);
}

}  // namespace hindsight

#include <lz4.h>

#include "adjoint/store/codecs/compressor.hpp"
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

}  // namespace

std::unique_ptr<Compressor> make_lz4(int acceleration) {
  return std::make_unique<Lz4>(acceleration);
}

}  // namespace hindsight

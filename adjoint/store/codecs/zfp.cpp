// zfp in as many dimensions as the cells have, with errors of at most tolerance times the field's largest magnitude.
#include <zfp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "adjoint/store/codecs/field_coder.hpp"
#include "adjoint/store/codecs/kinds.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t slab_cells = 131072;  // what scratch and a core's cache hold
constexpr std::size_t slack = 64;            // bytes behind the scratch

struct Close {
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(zfp_field* field) const { zfp_field_free(field); }
  void operator()(bitstream* bits) const { stream_close(bits); }
};

/// The axes of more than one cell, x first; the others are 0, as zfp wants them.
std::array<std::size_t, 3> long_axes(const std::array<std::int64_t, 3>& cells) {
  std::array<std::size_t, 3> axes{0, 0, 0};
  std::size_t count = 0;
  for (const std::int64_t n : cells)
    if (n > 1) axes[count++] = static_cast<std::size_t>(n);
  return axes;
}

/// Whether the cells of a slab less the reference's change less from cell to cell than they do themselves: a sample.
bool is_calmer(const double* rest, const double* cells, std::int64_t count) {
  constexpr std::int64_t stride = 17;
  constexpr double worth_it = 0.8;
  double of_rest = 0.0, of_cells = 0.0;
  for (std::int64_t i = 1; i < count; i += stride) {
    of_rest += std::fabs(rest[i] - rest[i - 1]);
    of_cells += std::fabs(cells[i] - cells[i - 1]);
  }
  return of_rest < worth_it * of_cells;
}

/// A field goes in slabs along its slowest axis, each a zfp stream with its full header behind its size (64 bits),
/// which is negative for a slab less a reference's. zfp checks no bounds: both ways go through scratch that holds the
/// longest stream that zfp can write or read for a slab.
class Zfp final : public FieldCoder {
 public:
  Zfp(const Index3& cells, double tolerance, bool references)
      : tolerance_(tolerance),
        axes_(long_axes(cells)),
        slowest_(axes_[2] > 0   ? 2
                 : axes_[1] > 0 ? 1
                                : 0),
        layer_(count_of(cells) / layers()),
        slab_(std::min(layers(), std::max<std::int64_t>(4, slab_cells / layer_ / 4 * 4))),
        rest_(references ? slab_ * layer_ : 0),
        stream_(zfp_stream_open(nullptr)),
        field_(zfp_field_alloc()) {
    describe(nullptr, slab_);
    zfp_stream_set_accuracy(stream_.get(), 1.0);
    const std::size_t bytes = zfp_stream_maximum_size(stream_.get(), field_.get()) + slack;
    scratch_ = Memory(static_cast<std::int64_t>((bytes + 7) / 8));
    bits_.reset(stream_open(scratch_.data(), bytes));
    zfp_stream_set_bit_stream(stream_.get(), bits_.get());
    zfp_stream_set_execution(stream_.get(), zfp_exec_serial);
  }

  Encoded encode(const double* cells, const double* reference, char* out, std::int64_t room) override {
    const double largest = largest_magnitude(cells, layers() * layer_);
    const double error = tolerance_ * largest;
    if (!(tolerance_ >= least_tolerance && error >= least_error && largest <= most)) return {};
    const double error_of_rest = reference != nullptr ? rest_error(error, largest, reference) : 0.0;
    Encoded written;
    for (std::int64_t first = 0; first < layers(); first += slab_) {
      const std::int64_t at = first * layer_, slab = std::min(slab_, layers() - first);
      const bool is_rest = error_of_rest > 0 && leaves_less(cells + at, reference + at, slab * layer_);
      zfp_stream_set_accuracy(stream_.get(), is_rest ? error_of_rest : error);
      const std::int64_t bytes = compress(is_rest ? rest_.data() : cells + at, slab);
      if (bytes == 0 || written.bytes + header_bytes + bytes > room) return {};
      const std::int64_t header = is_rest ? -bytes : bytes;
      std::memcpy(out + written.bytes, &header, sizeof header);
      std::memcpy(out + written.bytes + header_bytes, scratch_.data(), static_cast<std::size_t>(bytes));
      written.bytes += header_bytes + bytes;
      written.needs_reference |= is_rest;
    }
    return written;
  }

  bool decode(const char* in, std::int64_t bytes, bool has_reference, double* cells) override {
    const char* const end = in + bytes;
    for (std::int64_t first = 0; first < layers(); first += slab_) {
      std::int64_t size = 0;
      if (end - in < header_bytes) return false;
      std::memcpy(&size, in, sizeof size);
      in += header_bytes;
      const bool is_rest = size < 0;
      if (is_rest && (!has_reference || rest_.size() == 0)) return false;
      if (size < -most_bytes() || size > most_bytes() || size == 0 || std::abs(size) > end - in) return false;
      size = std::abs(size);
      std::memcpy(scratch_.data(), in, static_cast<std::size_t>(size));
      in += size;
      const std::int64_t slab = std::min(slab_, layers() - first);
      double* const to = cells + first * layer_;
      if (!decompress(is_rest ? rest_.data() : to, slab, size)) return false;
      for (std::int64_t i = 0; is_rest && i < slab * layer_; ++i) to[i] += rest_.data()[i];
    }
    return in == end;
  }

 private:
  static constexpr std::int64_t header_bytes = sizeof(std::int64_t);
  static constexpr double least_tolerance = 0x1p-50;           // below, zfp's own rounding shows
  static constexpr double least_error = 1e-280, most = 1e300;  // zfp's scaling stays within the range of doubles

  std::int64_t layers() const { return static_cast<std::int64_t>(axes_[slowest_]); }
  std::int64_t most_bytes() const { return scratch_.size() * 8 - static_cast<std::int64_t>(slack); }

  /// What zfp may add to the errors of subtracting the reference and adding it again; 0: too little.
  double rest_error(double error, double largest, const double* reference) const {
    const double magnitudes = largest + largest_magnitude(reference, layers() * layer_);
    const double left = error - 0x1p-51 * magnitudes;
    return magnitudes <= most && left >= std::max(0.5 * error, least_error) ? left : 0.0;
  }

  /// Subtracts. @returns whether what is left is easier to code.
  bool leaves_less(const double* cells, const double* reference, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) rest_.data()[i] = cells[i] - reference[i];
    return is_calmer(rest_.data(), cells, count);
  }

  void describe(const double* cells, std::int64_t layers) {
    std::array<std::size_t, 3> axes = axes_;
    axes[slowest_] = static_cast<std::size_t>(layers);
    zfp_field_set_type(field_.get(), zfp_type_double);
    zfp_field_set_size_3d(field_.get(), axes[0], axes[1], axes[2]);
    zfp_field_set_pointer(field_.get(), const_cast<double*>(cells));  // compression only reads
  }

  std::int64_t compress(const double* cells, std::int64_t layers) {
    describe(cells, layers);
    zfp_stream_rewind(stream_.get());
    if (zfp_write_header(stream_.get(), field_.get(), ZFP_HEADER_FULL) == 0) return 0;
    return static_cast<std::int64_t>(zfp_compress(stream_.get(), field_.get()));
  }

  bool decompress(double* cells, std::int64_t layers, std::int64_t bytes) {
    describe(cells, layers);
    const std::size_t nx = field_->nx, ny = field_->ny, nz = field_->nz;
    zfp_stream_rewind(stream_.get());
    if (zfp_read_header(stream_.get(), field_.get(), ZFP_HEADER_FULL) == 0) return false;
    if (field_->type != zfp_type_double || field_->nx != nx || field_->ny != ny || field_->nz != nz ||
        field_->nw != 0 || zfp_stream_compression_mode(stream_.get()) != zfp_mode_fixed_accuracy)
      return false;
    return static_cast<std::int64_t>(zfp_decompress(stream_.get(), field_.get())) == bytes;
  }

  double tolerance_;
  std::array<std::size_t, 3> axes_;
  std::size_t slowest_;
  std::int64_t layer_, slab_;  // cells of a layer, layers of a slab
  Memory rest_;                // of a slab less the reference's
  Memory scratch_;
  std::unique_ptr<bitstream, Close> bits_;
  std::unique_ptr<zfp_stream, Close> stream_;
  std::unique_ptr<zfp_field, Close> field_;
};

std::shared_ptr<const Codec> make(const CodecSettings& settings) {
  const auto lossy = [settings](const Index3& cells, bool is_joined) -> std::unique_ptr<FieldCoder> {
    if (is_joined) return nullptr;  // a tolerance belongs to a field: fields that are joined keep their bits
    return std::make_unique<Zfp>(cells, settings.tolerance, settings.difference);
  };
  return std::make_shared<StateCodec>("zfp", settings.difference, lossless_coders(settings, default_compressor()),
                                      lossy);
}

}  // namespace

CodecKind zfp_kind() {
  return {.name = "zfp", .is_lossy = true, .has_tolerance = true, .make = make};
}

}  // namespace hindsight

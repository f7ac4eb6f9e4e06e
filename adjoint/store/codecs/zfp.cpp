#include <zfp.h>

#include <algorithm>
#include <cstring>

#include "adjoint/store/codecs/field_coder.hpp"
#include "src/error.hpp"

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

/// A field goes in slabs along its slowest axis, each a zfp stream with its full header behind its size (64 bits). zfp
/// checks no bounds: both ways go through scratch that holds the longest stream that zfp can write or read for a slab.
class Zfp final : public FieldCoder {
 public:
  Zfp(const StateShape& shape, double tolerance)
      : tolerance_(tolerance),
        axes_(long_axes(shape.cells)),
        slowest_(axes_[2] > 0   ? 2
                 : axes_[1] > 0 ? 1
                                : 0),
        layer_(shape.doubles() / shape.fields / layers()),
        slab_(std::min(layers(), std::max<std::int64_t>(4, slab_cells / layer_ / 4 * 4))),
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

  std::int64_t encode(const double* cells, char* out, std::int64_t room) override {
    const double largest = largest_magnitude(cells, layers() * layer_);
    const double error = tolerance_ * largest;
    if (!(tolerance_ >= least_tolerance && error >= least_error && largest <= most)) return 0;
    std::int64_t written = 0;
    for (std::int64_t first = 0; first < layers(); first += slab_) {
      zfp_stream_set_accuracy(stream_.get(), error);
      const std::int64_t bytes = compress(cells + first * layer_, std::min(slab_, layers() - first));
      if (bytes == 0 || written + header_bytes + bytes > room) return 0;
      std::memcpy(out + written, &bytes, sizeof bytes);
      std::memcpy(out + written + header_bytes, scratch_.data(), static_cast<std::size_t>(bytes));
      written += header_bytes + bytes;
    }
    return written;
  }

  bool decode(const char* in, std::int64_t bytes, double* cells) override {
    const char* const end = in + bytes;
    for (std::int64_t first = 0; first < layers(); first += slab_) {
      std::int64_t size = 0;
      if (end - in < header_bytes) return false;
      std::memcpy(&size, in, sizeof size);
      in += header_bytes;
      if (size <= 0 || size > end - in || size > most_bytes()) return false;
      std::memcpy(scratch_.data(), in, static_cast<std::size_t>(size));
      in += size;
      if (!decompress(cells + first * layer_, std::min(slab_, layers() - first), size)) return false;
    }
    return in == end;
  }

 private:
  static constexpr std::int64_t header_bytes = sizeof(std::int64_t);
  static constexpr double least_tolerance = 0x1p-50;           // below, zfp's own rounding shows
  static constexpr double least_error = 1e-280, most = 1e300;  // zfp's scaling stays within the range of doubles

  std::int64_t layers() const { return static_cast<std::int64_t>(axes_[slowest_]); }
  std::int64_t most_bytes() const { return scratch_.size() * 8 - static_cast<std::int64_t>(slack); }

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
  Memory scratch_;
  std::unique_ptr<bitstream, Close> bits_;
  std::unique_ptr<zfp_stream, Close> stream_;
  std::unique_ptr<zfp_field, Close> field_;
};

}  // namespace

std::unique_ptr<FieldCoder> make_zfp(const StateShape& shape, double tolerance) {
  return std::make_unique<Zfp>(shape, tolerance);
}

}  // namespace hindsight

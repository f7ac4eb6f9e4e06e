// The owned cells of a state without its ghosts: what slow tiers keep.
#pragma once

#include <array>
#include <cstdint>

namespace hindsight {

/// How the owned cells of all fields lie in a padded state, in doubles; x is the fastest axis.
struct StateShape {
  std::int64_t fields = 1;
  std::array<std::int64_t, 3> cells{1, 1, 1};
  std::int64_t origin = 0, stride_y = 1, stride_z = 1, field_stride = 1;

  std::int64_t rows() const { return fields * cells[1] * cells[2]; }
  std::int64_t doubles() const { return rows() * cells[0]; }
  std::int64_t bytes() const { return doubles() * static_cast<std::int64_t>(sizeof(double)); }
  /// With padding.
  std::int64_t padded_doubles() const { return fields * field_stride; }
  std::int64_t padded_bytes() const { return padded_doubles() * static_cast<std::int64_t>(sizeof(double)); }
  /// First cell of a row; rows count y fastest, then z, then fields.
  std::int64_t row(std::int64_t index) const {
    const std::int64_t j = index % cells[1], k = index / cells[1] % cells[2], f = index / (cells[1] * cells[2]);
    return origin + f * field_stride + k * stride_z + j * stride_y;
  }
};

/// `count` owned cells from the `first` on, row after row, to and from a padded state. Ghosts keep what they hold.
void pack(const StateShape& shape, const double* state, std::int64_t first, std::int64_t count, double* cells);
void unpack(const StateShape& shape, const double* cells, std::int64_t first, std::int64_t count, double* state);

/// CRC32C (Castagnoli), by the processor's instructions where it has them. @param before of what precedes.
std::uint32_t crc32c(const void* data, std::int64_t bytes, std::uint32_t before = 0);

}  // namespace hindsight

#include "adjoint/store/state_shape.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

namespace hindsight {
namespace {

constexpr std::int64_t cached_doubles = 16 * 1024;  // checked while they are still in the cache

/// Calls `copy(first row, rows)` for groups of rows, and `check(first double, doubles)` after each.
template <class Copy, class Check>
void by_groups(const StateShape& shape, Copy copy, Check check) {
  const std::int64_t group = std::max<std::int64_t>(1, cached_doubles / shape.cells[0]);
  for (std::int64_t first = 0; first < shape.rows(); first += group) {
    const std::int64_t rows = std::min(group, shape.rows() - first);
    copy(first, rows);
    check(first * shape.cells[0], rows * shape.cells[0]);
  }
}

std::size_t row_bytes(const StateShape& shape) {
  return static_cast<std::size_t>(shape.cells[0]) * sizeof(double);
}

void pack_rows(const StateShape& shape, const double* state, double* cells, std::int64_t first, std::int64_t rows) {
  for (std::int64_t r = first; r < first + rows; ++r)
    std::memcpy(cells + r * shape.cells[0], state + shape.row(r), row_bytes(shape));
}

void unpack_rows(const StateShape& shape, const double* cells, double* state, std::int64_t first, std::int64_t rows) {
  for (std::int64_t r = first; r < first + rows; ++r)
    std::memcpy(state + shape.row(r), cells + r * shape.cells[0], row_bytes(shape));
}

}  // namespace

void pack(const StateShape& shape, const double* state, double* cells) {
  pack_rows(shape, state, cells, 0, shape.rows());
}

void unpack(const StateShape& shape, const double* cells, double* state) {
  unpack_rows(shape, cells, state, 0, shape.rows());
}

std::uint32_t pack_and_check(const StateShape& shape, const double* state, double* cells) {
  std::uint32_t crc = 0;
  by_groups(
      shape, [&](std::int64_t first, std::int64_t rows) { pack_rows(shape, state, cells, first, rows); },
      [&](std::int64_t first, std::int64_t doubles) { crc = crc32c(cells + first, doubles * 8, crc); });
  return crc;
}

std::uint32_t unpack_and_check(const StateShape& shape, const double* cells, double* state) {
  std::uint32_t crc = 0;
  by_groups(
      shape, [&](std::int64_t first, std::int64_t rows) { unpack_rows(shape, cells, state, first, rows); },
      [&](std::int64_t first, std::int64_t doubles) { crc = crc32c(cells + first, doubles * 8, crc); });
  return crc;
}

std::uint32_t crc32c(const void* data, std::int64_t bytes, std::uint32_t before) {
  constexpr std::int64_t most = std::int64_t{1} << 30U;  // the library counts in int
  std::uint32_t crc = ~before;
  auto* at = static_cast<unsigned char*>(const_cast<void*>(data));  // it only reads
  for (; bytes > 0; bytes -= most, at += most) crc = crc32_iscsi(at, static_cast<int>(std::min(bytes, most)), crc);
  return ~crc;
}

}  // namespace hindsight

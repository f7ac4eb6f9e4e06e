#include "adjoint/store/state_shape.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

namespace hindsight {
namespace {

/// Calls `copy(place in the state, place among the packed cells, cells)` for every piece of a row.
template <class Copy>
void by_rows(const StateShape& shape, std::int64_t first, std::int64_t count, Copy copy) {
  const std::int64_t length = shape.cells[0];
  std::int64_t row = first / length, skip = first % length;
  for (std::int64_t done = 0; done < count; ++row, skip = 0) {
    const std::int64_t cells = std::min(length - skip, count - done);
    copy(shape.row(row) + skip, done, static_cast<std::size_t>(cells) * sizeof(double));
    done += cells;
  }
}

}  // namespace

void pack(const StateShape& shape, const double* state, std::int64_t first, std::int64_t count, double* cells) {
  by_rows(shape, first, count,
          [&](std::int64_t from, std::int64_t to, std::size_t bytes) { std::memcpy(cells + to, state + from, bytes); });
}

void unpack(const StateShape& shape, const double* cells, std::int64_t first, std::int64_t count, double* state) {
  by_rows(shape, first, count,
          [&](std::int64_t to, std::int64_t from, std::size_t bytes) { std::memcpy(state + to, cells + from, bytes); });
}

std::uint32_t crc32c(const void* data, std::int64_t bytes, std::uint32_t before) {
  constexpr std::int64_t most = std::int64_t{1} << 30U;  // the library counts in int
  std::uint32_t crc = ~before;
  auto* at = static_cast<unsigned char*>(const_cast<void*>(data));  // it only reads
  for (; bytes > 0; bytes -= most, at += most) crc = crc32_iscsi(at, static_cast<int>(std::min(bytes, most)), crc);
  return ~crc;
}

}  // namespace hindsight

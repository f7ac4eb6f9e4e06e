#include "adjoint/store/packed_state.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

namespace hindsight {
namespace {

/// Calls `copy(array, byte in its block, byte among the packed ones, bytes)` for every piece of a row of [begin, end),
/// bytes of the packed array that begins at byte `at` of what is packed.
template <class Copy>
void by_rows(const StateArray& array, std::int64_t begin, std::int64_t end, std::int64_t at, Copy copy) {
  const std::int64_t each = bytes_of(array.element), length = array.cells[0] * each;
  for (std::int64_t done = begin, row = begin / length, next = 0; done < end; done = next, ++row) {
    next = std::min(end, (row + 1) * length);
    const std::int64_t j = row % array.cells[1], k = row / array.cells[1];
    const std::int64_t place = (array.origin + array.stride_y * j + array.stride_z * k) * each + done - row * length;
    copy(array, place, at + done, static_cast<std::size_t>(next - done));
  }
}

/// The same of all arrays of which there is something among `count` doubles from the `first` on. `fill(byte among the
/// packed ones, bytes)` is called for what belongs to no cell.
template <class Copy, class Fill>
void by_arrays(const StateShape& shape, std::int64_t first, std::int64_t count, Copy copy, Fill fill) {
  std::int64_t at = -first * 8;  // where an array begins, from the first byte that is wanted
  for (const StateArray& array : shape.arrays) {
    const std::int64_t bytes = array.count() * bytes_of(array.element), whole = array.doubles() * 8;
    const std::int64_t begin = std::max<std::int64_t>(0, -at), end = std::min(whole, count * 8 - at);
    if (begin < end) {
      by_rows(array, begin, std::min(end, bytes), at, copy);
      if (end > bytes) fill(at + std::max(begin, bytes), static_cast<std::size_t>(end - std::max(begin, bytes)));
    }
    at += whole;
  }
}

}  // namespace

void pack(const StateShape& shape, ConstStateBlocks state, std::int64_t first, std::int64_t count, double* packed) {
  auto* const to = reinterpret_cast<char*>(packed);
  by_arrays(
      shape, first, count,
      [&](const StateArray& array, std::int64_t place, std::int64_t at, std::size_t bytes) {
        const double* const block = array.level == 0 ? state.now : state.before;
        std::memcpy(to + at, reinterpret_cast<const char*>(block) + place, bytes);
      },
      [&](std::int64_t at, std::size_t bytes) { std::memset(to + at, 0, bytes); });
}

void unpack(const StateShape& shape, const double* packed, std::int64_t first, std::int64_t count, StateBlocks state) {
  const auto* const from = reinterpret_cast<const char*>(packed);
  by_arrays(
      shape, first, count,
      [&](const StateArray& array, std::int64_t place, std::int64_t at, std::size_t bytes) {
        double* const block = array.level == 0 ? state.now : state.before;
        std::memcpy(reinterpret_cast<char*>(block) + place, from + at, bytes);
      },
      [](std::int64_t, std::size_t) {});
}

std::uint32_t crc32c(const void* data, std::int64_t bytes, std::uint32_t before) {
  constexpr std::int64_t most = std::int64_t{1} << 30U;  // the library counts in int
  std::uint32_t crc = ~before;
  auto* at = static_cast<unsigned char*>(const_cast<void*>(data));  // it only reads
  for (; bytes > 0; bytes -= most, at += most) crc = crc32_iscsi(at, static_cast<int>(std::min(bytes, most)), crc);
  return ~crc;
}

}  // namespace hindsight

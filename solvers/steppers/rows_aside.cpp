#include "solvers/steppers/rows_aside.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace hindsight {

RowsAside::RowsAside(const Tables& tables, std::vector<int> symbols, const Box& cells)
    : symbols_(std::move(symbols)), cells_(cells) {
  for (const int symbol : symbols_) memory_.emplace_back(doubles_of(tables.cells(symbol).element, cells.cells()));
}

/// Calls work(bytes of an array, their copy, how many) for rows of x.
template <class Work>
void RowsAside::each_row(const Tables& tables, Work work) {
  const Layout& layout = tables.grid().layout();
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    const CellArray array = tables.cells(symbols_[i]);
    const std::int64_t bytes = cells_.extent()[0] * bytes_of(array.element);
    auto* copy = reinterpret_cast<std::byte*>(memory_[i].data());
    for (std::int64_t z = cells_.lo[2]; z < cells_.hi[2]; ++z)
      for (std::int64_t y = cells_.lo[1]; y < cells_.hi[1]; ++y, copy += bytes) {
        const std::int64_t first = cells_.lo[0] + layout.stride_y * y + layout.stride_z * z;
        work(reinterpret_cast<std::byte*>(at_element(array.cell, first, array.element)), copy, bytes);
      }
  }
}

void RowsAside::take(const Tables& tables) {
  each_row(tables, [](const std::byte* row, std::byte* copy, std::int64_t bytes) { std::copy_n(row, bytes, copy); });
}

void RowsAside::exchange(const Tables& tables) {
  each_row(tables,
           [](std::byte* row, std::byte* copy, std::int64_t bytes) { std::swap_ranges(row, row + bytes, copy); });
}

}  // namespace hindsight

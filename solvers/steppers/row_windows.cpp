#include "solvers/steppers/row_windows.hpp"

#include <algorithm>
#include <cstring>

namespace hindsight {
namespace {

std::int64_t stride_of_rows(const Grid& grid) {
  return grid.dimensions() == 2 ? grid.layout().stride_y : grid.layout().stride_z;
}

}  // namespace

std::int64_t RowWindows::bytes_of_row(const Tables& tables, const std::vector<std::vector<int>>& arrays) {
  std::int64_t bytes = 0;
  for (const std::vector<int>& of_pass : arrays)
    for (const int symbol : of_pass) bytes += stride_of_rows(tables.grid()) * bytes_of(tables.cells(symbol).element);
  return bytes;
}

RowWindows::RowWindows(const Tables& tables, std::vector<std::vector<int>> arrays, std::int64_t rows)
    : stride_(stride_of_rows(tables.grid())), rows_(rows) {
  const Grid& grid = tables.grid();
  const Layout& layout = grid.layout();
  cell_ = layout.origin - stride_ * layout.halo[static_cast<std::size_t>(grid.dimensions() - 1)];
  constexpr std::int64_t apart = 17 * 8;  // doubles more: no two arrays lie alike in pages
  std::int64_t doubles = 0;
  const auto take = [&](Element element) { return doubles_of(element, stride_ * rows_) + apart; };
  for (std::size_t pass = 0; pass < arrays.size(); ++pass)
    for (const int symbol : arrays[pass]) {
      arrays_.push_back({symbol, pass, tables.cells(symbol).element, nullptr, nullptr});
      doubles += take(arrays_.back().element);
    }
  memory_ = Memory(doubles, grid.machine());
  double* at = memory_.data();
  for (Array& array : arrays_) {
    array.memory = at;
    at += take(array.element);
  }
}

void RowWindows::bind(Tables& tables) const {
  for (const Array& array : arrays_)
    tables.bind(array.symbol, at_element(array.memory, cell_ - first_ * stride_, array.element));
}

void RowWindows::begin(Tables& tables, std::int64_t first) {
  for (Array& array : arrays_) array.whole = tables.field(array.symbol);
  first_ = first;
  bind(tables);
}

void RowWindows::end(Tables& tables) const {
  for (const Array& array : arrays_) tables.bind(array.symbol, array.whole);
}

void RowWindows::move(Tables& tables, std::int64_t first, const std::vector<std::int64_t>& written) {
  for (const Array& array : arrays_) {
    const std::int64_t kept = std::min(written[array.pass], first_ + rows_) - first;
    if (kept <= 0) continue;
    std::memmove(array.memory, at_element(array.memory, (first - first_) * stride_, array.element),
                 static_cast<std::size_t>(kept * stride_ * bytes_of(array.element)));
  }
  first_ = first;
  bind(tables);
}

}  // namespace hindsight

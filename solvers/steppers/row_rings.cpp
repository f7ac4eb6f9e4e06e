#include "solvers/steppers/row_rings.hpp"

#include <algorithm>
#include <cstring>

namespace hindsight {
namespace {

std::int64_t stride_of_rows(const Grid& grid) {
  return grid.dimensions() == 2 ? grid.layout().stride_y : grid.layout().stride_z;
}

}  // namespace

std::int64_t RowRings::bytes_of_row(const Tables& tables, const std::vector<std::vector<int>>& arrays) {
  std::int64_t bytes = 0;
  for (const std::vector<int>& of_pass : arrays)
    for (const int symbol : of_pass) bytes += stride_of_rows(tables.grid()) * bytes_of(tables.cells(symbol).element);
  return bytes;
}

RowRings::RowRings(const Tables& tables, std::vector<std::vector<int>> arrays, std::int64_t rows, std::int64_t reach,
                   std::int64_t seam)
    : stride_(stride_of_rows(tables.grid())), rows_(rows), reach_(reach), seam_(seam) {
  const Grid& grid = tables.grid();
  const Layout& layout = grid.layout();
  cell_ = layout.origin - stride_ * layout.halo[static_cast<std::size_t>(grid.dimensions() - 1)];
  constexpr std::int64_t apart = 17 * 8;  // doubles more: no two arrays lie alike in pages
  std::int64_t doubles = 0;
  const auto take = [&](Element element) { return doubles_of(element, stride_ * (rows_ + 2 * reach_)) + apart; };
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

/// At least reach_: before it is what is read around the first.
std::int64_t RowRings::place(std::int64_t row) const {
  const std::int64_t rest = (row - seam_) % rows_;
  return reach_ + (rest < 0 ? rest + rows_ : rest);
}

std::int64_t RowRings::seam_behind(std::int64_t row) const {
  return row + rows_ + reach_ - place(row);
}

void RowRings::begin(Tables& tables) {
  for (Array& array : arrays_) array.whole = tables.field(array.symbol);
}

void RowRings::end(Tables& tables) const {
  for (const Array& array : arrays_) tables.bind(array.symbol, array.whole);
}

void RowRings::turn_to(Tables& tables, std::int64_t row) {
  const std::int64_t at = cell_ + (place(row) - row) * stride_;
  for (const Array& array : arrays_) tables.bind(array.symbol, at_element(array.memory, at, array.element));
}

void RowRings::written(std::size_t pass, std::int64_t from, std::int64_t to) const {
  const auto copy = [&](std::int64_t source, std::int64_t target) {
    for (const Array& array : arrays_)
      if (array.pass == pass)
        std::memcpy(at_element(array.memory, target * stride_, array.element),
                    at_element(array.memory, source * stride_, array.element),
                    static_cast<std::size_t>(stride_ * bytes_of(array.element)));
  };
  for (std::int64_t row = from; row < to; ++row) {
    const std::int64_t at = place(row);
    if (at < 2 * reach_) copy(at, at + rows_);
    if (at >= rows_) copy(at, at - rows_);
  }
}

}  // namespace hindsight

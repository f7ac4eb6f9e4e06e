#include "solvers/steppers/row_rings.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace hindsight {
namespace {

std::int64_t stride_of_rows(const Grid& grid) {
  return grid.dimensions() == 2 ? grid.layout().stride_y : grid.layout().stride_z;
}

}  // namespace

std::int64_t RowRings::bytes_of_rows(const Tables& tables, const std::vector<OfPass>& passes) {
  std::int64_t bytes = 0;
  for (const OfPass& pass : passes)
    for (const int symbol : pass.arrays)
      bytes += pass.rows * stride_of_rows(tables.grid()) * bytes_of(tables.cells(symbol).element);
  return bytes;
}

RowRings::RowRings(const Tables& tables, const std::vector<OfPass>& passes, std::int64_t reach, std::int64_t seam,
                   std::int64_t elements)
    : stride_(stride_of_rows(tables.grid())), reach_(reach), seam_(seam), elements_(elements) {
  const Grid& grid = tables.grid();
  const Layout& layout = grid.layout();
  cell_ = layout.origin - stride_ * layout.halo[static_cast<std::size_t>(grid.dimensions() - 1)];
  constexpr std::int64_t apart = 17 * 8;  // doubles more: no two arrays lie alike in pages
  std::int64_t doubles = 0;
  const auto take = [&](const Array& array) {
    return doubles_of(array.element, stride_ * (array.rows + 2 * reach_)) + apart;
  };
  for (std::size_t pass = 0; pass < passes.size(); ++pass)
    for (const int symbol : passes[pass].arrays) {
      arrays_.push_back({symbol, pass, tables.cells(symbol).element, passes[pass].rows, nullptr, nullptr});
      doubles += take(arrays_.back());
    }
  memory_ = Memory(doubles, grid.machine());
  double* at = memory_.data();
  for (Array& array : arrays_) {
    array.memory = at;
    at += take(array);
  }
}

std::int64_t RowRings::bytes_in_use() const {
  std::int64_t bytes = 0;
  for (const Array& array : arrays_) bytes += (array.rows + 2 * reach_) * elements_ * bytes_of(array.element);
  return bytes;
}

/// At least reach_: before it is what is read around the first.
std::int64_t RowRings::place(std::int64_t row, std::int64_t rows) const {
  const std::int64_t rest = (row - seam_) % rows;
  return reach_ + (rest < 0 ? rest + rows : rest);
}

std::int64_t RowRings::seam_behind(std::int64_t row) const {
  std::int64_t seam = std::numeric_limits<std::int64_t>::max();
  for (const Array& array : arrays_) seam = std::min(seam, row + array.rows + reach_ - place(row, array.rows));
  return seam;
}

void RowRings::begin(Tables& tables) {
  for (Array& array : arrays_) array.whole = tables.field(array.symbol);
}

void RowRings::end(Tables& tables) const {
  for (const Array& array : arrays_) tables.bind(array.symbol, array.whole);
}

void RowRings::turn_to(Tables& tables, std::int64_t row, std::int64_t shift) {
  for (const Array& array : arrays_) {
    const std::int64_t at = cell_ + (place(row, array.rows) - row) * stride_ + shift;
    tables.bind(array.symbol, at_element(array.memory, at, array.element));
  }
}

void RowRings::written(std::size_t pass, std::int64_t from, std::int64_t to) const {
  for (const Array& array : arrays_) {
    if (array.pass != pass) continue;
    const auto copy = [&](std::int64_t source, std::int64_t target) {
      std::memcpy(at_element(array.memory, target * stride_, array.element),
                  at_element(array.memory, source * stride_, array.element),
                  static_cast<std::size_t>(elements_ * bytes_of(array.element)));
    };
    for (std::int64_t row = from; row < to; ++row) {
      const std::int64_t at = place(row, array.rows);
      if (at < 2 * reach_) copy(at, at + array.rows);
      if (at >= array.rows) copy(at, at - array.rows);
    }
  }
}

}  // namespace hindsight

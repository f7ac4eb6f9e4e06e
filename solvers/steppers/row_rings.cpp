#include "solvers/steppers/row_rings.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/rounding.hpp"

namespace hindsight {
namespace {

std::int64_t stride_of_rows(const Grid& grid) {
  return grid.dimensions() == 2 ? grid.layout().stride_y : grid.layout().stride_z;
}

/// So many, or more, that fill whole pages.
std::int64_t in_pages(std::int64_t rows, std::int64_t bytes_of_row) {
  return rounded_up(rows, RepeatedMemory::page() / std::gcd(RepeatedMemory::page(), bytes_of_row));
}

/// Bytes before the n-th array: those next to each other lie at different places in pages.
std::int64_t stagger(std::size_t n) {
  constexpr std::int64_t line = 64, apart = 17, lines = 64;
  return static_cast<std::int64_t>(n) * apart % lines * line;
}

}  // namespace

std::int64_t RowRings::bytes_of_rows(const Tables& tables, const std::vector<OfPass>& passes) {
  std::int64_t bytes = 0;
  for (const OfPass& pass : passes)
    for (const int symbol : pass.arrays) {
      const std::int64_t row = stride_of_rows(tables.grid()) * bytes_of(tables.cells(symbol).element);
      bytes += in_pages(pass.rows, row) * row;
    }
  return bytes;
}

RowRings::RowRings(const Tables& tables, const std::vector<OfPass>& passes, std::int64_t beside, std::int64_t elements)
    : stride_(stride_of_rows(tables.grid())), beside_(beside), elements_(elements) {
  const Grid& grid = tables.grid();
  const Layout& layout = grid.layout();
  const std::int64_t cell = layout.origin - stride_ * layout.halo[static_cast<std::size_t>(grid.dimensions() - 1)];
  for (const auto& [symbols, least] : passes)
    for (const int symbol : symbols) {
      const Element element = tables.cells(symbol).element;
      const std::int64_t row = stride_ * bytes_of(element), rows = in_pages(least, row);
      RepeatedMemory memory(rows * row);
      double* const first = at_element(memory.data(), stagger(arrays_.size()) / bytes_of(element) + cell, element);
      arrays_.push_back({symbol, element, rows, std::move(memory), first, nullptr});
    }
}

std::int64_t RowRings::bytes_in_use() const {
  std::int64_t bytes = 0;
  for (const Array& array : arrays_) bytes += array.rows * elements_ * bytes_of(array.element);
  return bytes;
}

std::int64_t RowRings::most_at_once() const {
  std::int64_t rows = std::numeric_limits<std::int64_t>::max();
  for (const Array& array : arrays_) rows = std::min(rows, array.rows - beside_);
  return rows;
}

void RowRings::begin(Tables& tables) {
  for (Array& array : arrays_) array.whole = tables.field(array.symbol);
}

void RowRings::end(Tables& tables) const {
  for (const Array& array : arrays_) tables.bind(array.symbol, array.whole);
}

void RowRings::turn_to(Tables& tables, std::int64_t row, std::int64_t shift) {
  for (const Array& array : arrays_) {
    const std::int64_t rest = (row % array.rows + array.rows) % array.rows;
    const std::int64_t place = rest < beside_ ? rest + array.rows : rest;
    tables.bind(array.symbol, at_element(array.cell, (place - row) * stride_ + shift, array.element));
  }
}

}  // namespace hindsight

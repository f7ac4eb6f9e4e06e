#include "solvers/steppers/row_rings.hpp"

#include <algorithm>
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

std::int64_t RowRings::bytes_of_rows(const Tables& tables, const std::vector<Ring>& rings) {
  std::int64_t bytes = 0;
  for (const auto& [arrays, rows] : rings) {
    const std::int64_t row = stride_of_rows(tables.grid()) * bytes_of(tables.cells(arrays.front()).element);
    bytes += in_pages(rows, row) * row;
  }
  return bytes;
}

RowRings::RowRings(const Tables& tables, const std::vector<Ring>& rings, std::int64_t beside, std::int64_t elements)
    : stride_(stride_of_rows(tables.grid())), beside_(beside) {
  const Grid& grid = tables.grid();
  const Layout& layout = grid.layout();
  const std::int64_t cell = layout.origin - stride_ * layout.halo[static_cast<std::size_t>(grid.dimensions() - 1)];
  for (const auto& [symbols, least] : rings) {
    const Element element = tables.cells(symbols.front()).element;
    const std::int64_t row = stride_ * bytes_of(element), rows = in_pages(least, row);
    const std::int64_t first = stagger(memory_.size()) / bytes_of(element) + cell;
    memory_.emplace_back(rows * row);
    bytes_in_use_ += rows * elements * bytes_of(element);
    most_at_once_ = std::min(most_at_once_, rows - beside);
    for (const int symbol : symbols)
      arrays_.push_back({symbol, element, rows, at_element(memory_.back().data(), first, element), nullptr});
  }
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

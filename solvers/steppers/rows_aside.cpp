#include "solvers/steppers/rows_aside.hpp"

#include <cstddef>
#include <utility>

namespace hindsight {

RowsAside::RowsAside(const Tables& tables, std::vector<int> symbols, const Box& cells)
    : symbols_(std::move(symbols)), cells_(cells) {
  for (const int symbol : symbols_)
    memory_.emplace_back(doubles_of(tables.cells(symbol).element, cells.cells()), tables.grid().machine());
}

/// Calls work(cells of an array, their copy).
template <class Work>
void RowsAside::each(const Tables& tables, Work work) const {
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    const CellArray array = tables.cells(symbols_[i]);
    work(tables.grid().block(cells_, array),
         CellOperations::packed(cells_.extent(), memory_[i].data(), array.element));
  }
}

void RowsAside::take(const Tables& tables) const {
  each(tables, [&](const CellBlock& rows, const CellBlock& copy) {
    tables.grid().operations().copy(cells_.extent(), rows, copy);
  });
}

void RowsAside::put_back(const Tables& tables) const {
  each(tables, [&](const CellBlock& rows, const CellBlock& copy) {
    tables.grid().operations().copy(cells_.extent(), copy, rows);
  });
}

}  // namespace hindsight

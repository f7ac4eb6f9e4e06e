// Copies of a few rows (planes in 3D) of some arrays.
#pragma once

#include <vector>

#include "runtime/memory.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

class RowsAside {
 public:
  /// Allocates; copies nothing. @param cells of each array, in the grid's layout.
  RowsAside(const Tables& tables, std::vector<int> symbols, const Box& cells);
  void take(const Tables& tables) const;
  void put_back(const Tables& tables) const;

 private:
  template <class Work>
  void each(const Tables& tables, Work work) const;
  std::vector<int> symbols_;
  Box cells_;
  std::vector<Memory> memory_;  // of each symbol
};

}  // namespace hindsight

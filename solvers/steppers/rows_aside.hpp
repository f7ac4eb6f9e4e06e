// Copies of a few rows (planes in 3D) of some arrays, on a host.
#pragma once

#include <vector>

#include "runtime/memory.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

class RowsAside {
 public:
  /// Allocates; copies nothing. @param cells of each array, in the grid's layout.
  RowsAside(const Tables& tables, std::vector<int> symbols, const Box& cells);
  void take(const Tables& tables);
  /// The arrays have what was put aside, and what they had is aside.
  void exchange(const Tables& tables);

 private:
  template <class Work>
  void each_row(const Tables& tables, Work work);
  std::vector<int> symbols_;
  Box cells_;
  std::vector<Memory> memory_;  // of each symbol
};

}  // namespace hindsight

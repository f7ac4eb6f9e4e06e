// Arrays of which no more than some rows are there at a time (planes in 3D): those between two passes of a walk.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// Rows lie as in the grid's layout, so that kernels see no difference. All arrays begin with the same row, and move on
/// together: the rows that are still wanted are copied to the front.
class RowWindows {
 public:
  /// Of one row of these arrays.
  static std::int64_t bytes_of_row(const Tables& tables, const std::vector<std::vector<int>>& arrays);
  /// @param arrays symbols, by the pass that writes them. @param rows of each.
  RowWindows(const Tables& tables, std::vector<std::vector<int>> arrays, std::int64_t rows);
  /// They take the places of the whole arrays, and begin with this row.
  void begin(Tables& tables, std::int64_t first);
  /// The whole arrays are back in their places.
  void end(Tables& tables) const;
  bool reaches(std::int64_t end) const { return end <= first_ + rows_; }
  /// They begin with this row from now on. @param written of each pass the row behind the last that is wanted.
  void move(Tables& tables, std::int64_t first, const std::vector<std::int64_t>& written);

 private:
  struct Array {
    int symbol;
    std::size_t pass;
    Element element;
    double *memory, *whole;  ///< the first row; the cell (0,0,0) of the whole array
  };
  void bind(Tables& tables) const;

  std::vector<Array> arrays_;
  Memory memory_;
  std::int64_t stride_, cell_, rows_, first_ = 0;  ///< in elements: of rows; of a row's cell 0 in it
};

}  // namespace hindsight

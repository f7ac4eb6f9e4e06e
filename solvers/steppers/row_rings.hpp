// Arrays of which no more than some rows are there at a time (planes in 3D): those between two passes of a walk.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/repeated_memory.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// Row r has place r modulo their number, in the grid's layout, in memory that goes on with the first place behind the
/// last one (RepeatedMemory): kernels see no difference. For that rows fill whole pages; Grid pads long ones so that
/// few of them do.
class RowRings {
 public:
  /// Symbols of arrays, each of which takes the place of the one before, row by row; and how many rows are there at
  /// least.
  struct Ring {
    std::vector<int> arrays;
    std::int64_t rows = 0;
  };
  /// Of all rows that there are.
  static std::int64_t bytes_of_rows(const Tables& tables, const std::vector<Ring>& rings);
  /// @param rings of arrays of the same element each. @param beside rows to a side that are read or filled, fewer
  /// than there are.
  /// @param elements of each row that are in use, from its first one.
  RowRings(const Tables& tables, const std::vector<Ring>& rings, std::int64_t beside, std::int64_t elements);
  /// That a walk touches: of all rows that there are, what is in use.
  std::int64_t bytes_in_use() const { return bytes_in_use_; }
  /// They take the places of the whole arrays.
  void begin(Tables& tables);
  /// The whole arrays are back in their places.
  void end(Tables& tables) const;
  /// So many rows, and those beside them, can be turned to at once.
  std::int64_t most_at_once() const { return most_at_once_; }
  /// As many rows from this one on, and those beside them, are where the layout says; of the first ones, which walls
  /// are beside, all rows before them. @param shift so many elements further on, all of them.
  void turn_to(Tables& tables, std::int64_t row, std::int64_t shift = 0);

 private:
  struct Array {
    int symbol;
    Element element;
    std::int64_t rows;
    double *cell, *whole;  ///< the cell (0,0,0) where row 0 has its place; of the whole array
  };

  std::vector<RepeatedMemory> memory_;  // of each ring
  std::vector<Array> arrays_;
  std::int64_t stride_;  ///< of rows, in elements
  std::int64_t beside_, bytes_in_use_ = 0, most_at_once_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace hindsight

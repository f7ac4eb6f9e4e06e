// Arrays of which no more than some rows are there at a time (planes in 3D): those between two passes of a walk.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/repeated_memory.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// Row r has place r modulo their number, in the grid's layout, in memory that goes on with the first place behind the
/// last one (RepeatedMemory): kernels see no difference. For that rows fill whole pages; Grid pads long ones so that
/// few of them do.
class RowRings {
 public:
  /// What a pass writes: symbols, and how many rows of each are there at least.
  struct OfPass {
    std::vector<int> arrays;
    std::int64_t rows = 0;
  };
  /// Of all rows that there are.
  static std::int64_t bytes_of_rows(const Tables& tables, const std::vector<OfPass>& passes);
  /// @param passes in their order. @param beside rows to a side that are read or filled, fewer than there are.
  /// @param elements of each row that are in use, from its first one.
  RowRings(const Tables& tables, const std::vector<OfPass>& passes, std::int64_t beside, std::int64_t elements);
  /// That a walk touches: of all rows that there are, what is in use.
  std::int64_t bytes_in_use() const;
  /// They take the places of the whole arrays.
  void begin(Tables& tables);
  /// The whole arrays are back in their places.
  void end(Tables& tables) const;
  /// So many rows, and those beside them, can be turned to at once.
  std::int64_t most_at_once() const;
  /// As many rows from this one on, and those beside them, are where the layout says; of the first ones, which walls
  /// are beside, all rows before them. @param shift so many elements further on, all of them.
  void turn_to(Tables& tables, std::int64_t row, std::int64_t shift = 0);

 private:
  struct Array {
    int symbol;
    Element element;
    std::int64_t rows;
    RepeatedMemory memory;
    double *cell, *whole;  ///< the cell (0,0,0) where row 0 has its place; of the whole array
  };

  std::vector<Array> arrays_;
  std::int64_t stride_;  ///< of rows, in elements
  std::int64_t beside_, elements_;
};

}  // namespace hindsight

// Arrays of which no more than some rows are there at a time (planes in 3D): those between two passes of a walk.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// Row r has place reach + (r - seam) modulo their number, in the grid's layout, so that kernels see no difference.
/// Rows near a seam lie at both ends: up to `reach`, what is around a row lies around its place.
class RowRings {
 public:
  /// What a pass writes: symbols, and how many rows of each are there.
  struct OfPass {
    std::vector<int> arrays;
    std::int64_t rows = 0;
  };
  /// Of so many whole rows, without those that lie at both ends.
  static std::int64_t bytes_of_rows(const Tables& tables, const std::vector<OfPass>& passes);
  /// @param passes in their order; rows are at least 2 * reach. @param reach rows to a side that are read. @param seam
  /// a row that begins anew in all rings, as every `rows`-th from it does. @param elements of each row that are in use,
  /// from its first one.
  RowRings(const Tables& tables, const std::vector<OfPass>& passes, std::int64_t reach, std::int64_t seam,
           std::int64_t elements);
  /// That a walk touches: of all rows that there are, what is in use.
  std::int64_t bytes_in_use() const;
  /// They take the places of the whole arrays.
  void begin(Tables& tables);
  /// The whole arrays are back in their places.
  void end(Tables& tables) const;
  /// The first row after this one that, in some ring, does not lie after the one before it in memory.
  std::int64_t seam_behind(std::int64_t row) const;
  /// Rows from this one to the seam behind it, and `reach` more to both sides, are where the layout says. @param shift
  /// so many elements further on, all of them.
  void turn_to(Tables& tables, std::int64_t row, std::int64_t shift = 0);
  /// Rows that this pass has written: those near the seam are put at the other end, too.
  void written(std::size_t pass, std::int64_t from, std::int64_t to) const;

 private:
  struct Array {
    int symbol;
    std::size_t pass;
    Element element;
    std::int64_t rows;
    double *memory, *whole;  ///< the first place; the cell (0,0,0) of the whole array
  };
  std::int64_t place(std::int64_t row, std::int64_t rows) const;

  std::vector<Array> arrays_;
  Memory memory_;
  std::int64_t stride_, cell_;  ///< in elements: of rows; of a row's cell 0 in it
  std::int64_t reach_, seam_, elements_;
};

}  // namespace hindsight

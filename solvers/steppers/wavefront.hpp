// Passes that follow each other, in one walk over the grid: some rows of each in turn, so that what one has written is
// still in a cache when the next reads it. (Rows: planes in 3D.)
//
// Each pass lags behind the one before by as many rows as it reads to a side. At a wall it catches up, for ghosts there
// follow from rows that are done. Around a periodic axis the last rows come before the first: passes leave both ends
// out, each pass more of them, and these are done at the end, pass by pass.
//
// The arithmetic of a cell is what it is when one pass after another runs over the whole grid: so are the bits.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "solvers/steppers/pass.hpp"

namespace hindsight {

class Wavefront {
 public:
  /// Whether there is a walk: two passes or more (none is null), on a host's grid of rows that lies on one rank, with
  /// enough of them, and it pays: what passes read and write does not fit into a core's cache.
  /// @param arrays that each pass writes.
  static bool suits(const Grid& grid, const std::vector<Pass*>& passes, std::int64_t arrays, Element element);
  /// @param passes in their order; each reads, of arrays that others write, beyond the cell itself only those in its
  /// ghost groups, which the pass before it writes. They outlive it.
  Wavefront(const Grid& grid, std::vector<Pass*> passes);
  /// Runs the first `count` of them. Allocates nothing.
  void run(const Tables& tables, std::size_t count);
  void run(const Tables& tables) { run(tables, walked_.size()); }
  // For tests, of walks that are made from now on.
  struct AsItPays {};
  struct Never {};
  struct Rows {
    std::int64_t at_once;  ///< wherever a walk suits but for what pays
  };
  static void ask(std::variant<AsItPays, Never, Rows> asked) { asked_ = asked; }

 private:
  struct Walked {
    Pass* pass;
    std::int64_t reach, depth;        ///< rows to a side that it reads, and that are ghosts
    std::int64_t begin = 0, end = 0;  ///< rows of the walk
    std::int64_t done = 0;
  };
  std::int64_t reachable(std::size_t i) const;
  void compute(const Tables& tables, std::size_t i, std::int64_t lo, std::int64_t hi, std::size_t count);
  void finish_ends(const Tables& tables, std::size_t count);

  static inline std::variant<AsItPays, Never, Rows> asked_;
  std::vector<Walked> walked_;
  std::int64_t rows_ = 0, at_once_ = 1;
  bool is_periodic_ = false;
};

}  // namespace hindsight

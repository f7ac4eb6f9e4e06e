// Passes that follow each other, in one walk over the grid: some rows of each in turn, so that what one has written is
// still in a cache when the next reads it. (Rows: planes in 3D.)
//
// Each pass lags behind the one before by as many rows as it reads to a side. A pass may read ghosts of arrays that
// none of the walk writes, as gathers begin with lambda: these are fetched before it begins, like the first pass's. At
// a wall a pass catches up, for ghosts there follow from rows that are done; what walls add to gathers needs the rows
// beside one of the last axis at once, so that a pass waits until it can compute these. Where cells go on beyond the
// rank's own, on other ranks or around the last axis, no other exchange is needed: ghosts are so deep that passes
// compute, beside the rank's own cells, the layers around them that later passes read. Where a halo has no room for
// that, or passes must keep within a rank's cells, and the axis is periodic, passes leave both ends out, each pass more
// of them, and these are done at the end, pass by pass.
//
// Arrays that are handed on within a walk need not be whole (row_rings.hpp): they stay in a cache. Where rows (planes)
// are too large for that, walks may go over one part of their width after the other (tiles of the axis before the last
// one): around each, passes compute again what its neighbours do, and later passes read. See walk_ways.hpp.
//
// The arithmetic of a cell is what it is when one pass after another runs over the whole grid: so are the bits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "solvers/steppers/pass.hpp"
#include "solvers/steppers/stepper.hpp"
#include "solvers/steppers/walk_ways.hpp"

namespace hindsight {

class Wavefront {
 public:
  /// What a pass of a walk needs beside its kernel: arrays of its own, where several passes have one kernel, or more
  /// work in some cells.
  class Beside {
   public:
    virtual ~Beside() = default;
    /// Binds the arrays; others may have been bound since.
    virtual void bind(Tables& /*tables*/) {}
    /// Before and after the kernel runs in these cells, with the arrays bound.
    virtual void before(Tables& /*tables*/, const Box& /*cells*/) {}
    virtual void after(Tables& /*tables*/, const Box& /*cells*/) {}
  };
  struct Step {
    Pass* pass;                  ///< null: there is none that can be walked
    std::vector<int> handed_on;  ///< arrays that it writes and later passes alone read, in the cell itself or as ghosts
    std::array<int, 3> reads{0, 0, 0};            ///< how far its kernel reads any array, and coordinates
    int rows_beside = 0;                          ///< that each launch of its kernel computes too
    std::optional<std::size_t> last_reader = {};  ///< of what is handed on, among the steps; else the last step
    std::optional<std::size_t> last_beside = {};  ///< that reads more of it than the cell itself; else that one
    /// Of what is handed on, what may take the rows of an array of the same element that an earlier step hands on to
    /// this one at last: this symbol, that one. Of those its kernel reads the cell itself alone, and `beside` nothing.
    std::vector<std::pair<int, int>> in_place = {};
    /// Nothing but ghosts: what it would compute is not needed, later passes read them as deep as they are.
    bool fills_alone = false;
    bool reads_others = false;   ///< its ghosts are of arrays that no pass of the walk writes
    bool adds_to_sums = false;   ///< in the rank's own cells, row by row
    bool adds_to_cells = false;  ///< of arrays that sum up: no cell may be computed twice
    /// No cells may be computed but the rank's own: it reads what is not there for others.
    bool keeps_within = false;
    Beside* beside = nullptr;              ///< outlives the walk
    std::array<int, 3> at_walls{0, 0, 0};  ///< cells so near a wall `beside` must be given at once
  };
  /// Whether cells go on beyond a rank's own, on other ranks or around the last axis, so that walks compute some of
  /// them again where there is room.
  static bool goes_on(const Grid& grid);
  /// The halo of a grid that walks are to find room in: where cells go on beyond a rank's own, what whole steps read,
  /// if that is little beside what the rank owns and a walk pays. @param least of other needs. @param of_steps
  /// Stepper::halos_of_step(). @param bytes_of_cell of the arrays that a pass writes.
  static std::array<int, 3> halo(const std::vector<Axis>& axes, int ranks, const std::array<int, 3>& least,
                                 const std::vector<WalkHalo>& of_steps, std::int64_t bytes_of_cell);
  /// Whether there is a walk: two passes or more (none is null), on a host's grid of rows, with enough of them, and it
  /// pays: what passes read and write does not fit into a core's cache. @param arrays that each pass writes. @param
  /// each of so many passes comes again and again, with arrays in place of those before; 0: none does. Collective where
  /// no pass is null.
  static bool suits(const Grid& grid, const std::vector<Step>& steps, std::int64_t arrays, Element element,
                    std::size_t each = 0);
  /// @param steps in their order; each reads, of arrays that others write, beyond the cell itself only those in its
  /// ghost groups, which the pass before it writes, and those in groups of passes before it, as deep as they are
  /// filled. The passes outlive it. Collective.
  Wavefront(const Tables& tables, const std::vector<Step>& steps);
  /// Whether passes compute cells beyond a rank's own, where these go on.
  bool goes_beyond() const { return !leaves_ends_; }
  /// Whether what is handed on is there in some rows alone.
  bool keeps_rows() const { return ways_->now().rings.has_value(); }
  /// Whether what passes have in use fits into a core's cache, or nobody asks: the same on all ranks. Collective.
  bool is_in_cache(const Grid& grid) const { return !grid.communicator().any(!ways_->is_in_cache()); }
  /// See WalkWays.
  bool fit(const Grid& grid, std::int64_t bytes_of_cell) { return ways_->fit(grid, bytes_of_cell); }
  std::string describe() const { return ways_->describe(); }
  bool tries_ways() const { return !ways_->is_chosen(); }
  /// Whether the last pass may write over arrays that the next run begins with, of which no pass but the first reads
  /// more than the cell itself; or, where a pass in its midst reads others (Step::reads_others), over those.
  bool may_overwrite() const;
  /// Runs the first `count` of them; the ghosts of what the next one reads are there afterwards, unless it is handed on
  /// in rings. Allocates nothing.
  void run(Tables& tables, std::size_t count);
  void run(Tables& tables) { run(tables, walked_.size()); }
  using AsItPays = walks::AsItPays;
  using Never = walks::Never;
  using Rows = walks::Rows;
  /// For tests and measurements, of grids and walks that are made from now on, also on devices (device_walk.hpp).
  static void ask(const walks::Asked& asked) { asked_ = asked; }
  static const walks::Asked& asked() { return asked_; }

 private:
  struct Walked {
    Pass* pass;
    std::int64_t reach, depth;  ///< rows to a side that it reads of the pass before, and that are ghosts
    std::int64_t around_tile;   ///< cells to a side that it computes
    bool fills_alone, reads_others, adds_to_sums;
    Beside* beside;
    std::int64_t at_walls;         ///< rows
    std::int64_t at_walls_across;  ///< cells of the axis of tiles
    Box all;                       ///< cells that it computes
    Box cells{};                   ///< as far as the tile at work has them; along the last axis, in turns
    std::int64_t done = 0;         ///< rows up to here

    std::int64_t begin(std::size_t last) const { return cells.lo[last]; }
    std::int64_t end(std::size_t last) const { return cells.hi[last]; }
  };
  struct Layers {
    std::vector<std::array<int, 3>> read, written;
  };
  static bool pays(std::size_t passes, std::int64_t bytes_of_pass);
  static Layers layers(const std::vector<Step>& steps);
  static bool has_room(const Grid& grid, const std::vector<Step>& steps);
  void make_ways(const Tables& tables, const std::vector<Step>& steps, std::int64_t depth_across);
  void begin(std::size_t tile);
  void walk(Tables& tables, std::size_t count);
  std::int64_t reachable(std::size_t i) const;
  std::int64_t held_back(const Walked& walked, std::int64_t to) const;
  void compute(Tables& tables, std::size_t i, std::int64_t lo, std::int64_t hi);
  void compute_together(Tables& tables, std::size_t i, std::int64_t lo, std::int64_t hi);
  void fill_ghosts(Tables& tables, std::size_t i, const Box& cells, Sides sides);
  void run_pass(Tables& tables, const Walked& walked, const Tiles::Part& part) const;
  void run_kernel(Tables& tables, const Walked& walked, const Tiles::Part& part) const;
  void finish_ends(Tables& tables, std::size_t count);

  static inline walks::Asked asked_;
  std::vector<Walked> walked_;
  std::size_t last_, across_;  // axes: of rows, of tiles
  Box all_;                    // the rank's cells
  Box own_;                    // as far as the tile at work has them
  std::int64_t rows_;          // of the rank
  std::array<bool, 2> has_wall_;
  bool leaves_ends_ = false;  // out, of a periodic axis
  std::optional<WalkWays> ways_;
};

}  // namespace hindsight

// How a walk (wavefront.hpp) may go over the grid: how many rows (planes in 3D) each pass takes at once, in which
// tiles, and the rings (row_rings.hpp) of what is handed on.
//
// Where the rows that a walk has in use do not fit a core's own cache, it depends on the machine whether tiles pay:
// what lies in a larger cache that cores share may be as good as there (an EPYC's), or slow (a Xeon's). So there are
// two ways, without tiles and with them; the first walks take them in turn, and all others the one that was faster.
// Ranks need not agree.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "solvers/steppers/faster_way.hpp"
#include "solvers/steppers/row_rings.hpp"
#include "solvers/steppers/tiles.hpp"

namespace hindsight {

/// What walks are asked for.
namespace walks {
struct AsItPays {
  std::int64_t cache = 0;  ///< bytes of a core's own; 0: as the system says
};
struct Never {};
struct Rows {
  std::int64_t at_once;    ///< wherever a walk suits but for what pays
  std::int64_t width = 0;  ///< of tiles, wherever these can be; 0: no tiles
  std::int64_t steps = 1;  ///< of Runge-Kutta methods in one walk, at most, wherever they can be
};
using Asked = std::variant<AsItPays, Never, Rows>;
/// Bytes of a core's own cache.
std::int64_t bytes_of_cache(const Asked& asked);
}  // namespace walks

/// A pass of a walk, as far as the ways over the grid depend on it.
struct PassOnItsWay {
  std::int64_t reach, depth;         ///< rows to a side that it reads of the pass before, and that are ghosts
  std::int64_t around_tile;          ///< cells to a side that it computes
  bool reads_others = false;         ///< its ghosts are of arrays that no pass of the walk writes
  std::int64_t at_walls = 0;         ///< rows so near a wall it computes at once
  std::int64_t at_walls_across = 0;  ///< cells of the axis of tiles
  std::vector<int> handed_on = {};   ///< symbols
  std::optional<std::size_t> last_reader = {};     ///< of these, among the passes; else the last one
  std::optional<std::size_t> last_beside = {};     ///< that reads more of them than the cell itself; else that one
  std::vector<std::pair<int, int>> in_place = {};  ///< see Wavefront::Step
  bool may_go_in_tiles = false;
};

/// One of them.
struct WalkWay {
  Tiles tiles;
  std::int64_t at_once = 1;
  std::optional<RowRings> rings = {};
};

class WalkWays {
 public:
  struct Needs {
    std::int64_t least_at_once = 1;
    std::int64_t depth_across = 0;  ///< of ghosts, where no halo is deeper for the walk
    bool keeps_whole = false;       ///< no rings: rows at both ends are computed at last
  };
  /// Collective.
  WalkWays(const Tables& tables, std::vector<PassOnItsWay> passes, const Needs& needs, const walks::Asked& asked);
  /// That the next walk goes.
  WalkWay& now() { return ways_[turns_.now()]; }
  const WalkWay& now() const { return ways_[turns_.now()]; }
  bool is_chosen() const { return turns_.is_chosen(); }
  /// It has taken so long from end to end.
  void went(double seconds) { turns_.took(seconds); }
  /// Takes as few rows at once as let what passes have in use fit into a core's cache. Of walks without rings.
  /// @param bytes_of_cell of all arrays in use. @returns whether it fits, or nobody asks: the same on all ranks.
  /// Collective.
  bool fit(const Grid& grid, std::int64_t bytes_of_cell);
  /// Whether all that passes have in use fits into a core's cache, without tiles, or nobody asks.
  bool is_in_cache() const { return is_in_cache_; }
  /// For people.
  std::string describe() const;

 private:
  struct Around {
    std::int64_t layers = 0, at_walls = 0;
  };
  Around around_tiles() const;
  std::int64_t lag(std::size_t first, std::size_t last) const;
  /// Arrays that take each other's place: from the pass that writes the first one to those that read the last one.
  struct Handed {
    std::vector<int> arrays;
    std::size_t from, to, beside;  ///< passes: what reads them at last, and what reads beside the cell at last
  };
  bool is_past(const Handed& handed, std::size_t i) const;
  std::vector<Handed> handed_on() const;
  std::int64_t rows_in_use(std::int64_t arrays) const;
  std::int64_t bytes_in_use(const Tables& tables) const;
  std::int64_t width_of_tiles(const Tables& tables) const;
  void add_way(const Tables& tables, std::int64_t width);
  std::int64_t rows_at_once(const Tiles& tiles) const;
  /// That are read or filled to a side of a pass.
  std::int64_t rows_beside() const { return std::max(reach_, deepest_); }
  std::int64_t most_at_walls() const;
  std::vector<RowRings::Ring> sizes_of_rings(std::int64_t at_once) const;
  void make_rings(const Tables& tables, WalkWay& way) const;

  std::vector<PassOnItsWay> passes_;
  Needs needs_;
  walks::Asked asked_;
  std::int64_t cache_;
  std::size_t last_;           // axis
  std::int64_t rows_, cells_;  // of the rank
  std::array<bool, 2> has_wall_;
  std::int64_t reach_ = 0, deepest_ = 0;  // of any pass: rows that it reads behind the first, that it needs at once
  bool is_in_cache_;
  std::vector<WalkWay> ways_;
  FasterWay turns_{1};
};

}  // namespace hindsight

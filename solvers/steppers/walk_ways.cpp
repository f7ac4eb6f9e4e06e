#include "solvers/steppers/walk_ways.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

// Of a pass in its turn: enough that what a launch costs beside its cells does not count, few enough that what all
// passes have in use stays in a cache.
constexpr std::int64_t cells_at_once = 8192, most_at_once = 32;
// Kernels take so many together (KernelWriter::takes_two_rows): fewer pay where more do not fit a cache at all.
constexpr std::int64_t rows_together = 2;
// So many times as wide a tile is as what is computed beside it on a side.
constexpr std::int64_t least_width = 4;
// Rows that are so many times as large as a core's own cache are not tried without tiles.
constexpr std::int64_t most_without_tiles = 16;

}  // namespace

std::int64_t walks::bytes_of_cache(const Asked& asked) {
  if (const auto* const pays = std::get_if<AsItPays>(&asked); pays != nullptr && pays->cache > 0) return pays->cache;
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : std::int64_t{1} << 20U;
}

WalkWays::WalkWays(const Tables& tables, std::vector<PassOnItsWay> passes, const Needs& needs,
                   const walks::Asked& asked)
    : passes_(std::move(passes)),
      needs_(needs),
      asked_(asked),
      cache_(walks::bytes_of_cache(asked)),
      last_(static_cast<std::size_t>(tables.grid().dimensions() - 1)),
      rows_(tables.grid().interior().hi[last_]),
      cells_(tables.grid().interior().cells()) {
  for (std::size_t side = 0; side < 2; ++side)
    has_wall_[side] = tables.grid().is_wall(static_cast<int>(last_), static_cast<int>(side));
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    deepest_ = std::max(deepest_, passes_[i].at_walls);
    if (i > 0) reach_ = std::max(reach_, passes_[i].reach);
    if (i > 0 && !passes_[i].reads_others) deepest_ = std::max(deepest_, passes_[i].depth);
  }
  const std::int64_t width = width_of_tiles(tables);
  const bool is_asked = std::holds_alternative<walks::Rows>(asked_);
  is_in_cache_ = is_asked || bytes_in_use(tables) <= cache_;
  if (width == 0 || (!is_asked && bytes_in_use(tables) <= most_without_tiles * cache_)) add_way(tables, 0);
  if (width > 0) add_way(tables, width);
  turns_ = FasterWay(ways_.size());
  if (needs_.keeps_whole) return;
  tables.grid().communicator().together([&] {
    for (WalkWay& way : ways_) make_rings(tables, way);
  });
}

void WalkWays::add_way(const Tables& tables, std::int64_t width) {
  WalkWay& way = ways_.emplace_back(WalkWay{Tiles(tables.grid())});
  const auto [layers, at_walls] = around_tiles();
  if (width > 0) way.tiles.cut(width, layers + at_walls + needs_.depth_across);
  way.at_once = rows_at_once(way.tiles);
}

std::int64_t WalkWays::rows_at_once(const Tiles& tiles) const {
  if (const auto* const rows = std::get_if<walks::Rows>(&asked_)) return rows->at_once;
  const std::int64_t cells_of_row = cells_ / rows_ / tiles.cells() * tiles.width();
  return std::max(needs_.least_at_once, std::clamp<std::int64_t>(cells_at_once / cells_of_row, 1, most_at_once));
}

/// Rows by which the pass `last` lags behind the pass `first`, and that are ghosts ahead of it.
std::int64_t WalkWays::lag(std::size_t first, std::size_t last) const {
  std::int64_t rows = 0;
  for (std::size_t k = first + 1; k <= last; ++k)
    if (!passes_[k].reads_others) rows += std::max(passes_[k].reach, passes_[k].depth);
  return rows;
}

/// Whether pass i comes to no row before the last one that reads beside it has gone on far enough.
bool WalkWays::is_past(const Handed& handed, std::size_t i) const {
  std::int64_t rows = 0;
  for (std::size_t k = handed.beside + 1; k <= i; ++k) rows += passes_[k].reach;
  return handed.beside == handed.from || rows >= passes_[handed.beside].reach;
}

std::vector<WalkWays::Handed> WalkWays::handed_on() const {
  const std::size_t end = passes_.size() - 1;
  std::vector<Handed> all;
  for (std::size_t i = 0; i <= end; ++i) {
    const std::size_t to = passes_[i].last_reader.value_or(end),
                      beside = std::min(passes_[i].last_beside.value_or(to), to);
    for (const int symbol : passes_[i].handed_on) {
      const auto pair = std::ranges::find(passes_[i].in_place, symbol, &std::pair<int, int>::first);
      const auto has_its_place = [&](const Handed& handed) {
        return pair != passes_[i].in_place.end() && handed.arrays.back() == pair->second && handed.to == i &&
               is_past(handed, i);
      };
      if (const auto found = std::ranges::find_if(all, has_its_place); found != all.end()) {
        found->arrays.push_back(symbol);
        found->to = to;
        found->beside = beside;
      } else {
        all.push_back({{symbol}, i, to, beside});
      }
    }
  }
  return all;
}

/// Rows of all arrays that a walk has in use when it takes them one by one.
std::int64_t WalkWays::rows_in_use(std::int64_t arrays) const {
  const std::size_t last = passes_.size() - 1;
  const std::int64_t around = 1 + 2 * deepest_;
  std::int64_t rows = arrays * (lag(0, last) + around + 1);  // of what it begins with, and what it ends with
  for (std::size_t i = 0; i < last; ++i) {
    if (passes_[i].reads_others) rows += arrays * (around + lag(i, last));
  }
  for (const Handed& handed : handed_on()) rows += around + lag(handed.from, handed.to);
  return rows;
}

/// The same, of the rank's whole width.
std::int64_t WalkWays::bytes_in_use(const Tables& tables) const {
  std::int64_t arrays = 1;
  for (const PassOnItsWay& pass : passes_) arrays = std::max(arrays, std::ssize(pass.handed_on));
  const std::vector<int>& some = passes_.front().handed_on;
  const Element element = some.empty() ? Element::float64 : tables.cells(some.front()).element;
  return rows_in_use(arrays) * (cells_ / rows_) * bytes_of(element);
}

/// What passes compute beside a tile, at most.
WalkWays::Around WalkWays::around_tiles() const {
  Around around;
  for (const PassOnItsWay& pass : passes_) {
    around.layers = std::max(around.layers, pass.around_tile);
    around.at_walls = std::max(around.at_walls, pass.at_walls_across);
  }
  return around;
}

/// Where rows do not fit into a cache, as narrow as it takes, or as somebody asks for; 0: no tiles.
std::int64_t WalkWays::width_of_tiles(const Tables& tables) const {
  if (needs_.keeps_whole || !std::ranges::all_of(passes_, &PassOnItsWay::may_go_in_tiles)) return 0;
  const auto [layers, at_walls] = around_tiles();
  std::int64_t width = 0;
  if (const auto* const rows = std::get_if<walks::Rows>(&asked_)) {
    width = rows->width;
  } else if (const std::int64_t bytes = bytes_in_use(tables); bytes > cache_) {
    // What comes and goes takes room, too: this much is measured to pay.
    const std::int64_t each = bytes / Tiles(tables.grid()).cells();  // of the width
    const std::int64_t in_cache = 3 * cache_ / 8 / each - 2 * layers, least = least_width * layers;
    if (needs_.least_at_once > 1 && in_cache < least) return 0;  // many rows at once take more room still
    width = std::max({in_cache, least, at_walls, std::int64_t{1}});
  }
  return Tiles::are_possible(tables.grid(), width, layers + at_walls + needs_.depth_across) ? width : 0;
}

/// Beside rows at once, those by which the last reader lags behind, and behind the last one that reads beside the cell
/// itself what it reads there. At a wall the passes catch up with the first one, from as far as the last one lags
/// behind it, in one launch each; there are also ghosts ahead, and rows that wait for others beside the wall.
std::vector<RowRings::Ring> WalkWays::sizes_of_rings(std::int64_t at_once) const {
  const std::size_t end = passes_.size() - 1;
  const std::int64_t at_wall = lag(0, end) + rows_beside() + deepest_ + most_at_walls();
  std::vector<RowRings::Ring> rings;
  for (const auto& [arrays, from, to, beside] : handed_on()) {
    const std::int64_t behind = std::max(lag(from, to), lag(from, beside) + rows_beside());
    rings.push_back({arrays, at_once + (has_wall_[0] || has_wall_[1] ? at_wall : behind)});
  }
  return rings;
}

std::int64_t WalkWays::most_at_walls() const {
  std::int64_t rows = 0;
  for (const PassOnItsWay& pass : passes_) rows = std::max(rows, pass.at_walls);
  return rows;
}

void WalkWays::make_rings(const Tables& tables, WalkWay& way) const {
  const auto bytes = [&](std::int64_t at_once) { return RowRings::bytes_of_rows(tables, sizes_of_rings(at_once)); };
  if (bytes(way.at_once) == 0) return;
  // Where there are two ways, no number of rows is small enough.
  const bool may_shrink = std::holds_alternative<walks::AsItPays>(asked_) && way.tiles.is_one() && ways_.size() == 1;
  const auto is_too_large = [&](std::int64_t rows) { return (rows > rows_together ? 2 : 1) * bytes(rows) > cache_; };
  for (std::int64_t rows = way.at_once; may_shrink && rows > needs_.least_at_once && is_too_large(rows);) {
    rows = std::max(rows / 2, needs_.least_at_once);
    if (bytes(rows) < bytes(way.at_once)) way.at_once = rows;
  }
  way.rings.emplace(tables, sizes_of_rings(way.at_once), rows_beside(), way.tiles.elements_of_row());
}

bool WalkWays::fit(const Grid& grid, std::int64_t bytes_of_cell) {
  if (ways_.size() > 1) throw Error(ExitCode::bug, "a walk of two ways is to fit a cache");
  if (!std::holds_alternative<walks::AsItPays>(asked_)) return true;
  WalkWay& way = now();
  const auto is_too_large = [&] {
    const std::int64_t rows = way.at_once + 2 * passes_.front().reach + lag(0, passes_.size() - 1);
    return rows * (cells_ / rows_) * bytes_of_cell > cache_;
  };
  while (way.at_once > needs_.least_at_once && is_too_large())
    way.at_once = std::max(way.at_once / 2, needs_.least_at_once);
  return !grid.communicator().any(is_too_large());
}

std::string WalkWays::describe() const {
  const char* const rows = last_ == 2 ? "planes" : "rows";
  std::string text;
  for (const WalkWay& way : ways_) {
    if (turns_.is_chosen() && &way != &now()) continue;
    if (!text.empty()) text += "; or, if the first steps show that it is faster, ";
    text += fmt::format("in one walk over {}, {} at once", rows, way.at_once);
    if (way.rings)
      text += fmt::format(", those between passes in rings of {:.1f} MiB",
                          static_cast<double>(way.rings->bytes_in_use()) / (1 << 20));
    if (!way.tiles.is_one())
      text += fmt::format(", in tiles {} cells wide along {}", way.tiles.width(), last_ == 2 ? "y" : "x");
  }
  return text;
}

}  // namespace hindsight

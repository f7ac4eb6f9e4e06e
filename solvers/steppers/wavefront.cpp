#include "solvers/steppers/wavefront.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace hindsight {
namespace {

// Of a pass in its turn: enough that what a launch costs beside its cells does not count, few enough that what all
// passes have in use stays in a cache.
constexpr std::int64_t cells_at_once = 8192, most_at_once = 32;
// So many times as deep as its halo a block is at least, where that is deepened for walks.
constexpr std::int64_t thick = 16;
// So many rows at once, for each that a launch computes beside them.
constexpr std::int64_t times_beside = 4;
// So many times as wide a tile is as what is computed beside it on a side.
constexpr std::int64_t least_width = 4;

std::size_t last_axis(const Grid& grid) {
  return static_cast<std::size_t>(grid.dimensions() - 1);
}

/// Whether what a walk needs beyond a rank's own cells is computed there: on a side without a wall.
bool goes_on(const Grid& grid, std::size_t axis) {
  return grid.is_split(static_cast<int>(axis)) || (axis == last_axis(grid) && grid.axes()[axis].periodic);
}

}  // namespace

std::array<int, 3> Wavefront::halo(const std::vector<Axis>& axes, int ranks, const std::array<int, 3>& least,
                                   const std::vector<WalkHalo>& of_steps, std::int64_t bytes_of_cell) {
  if (axes.size() < 2 || std::holds_alternative<Never>(asked_)) return least;
  const std::array<int, 3> blocks = Grid::division(axes, least, ranks);
  const std::int64_t times = std::holds_alternative<AsItPays>(asked_) ? thick : 1;
  std::int64_t bytes_of_pass = bytes_of_cell;
  for (std::size_t a = 0; a < axes.size(); ++a) bytes_of_pass *= axes[a].cells / blocks[a];
  for (const auto& [layers, passes] : of_steps) {
    std::array<int, 3> halo = least;
    bool fits = pays(passes, bytes_of_pass);
    for (std::size_t a = 1; a < axes.size(); ++a) {
      if (blocks[a] == 1 && (a + 1 < axes.size() || !axes[a].periodic)) continue;
      fits = fits && axes[a].cells / blocks[a] >= times * layers[a];
      halo[a] = std::max(halo[a], layers[a]);
    }
    if (fits) return halo;
  }
  return least;
}

/// A core's own.
std::int64_t Wavefront::bytes_of_cache() {
  if (const auto* const pays = std::get_if<AsItPays>(&asked_); pays != nullptr && pays->cache > 0) return pays->cache;
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : std::int64_t{1} << 20U;
}

/// Whether what passes read and write does not fit into a core's cache, or nobody asks for that.
bool Wavefront::pays(std::size_t passes, std::int64_t bytes_of_pass) {
  return !std::holds_alternative<AsItPays>(asked_) ||
         static_cast<std::int64_t>(passes + 1) * bytes_of_pass > bytes_of_cache();
}

/// How deep what each pass reads must be there, and what it writes, around a rank's own cells.
Wavefront::Layers Wavefront::layers(const std::vector<Step>& steps) {
  Layers all{std::vector<std::array<int, 3>>(steps.size()), std::vector<std::array<int, 3>>(steps.size())};
  for (std::size_t i = steps.size(); i-- > 0;) {
    const Step& step = steps[i];
    const std::array<int, 3> depth = step.pass->depth(), reach = step.fills_alone ? depth : step.pass->reach();
    for (std::size_t a = 0; a < 3; ++a) {
      all.read[i][a] = std::max(depth[a], reach[a] + all.written[i][a]);
      if (i > 0) all.written[i - 1][a] = step.reads_others ? all.written[i][a] : all.read[i][a];
    }
  }
  return all;
}

bool Wavefront::has_room(const Grid& grid, const std::vector<Step>& steps) {
  if (std::ranges::any_of(steps, &Step::keeps_within)) return false;
  const Layers layers = Wavefront::layers(steps);
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (std::size_t a = 0; a <= last_axis(grid); ++a)
      if (goes_on(grid, a) &&
          std::max(layers.read[i][a], layers.written[i][a] + steps[i].reads[a]) > grid.layout().halo[a])
        return false;
  return true;
}

bool Wavefront::suits(const Grid& grid, const std::vector<Step>& steps, std::int64_t arrays, Element element) {
  if (steps.size() < 2 || grid.dimensions() < 2 || !grid.machine().is_host()) return false;
  if (std::ranges::any_of(steps, [](const Step& step) { return step.pass == nullptr; })) return false;
  if (std::holds_alternative<Never>(asked_)) return false;
  bool is_split = false;
  for (int axis = 0; axis < grid.dimensions(); ++axis) is_split = is_split || grid.is_split(axis);
  const std::int64_t bytes_of_pass = arrays * grid.layout().field_stride * bytes_of(element);
  std::int64_t ends = 0;
  for (const Step& step : steps) ends += 2 * step.pass->depth()[last_axis(grid)];
  const bool are_everywhere = std::ranges::all_of(steps, [](const Step& step) { return step.pass->is_everywhere(); });
  const bool is_chain = std::ranges::none_of(steps, [](const Step& step) { return step.fills_alone; });
  const bool is_possible = are_everywhere && pays(steps.size(), bytes_of_pass) &&
                           grid.cells()[last_axis(grid)] > ends && (has_room(grid, steps) || (is_chain && !is_split));
  return !grid.communicator().any(!is_possible);  // for all ranks, or none: messages differ
}

Wavefront::Wavefront(const Tables& tables, const std::vector<Step>& steps)
    : last_(last_axis(tables.grid())), own_(tables.grid().interior()), tiles_(tables.grid()), rows_(own_.hi[last_]) {
  const Grid& grid = tables.grid();
  for (std::size_t side = 0; side < 2; ++side)
    has_wall_[side] = grid.is_wall(static_cast<int>(last_), static_cast<int>(side));
  const Layers layers = Wavefront::layers(steps);
  leaves_ends_ = grid.axes()[last_].periodic && !has_room(grid, steps);
  std::int64_t left_out = 0, depth_across = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    depth_across = std::max(depth_across, std::int64_t{step.pass->depth()[tiles_.axis()]});
    const std::int64_t depth = step.pass->depth()[last_], reach = step.fills_alone ? depth : step.pass->reach()[last_];
    Walked walked{step.pass,
                  step.reads_others ? 0 : reach,
                  depth,
                  layers.written[i][tiles_.axis()],
                  step.fills_alone,
                  step.reads_others,
                  step.adds_to_sums,
                  step.beside,
                  step.at_walls[last_],
                  step.at_walls[tiles_.axis()],
                  own_};
    deepest_ = std::max(deepest_, walked.at_walls);
    least_at_once_ = std::max(least_at_once_, times_beside * step.rows_beside);
    if (leaves_ends_) {
      if (i > 0) left_out += walked.reach;
      walked.cells.lo[last_] += left_out;
      walked.cells.hi[last_] -= left_out;
    }
    std::array<int, 3> read{0, 0, 0};
    for (std::size_t a = 0; a <= last_ && !leaves_ends_; ++a) {
      if (!goes_on(grid, a)) continue;
      if (!grid.is_wall(static_cast<int>(a), 0)) walked.cells.lo[a] -= layers.written[i][a];
      if (!grid.is_wall(static_cast<int>(a), 1)) walked.cells.hi[a] += layers.written[i][a];
      read[a] = layers.read[i][a];
    }
    if (i > 0 && !step.reads_others) deepest_ = std::max(deepest_, walked.depth);
    if ((i == 0 || step.reads_others) && read != std::array{0, 0, 0}) step.pass->deepen(read);
    walked_.push_back(walked);
  }
  choose_rows();
  make_tiles(tables, steps, depth_across);
  make_rings(tables, steps);
}

void Wavefront::choose_rows() {
  const std::int64_t cells_of_row = own_.cells() / rows_;
  at_once_ = std::max(least_at_once_, std::clamp<std::int64_t>(cells_at_once / cells_of_row, 1, most_at_once));
  if (const auto* const rows = std::get_if<Rows>(&asked_)) at_once_ = rows->at_once;
}

/// Rows by which the pass `last` lags behind the pass `first`, and that are ghosts ahead of it.
std::int64_t Wavefront::lag(std::size_t first, std::size_t last) const {
  std::int64_t rows = 0;
  for (std::size_t k = first + 1; k <= last; ++k)
    if (!walked_[k].reads_others) rows += std::max(walked_[k].reach, walked_[k].depth);
  return rows;
}

/// Rows of all arrays that a walk has in use when it takes them one by one.
std::int64_t Wavefront::rows_in_use(const std::vector<Step>& steps, std::int64_t arrays) const {
  const std::size_t last = steps.size() - 1;
  const std::int64_t around = 1 + 2 * deepest_;
  std::int64_t rows = arrays * (lag(0, last) + around + 1);  // of what it begins with, and what it ends with
  for (std::size_t i = 0; i < last; ++i) {
    if (steps[i].reads_others) rows += arrays * (around + lag(i, last));
    const auto handed_on = static_cast<std::int64_t>(steps[i].handed_on.size());
    rows += handed_on * (around + lag(i, steps[i].last_reader.value_or(last)));
  }
  return rows;
}

/// Where rows do not fit into a cache, as narrow as it takes, or as somebody asks for.
/// @param depth of ghosts across, where no halo is deeper for the walk.
void Wavefront::make_tiles(const Tables& tables, const std::vector<Step>& steps, std::int64_t depth) {
  const Grid& grid = tables.grid();
  const std::size_t across = tiles_.axis();
  std::int64_t layers = 0, at_walls = 0, arrays = 1;
  bool suits = !leaves_ends_;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    layers = std::max(layers, walked_[i].around_tile);
    arrays = std::max(arrays, static_cast<std::int64_t>(step.handed_on.size()));
    const bool is_handed_on = i + 1 == steps.size() || step.fills_alone || !step.handed_on.empty();
    suits = suits && is_handed_on && !step.adds_to_cells && !(step.adds_to_sums && across == 0);
    at_walls = std::max(at_walls, walked_[i].at_walls_across);
  }
  if (!suits) return;
  const std::int64_t cells = own_.hi[across], around = layers + at_walls + depth;
  std::int64_t width = cells;
  if (const auto* const rows = std::get_if<Rows>(&asked_)) {
    if (rows->width > 0) width = rows->width;
  } else {
    // Bytes in use, for each cell of the width.
    const std::int64_t each = rows_in_use(steps, arrays) * (own_.cells() / rows_ / cells) *
                              bytes_of(tables.cells(steps.front().handed_on.front()).element);
    if (each * cells <= bytes_of_cache()) return;  // and the last pass may overwrite
    // What comes and goes takes room, too: this much is measured to pay.
    const std::int64_t in_cache = 3 * bytes_of_cache() / 8 / each - 2 * layers, least = least_width * layers;
    if (least_at_once_ > 1 && in_cache < least) return;  // many rows at once take more room still
    width = std::max({in_cache, least, at_walls, std::int64_t{1}});
  }
  if (!Tiles::are_possible(grid, width, around)) return;
  tiles_.cut(width, around);
  begin(0);
  choose_rows();
}

/// A tile.
void Wavefront::begin(std::size_t tile) {
  if (tiles_.is_one()) return;
  tiles_.turn_to(tile);
  const auto put = [&](Box& cells, std::int64_t around, std::int64_t at_walls) {
    const Tiles::Range range = tiles_.with(around, at_walls);
    cells.lo[tiles_.axis()] = range.from;
    cells.hi[tiles_.axis()] = range.to;
  };
  put(own_, 0, 0);
  for (Walked& walked : walked_) put(walked.cells, walked.around_tile, walked.at_walls_across);
}

void Wavefront::make_rings(const Tables& tables, const std::vector<Step>& steps) {
  std::vector<RowRings::OfPass> rings;
  for (const Step& step : steps) rings.push_back({step.handed_on, 1});
  if (RowRings::bytes_of_rows(tables, rings) == 0 || leaves_ends_) return;
  std::int64_t reach = 0, at_walls = 0;
  for (std::size_t i = 1; i < walked_.size(); ++i) reach = std::max(reach, walked_[i].reach);
  for (const Walked& walked : walked_) at_walls = std::max(at_walls, walked.at_walls);
  // Beside rows at once, those by which the last reader lags behind, also where it waits for rows beside a wall, ghosts
  // ahead of it, and what it reads behind it: of the array that needs most, where there are walls.
  const auto size = [&](std::size_t i) {
    std::int64_t rows = at_once_ + 2 * deepest_ + at_walls + lag(i, steps[i].last_reader.value_or(steps.size() - 1));
    rows = (rows + at_once_ - 1) / at_once_ * at_once_;  // seams that lie apart by rows at once
    return std::max({rows, 2 * reach, 4 * deepest_});
  };
  const auto make_sizes = [&] {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < rings.size(); ++i)
      if (!rings[i].arrays.empty()) most = std::max(most, rings[i].rows = size(i));
    // A seam keeps away from both walls: with four times the ghosts there is one that does, if it is one for all.
    for (RowRings::OfPass& ring : rings)
      if (has_wall_[0] || has_wall_[1]) ring.rows = most;
    return most;
  };
  std::int64_t most = make_sizes();
  if (std::holds_alternative<AsItPays>(asked_) && tiles_.is_one())
    for (; at_once_ > least_at_once_ && 2 * RowRings::bytes_of_rows(tables, rings) > bytes_of_cache();
         most = make_sizes())
      at_once_ = std::max(at_once_ / 2, least_at_once_);
  tables.grid().communicator().together(
      [&] { rings_.emplace(tables, rings, reach, seam(most), tiles_.elements_of_row()); });
}

/// One that walls, which are filled from rows beside them, do not meet.
std::int64_t Wavefront::seam(std::int64_t rows) const {
  const auto is_near = [&](std::int64_t seam, std::int64_t wall) {
    const std::int64_t behind = ((seam - wall) % rows + rows) % rows;
    return behind < deepest_ || behind > rows - deepest_;
  };
  std::int64_t seam = 0;
  while (is_near(seam, 0) || is_near(seam, rows_)) ++seam;
  return seam;
}

bool Wavefront::fit(const Grid& grid, std::int64_t bytes_of_cell) {
  if (!std::holds_alternative<AsItPays>(asked_)) return true;
  const auto is_too_large = [&] {
    const std::int64_t rows = at_once_ + 2 * walked_.front().reach + lag(0, walked_.size() - 1);
    return rows * (own_.cells() / rows_) * bytes_of_cell > bytes_of_cache();
  };
  while (at_once_ > least_at_once_ && is_too_large()) at_once_ = std::max(at_once_ / 2, least_at_once_);
  return !grid.communicator().any(is_too_large());
}

std::string Wavefront::describe() const {
  std::string text = fmt::format("in one walk over {}, {} at once", last_ == 2 ? "planes" : "rows", at_once_);
  if (rings_)
    text += fmt::format(", those between passes in rings of {:.1f} MiB",
                        static_cast<double>(rings_->bytes_in_use()) / (1 << 20));
  if (!tiles_.is_one())
    text += fmt::format(", in tiles {} cells wide along {}", tiles_.width(), last_ == 2 ? "y" : "x");
  return text;
}

/// Whoever reads them never reads again as far back as the last pass has come, and ghosts are there from the start.
bool Wavefront::may_overwrite() const {
  std::size_t first = 0;
  for (std::size_t i = 0; i < walked_.size(); ++i)
    if (walked_[i].reads_others) first = i;
  std::int64_t behind = 0;  // rows
  for (std::size_t i = first + 1; i < walked_.size(); ++i) behind += walked_[i].reach;
  return !leaves_ends_ && tiles_.is_one() && behind >= walked_[first].pass->reach()[last_];
}

/// Up to here, or less: rows beside walls that must be computed at once are.
std::int64_t Wavefront::held_back(const Walked& walked, std::int64_t to) const {
  if (walked.at_walls == 0 || to == walked.end(last_)) return to;
  if (has_wall_[1]) to = std::min(to, rows_ - walked.at_walls);
  return has_wall_[0] && to < walked.at_walls ? walked.begin(last_) : to;
}

/// The rows of pass i up to which what it reads is there.
std::int64_t Wavefront::reachable(std::size_t i) const {
  const Walked &mine = walked_[i], &before = walked_[i - 1];
  if (before.done == before.end(last_)) return mine.end(last_);
  if (has_wall_[0] && !mine.reads_others && before.done < mine.depth) return mine.begin(last_);
  return std::min(before.done - mine.reach, mine.end(last_));
}

void Wavefront::compute(Tables& tables, std::size_t i, std::int64_t lo, std::int64_t hi) {
  for (std::int64_t to = lo; lo < hi; lo = to) {
    to = rings_ ? std::min(hi, rings_->seam_behind(lo)) : hi;
    compute_together(tables, i, lo, to);
  }
}

/// Rows that lie one after another.
void Wavefront::compute_together(Tables& tables, std::size_t i, std::int64_t lo, std::int64_t hi) {
  Box cells = walked_[i].cells;
  cells.lo[last_] = lo;
  cells.hi[last_] = hi;
  Sides sides{false, false};
  std::int64_t depth = 0;
  if (i + 1 < walked_.size() && !walked_[i + 1].reads_others) {
    depth = walked_[i + 1].depth;
    sides = {has_wall_[0] && lo < depth && hi >= depth, has_wall_[1] && hi == rows_};
  }
  tiles_.for_parts(cells, [&](const Tiles::Part& part) {
    if (rings_) rings_->turn_to(tables, lo, part.shift);
    if (walked_[i].beside != nullptr) walked_[i].beside->bind(tables);
    run_pass(tables, walked_[i], part);
    fill_ghosts(tables, i + 1, part.cells, sides);
  });
  if (rings_) rings_->written(i, sides[0] ? -depth : lo, sides[1] ? hi + depth : hi);
}

/// Those of a pass, if it reads some that follow from these cells, which the pass before it has computed.
void Wavefront::fill_ghosts(Tables& tables, std::size_t i, const Box& cells, Sides sides) {
  if (i == walked_.size() || walked_[i].reads_others) return;
  Pass& pass = *walked_[i].pass;
  if (rings_) pass.bind(tables);
  pass.fill_rows(cells);
  if (sides[0] || sides[1]) pass.fill_sides(cells, sides);
}

void Wavefront::run_pass(Tables& tables, const Walked& walked, const Tiles::Part& part) const {
  if (walked.fills_alone) return;
  if (walked.beside != nullptr) walked.beside->before(tables, part.cells);
  run_kernel(tables, walked, part);
  if (walked.beside != nullptr) walked.beside->after(tables, part.cells);
}

/// Sums are of the rank's own cells alone, and of a tile's own.
void Wavefront::run_kernel(Tables& tables, const Walked& walked, const Tiles::Part& part) const {
  if (!walked.adds_to_sums) return walked.pass->run_in(tables, part.cells);
  if (part.is_around) return walked.pass->run_beyond(tables, part.cells);
  Box cells = part.cells;
  for (std::size_t a = last_; a > 0; --a) {
    Box below = cells, above = cells;
    below.hi[a] = std::min(cells.hi[a], own_.lo[a]);
    above.lo[a] = std::max(cells.lo[a], own_.hi[a]);
    walked.pass->run_beyond(tables, below);
    walked.pass->run_beyond(tables, above);
    cells.lo[a] = std::max(cells.lo[a], own_.lo[a]);
    cells.hi[a] = std::min(cells.hi[a], own_.hi[a]);
  }
  walked.pass->run_in(tables, cells);
}

/// Of a periodic axis.
void Wavefront::finish_ends(Tables& tables, std::size_t count) {
  for (std::size_t i = 1; i < std::min(count + 1, walked_.size()); ++i) {
    walked_[i].pass->fill_sides(walked_[i].cells, both_sides);
    if (i == count) return;
    compute(tables, i, 0, walked_[i].begin(last_));
    compute(tables, i, walked_[i].end(last_), rows_);
  }
}

void Wavefront::run(Tables& tables, std::size_t count) {
  const auto reads_what_is_there = [&](std::size_t i) { return i == 0 || walked_[i].reads_others; };
  for (std::size_t i = 0; i < walked_.size(); ++i) {
    if (!reads_what_is_there(i)) continue;
    if (walked_[i].beside != nullptr) walked_[i].beside->bind(tables);
    walked_[i].pass->start_ghosts(tables);
  }
  for (std::size_t i = 0; i < walked_.size(); ++i)
    if (reads_what_is_there(i)) walked_[i].pass->finish_ghosts();
  if (rings_) rings_->begin(tables);
  for (std::size_t tile = 0; tile < tiles_.count(); ++tile) {
    begin(tile);
    walk(tables, count);
  }
  if (leaves_ends_) finish_ends(tables, count);
  if (rings_) rings_->end(tables);
}

/// Over all rows of a tile.
void Wavefront::walk(Tables& tables, std::size_t count) {
  for (std::size_t i = 0; i < walked_.size(); ++i) {
    if (walked_[i].beside != nullptr) walked_[i].beside->bind(tables);
    if (i > 0 && !walked_[i].reads_others) walked_[i].pass->bind(tables);
    walked_[i].done = walked_[i].begin(last_);
  }
  // Until all are: beyond what the next pass reads, one may have ghosts to compute that others read.
  const auto is_done = [&](std::size_t i) { return walked_[i].done == walked_[i].end(last_); };
  const auto all_are_done = [&] {
    std::size_t i = 0;
    while (i < count && is_done(i)) ++i;
    return i == count;
  };
  for (std::int64_t front = walked_.front().done; !all_are_done();) {
    front = std::min(front + at_once_, walked_.front().end(last_));
    for (std::size_t i = 0; i < count; ++i) {
      Walked& walked = walked_[i];
      const std::int64_t to = held_back(walked, i == 0 ? front : reachable(i));
      if (to <= walked.done) continue;
      const std::int64_t from = walked.done;
      walked.done = to;
      compute(tables, i, from, to);
    }
  }
}

}  // namespace hindsight

#include "solvers/steppers/wavefront.hpp"

#include <algorithm>

#include "runtime/stopwatch.hpp"

namespace hindsight {
namespace {

// So many times as deep as its halo a block is at least, where that is deepened for walks.
constexpr std::int64_t thick = 16;
// So many rows at once, for each that a launch computes beside them.
constexpr std::int64_t times_beside = 4;

std::size_t last_axis(const Grid& grid) {
  return static_cast<std::size_t>(grid.dimensions() - 1);
}

/// Whether what a walk needs beyond a rank's own cells is computed there: on a side without a wall.
bool goes_on_along(const Grid& grid, std::size_t axis) {
  return grid.is_split(static_cast<int>(axis)) || (axis == last_axis(grid) && grid.axes()[axis].periodic);
}

}  // namespace

bool Wavefront::goes_on(const Grid& grid) {
  bool goes_on = false;
  for (std::size_t a = 0; a < static_cast<std::size_t>(grid.dimensions()); ++a)
    goes_on = goes_on || goes_on_along(grid, a);
  return goes_on;
}

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

/// Whether what passes read and write does not fit into a core's cache, or nobody asks for that.
bool Wavefront::pays(std::size_t passes, std::int64_t bytes_of_pass) {
  return !std::holds_alternative<AsItPays>(asked_) ||
         static_cast<std::int64_t>(passes + 1) * bytes_of_pass > walks::bytes_of_cache(asked_);
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
      if (goes_on_along(grid, a) &&
          std::max(layers.read[i][a], layers.written[i][a] + steps[i].reads[a]) > grid.layout().halo[a])
        return false;
  return true;
}

bool Wavefront::suits(const Grid& grid, const std::vector<Step>& steps, std::int64_t arrays, Element element,
                      std::size_t each) {
  if (steps.size() < 2 || grid.dimensions() < 2 || !grid.machine().is_host()) return false;
  if (std::ranges::any_of(steps, [](const Step& step) { return step.pass == nullptr; })) return false;
  if (std::holds_alternative<Never>(asked_)) return false;
  bool is_split = false;
  for (int axis = 0; axis < grid.dimensions(); ++axis) is_split = is_split || grid.is_split(axis);
  const std::int64_t bytes_of_pass = arrays * grid.layout().field_stride * bytes_of(element);
  std::int64_t ends = 0;
  for (const Step& step : steps) ends += 2 * step.pass->depth()[last_axis(grid)];
  const bool are_everywhere = std::ranges::all_of(steps, [](const Step& step) { return step.pass->is_everywhere(); });
  const bool is_chain = std::ranges::none_of(steps, &Step::reads_others);
  const bool is_possible = are_everywhere && pays(each > 0 ? each : steps.size(), bytes_of_pass) &&
                           grid.cells()[last_axis(grid)] > ends && (has_room(grid, steps) || (is_chain && !is_split));
  return !grid.communicator().any(!is_possible);  // for all ranks, or none: messages differ
}

Wavefront::Wavefront(const Tables& tables, const std::vector<Step>& steps)
    : last_(last_axis(tables.grid())),
      across_(Tiles(tables.grid()).axis()),
      all_(tables.grid().interior()),
      own_(all_),
      rows_(all_.hi[last_]) {
  const Grid& grid = tables.grid();
  for (std::size_t side = 0; side < 2; ++side)
    has_wall_[side] = grid.is_wall(static_cast<int>(last_), static_cast<int>(side));
  const Layers layers = Wavefront::layers(steps);
  leaves_ends_ = grid.axes()[last_].periodic && !has_room(grid, steps);
  std::int64_t left_out = 0, depth_across = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    depth_across = std::max(depth_across, std::int64_t{step.pass->depth()[across_]});  // before any is deepened
    const std::int64_t depth = step.pass->depth()[last_], reach = step.fills_alone ? depth : step.pass->reach()[last_];
    Walked walked{step.pass,
                  step.reads_others ? 0 : reach,
                  depth,
                  layers.written[i][across_],
                  step.fills_alone,
                  step.reads_others,
                  step.adds_to_sums,
                  step.beside,
                  step.at_walls[last_],
                  step.at_walls[across_],
                  all_};
    if (leaves_ends_) {
      if (i > 0) left_out += walked.reach;
      walked.all.lo[last_] += left_out;
      walked.all.hi[last_] -= left_out;
    }
    std::array<int, 3> read{0, 0, 0};
    for (std::size_t a = 0; a <= last_ && !leaves_ends_; ++a) {
      if (!goes_on_along(grid, a)) continue;
      if (!grid.is_wall(static_cast<int>(a), 0)) walked.all.lo[a] -= layers.written[i][a];
      if (!grid.is_wall(static_cast<int>(a), 1)) walked.all.hi[a] += layers.written[i][a];
      read[a] = layers.read[i][a];
    }
    if ((i == 0 || step.reads_others) && read != std::array{0, 0, 0}) step.pass->deepen(read);
    walked.cells = walked.all;
    walked_.push_back(walked);
  }
  make_ways(tables, steps, depth_across);
}

void Wavefront::make_ways(const Tables& tables, const std::vector<Step>& steps, std::int64_t depth_across) {
  WalkWays::Needs needs{.depth_across = depth_across, .keeps_whole = leaves_ends_};
  std::vector<PassOnItsWay> passes;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const Walked& walked = walked_[i];
    needs.least_at_once = std::max(needs.least_at_once, times_beside * step.rows_beside);
    const bool keeps_nothing_whole = i + 1 == steps.size() || step.fills_alone || !step.handed_on.empty();
    passes.push_back(
        {.reach = walked.reach,
         .depth = walked.depth,
         .around_tile = walked.around_tile,
         .reads_others = walked.reads_others,
         .at_walls = walked.at_walls,
         .at_walls_across = walked.at_walls_across,
         .handed_on = step.handed_on,
         .last_reader = step.last_reader,
         .last_beside = step.last_beside,
         .in_place = step.in_place,
         .may_go_in_tiles = keeps_nothing_whole && !step.adds_to_cells && !(step.adds_to_sums && across_ == 0)});
  }
  ways_.emplace(tables, std::move(passes), needs, asked_);
}

/// A tile.
void Wavefront::begin(std::size_t tile) {
  Tiles& tiles = ways_->now().tiles;
  tiles.turn_to(tile);
  for (Walked& walked : walked_) walked.cells = walked.all;
  own_ = all_;
  if (tiles.is_one()) return;
  const auto put = [&](Box& cells, std::int64_t around, std::int64_t at_walls) {
    const Tiles::Range range = tiles.with(around, at_walls);
    cells.lo[across_] = range.from;
    cells.hi[across_] = range.to;
  };
  put(own_, 0, 0);
  for (Walked& walked : walked_) put(walked.cells, walked.around_tile, walked.at_walls_across);
}

/// Whoever reads them never reads again as far back as the last pass has come, and ghosts are there from the start.
bool Wavefront::may_overwrite() const {
  std::size_t first = 0;
  for (std::size_t i = 0; i < walked_.size(); ++i)
    if (walked_[i].reads_others) first = i;
  std::int64_t behind = 0;  // rows
  for (std::size_t i = first + 1; i < walked_.size(); ++i) behind += walked_[i].reach;
  return !leaves_ends_ && ways_->now().tiles.is_one() && behind >= walked_[first].pass->reach()[last_];
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
  const std::optional<RowRings>& rings = ways_->now().rings;
  const std::int64_t most = rings ? rings->most_at_once() : hi - lo;
  for (; lo < hi; lo += most) compute_together(tables, i, lo, std::min(lo + most, hi));
}

/// Rows that are there at once.
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
  WalkWay& way = ways_->now();
  const auto turn_to = [&](const Tiles::Part& part) {
    if (way.rings) way.rings->turn_to(tables, lo, part.shift);
  };
  way.tiles.for_parts(cells, [&](const Tiles::Part& part) {
    turn_to(part);
    if (walked_[i].beside != nullptr) walked_[i].beside->bind(tables);
    run_pass(tables, walked_[i], part);
  });
  // Not before: until all parts are computed they may read what is handed on in place of it.
  way.tiles.for_parts(cells, [&](const Tiles::Part& part) {
    if (!way.tiles.is_one()) turn_to(part);
    fill_ghosts(tables, i + 1, part.cells, sides);
  });
}

/// Those of a pass, if it reads some that follow from these cells, which the pass before it has computed.
void Wavefront::fill_ghosts(Tables& tables, std::size_t i, const Box& cells, Sides sides) {
  if (i == walked_.size() || walked_[i].reads_others) return;
  Pass& pass = *walked_[i].pass;
  if (keeps_rows()) {
    if (walked_[i].beside != nullptr) walked_[i].beside->bind(tables);
    pass.bind(tables);
  }
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
  const Stopwatch watch;
  WalkWay& way = ways_->now();
  if (way.rings) way.rings->begin(tables);
  for (std::size_t tile = 0; tile < way.tiles.count(); ++tile) {
    begin(tile);
    walk(tables, count);
  }
  if (leaves_ends_) finish_ends(tables, count);
  if (way.rings) way.rings->end(tables);
  if (count == walked_.size()) ways_->went(watch.seconds());
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
    front = std::min(front + ways_->now().at_once, walked_.front().end(last_));
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

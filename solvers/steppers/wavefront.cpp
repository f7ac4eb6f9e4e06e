#include "solvers/steppers/wavefront.hpp"

#include <unistd.h>

#include <algorithm>

namespace hindsight {
namespace {

// Of a pass in its turn: enough that what a launch costs beside its cells does not count, few enough that what all
// passes have in use stays in a cache.
constexpr std::int64_t cells_at_once = 8192, most_at_once = 32;
// So many times as deep as its halo a block is at least, where that is deepened for walks.
constexpr std::int64_t thick = 16;

std::size_t last_axis(const Grid& grid) {
  return static_cast<std::size_t>(grid.dimensions() - 1);
}

/// A core's own.
std::int64_t bytes_of_cache() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : std::int64_t{1} << 20U;
}

/// Whether what a walk needs beyond a rank's own cells is computed there: on a side without a wall.
bool goes_on(const Grid& grid, std::size_t axis) {
  return grid.is_split(static_cast<int>(axis)) || (axis == last_axis(grid) && grid.axes()[axis].periodic);
}

}  // namespace

std::array<int, 3> Wavefront::halo(const std::vector<Axis>& axes, int ranks, const std::array<int, 3>& least,
                                   const std::array<int, 3>& of_step) {
  if (axes.size() < 2 || of_step == std::array{0, 0, 0} || std::holds_alternative<Never>(asked_)) return least;
  const std::array<int, 3> blocks = Grid::division(axes, least, ranks);
  const std::int64_t times = std::holds_alternative<AsItPays>(asked_) ? thick : 1;
  std::array<int, 3> halo = least;
  for (std::size_t a = 1; a < axes.size(); ++a) {
    if (blocks[a] == 1 && (a + 1 < axes.size() || !axes[a].periodic)) continue;
    if (axes[a].cells / blocks[a] < times * of_step[a]) return least;
    halo[a] = std::max(halo[a], of_step[a]);
  }
  return halo;
}

/// How deep what each pass reads must be there, around a rank's own cells.
std::vector<std::array<int, 3>> Wavefront::layers(const std::vector<Step>& steps) {
  std::vector<std::array<int, 3>> all(steps.size());
  for (std::size_t i = steps.size(); i-- > 0;) {
    const std::array<int, 3> reach = steps[i].pass->reach(), depth = steps[i].pass->depth();
    for (std::size_t a = 0; a < 3; ++a)
      all[i][a] = std::max(depth[a], reach[a] + (i + 1 < steps.size() ? all[i + 1][a] : 0));
  }
  return all;
}

bool Wavefront::has_room(const Grid& grid, const std::vector<Step>& steps) {
  if (std::ranges::any_of(steps, &Step::keeps_within)) return false;
  const std::array<int, 3> deepest = layers(steps).front();
  for (std::size_t a = 0; a <= last_axis(grid); ++a)
    if (goes_on(grid, a) && deepest[a] > grid.layout().halo[a]) return false;
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
  const bool pays = !std::holds_alternative<AsItPays>(asked_) ||
                    static_cast<std::int64_t>(steps.size() + 1) * bytes_of_pass > bytes_of_cache();
  const bool are_plain = std::ranges::all_of(steps, [](const Step& step) { return step.pass->is_plain(); });
  const bool is_possible =
      are_plain && pays && grid.cells()[last_axis(grid)] > ends && (has_room(grid, steps) || !is_split);
  return !grid.communicator().any(!is_possible);  // for all ranks, or none: messages differ
}

Wavefront::Wavefront(const Tables& tables, const std::vector<Step>& steps)
    : last_(last_axis(tables.grid())), rows_(tables.grid().cells()[last_]) {
  const Grid& grid = tables.grid();
  for (std::size_t side = 0; side < 2; ++side)
    has_wall_[side] = grid.is_wall(static_cast<int>(last_), static_cast<int>(side));
  const std::vector<std::array<int, 3>> layers = Wavefront::layers(steps);
  const bool is_periodic = grid.axes()[last_].periodic;
  leaves_ends_ = is_periodic && !has_room(grid, steps);
  std::int64_t left_out = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Pass* const pass = steps[i].pass;
    Walked walked{pass, pass->reach()[last_], pass->depth()[last_], grid.interior()};
    if (leaves_ends_) {
      if (i > 0) left_out += walked.reach;
      walked.cells.lo[last_] += left_out;
      walked.cells.hi[last_] -= left_out;
    }
    for (std::size_t a = 0; a <= last_ && i + 1 < steps.size() && !leaves_ends_; ++a) {
      if (!goes_on(grid, a)) continue;
      if (!grid.is_wall(static_cast<int>(a), 0)) walked.cells.lo[a] -= layers[i + 1][a];
      if (!grid.is_wall(static_cast<int>(a), 1)) walked.cells.hi[a] += layers[i + 1][a];
    }
    if (i > 0) deepest_ = std::max(deepest_, walked.depth);
    walked_.push_back(walked);
  }
  if (!leaves_ends_) {
    std::array<int, 3> depth{0, 0, 0};
    for (std::size_t a = 0; a <= last_; ++a)
      if (goes_on(grid, a)) depth[a] = layers.front()[a];
    if (depth != std::array{0, 0, 0}) walked_.front().pass->deepen(depth);
  }
  const std::int64_t cells_of_row = grid.interior().cells() / rows_;
  at_once_ = std::clamp<std::int64_t>(cells_at_once / cells_of_row, 1, most_at_once);
  if (const auto* const rows = std::get_if<Rows>(&asked_)) at_once_ = rows->at_once;
  make_rings(tables, steps);
}

void Wavefront::make_rings(const Tables& tables, const std::vector<Step>& steps) {
  std::vector<std::vector<int>> arrays;
  for (const Step& step : steps) arrays.push_back(step.handed_on);
  const std::int64_t bytes = RowRings::bytes_of_row(tables, arrays);
  if (bytes == 0 || leaves_ends_) return;
  std::int64_t held = 0, reach = 0;  // rows beside those at once
  for (std::size_t i = 1; i < walked_.size(); ++i) {
    held += std::max(walked_[i].reach, walked_[i].depth);
    reach = std::max(reach, walked_[i].reach);
  }
  held += 2 * deepest_;  // ghosts ahead of the first pass, and what the last one reads behind it
  if (std::holds_alternative<AsItPays>(asked_))
    while (at_once_ > 1 && 2 * (at_once_ + held) * bytes > bytes_of_cache()) at_once_ /= 2;
  // A seam keeps away from both walls: with four times the ghosts there is one that does.
  const std::int64_t rows = std::max({at_once_ + held, 2 * reach, 4 * deepest_});
  tables.grid().communicator().together([&] { rings_.emplace(tables, arrays, rows, reach, seam(rows)); });
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

/// The rows of pass i up to which what it reads is there.
std::int64_t Wavefront::reachable(std::size_t i) const {
  const Walked &mine = walked_[i], &before = walked_[i - 1];
  if (before.done == before.end(last_)) return mine.end(last_);
  if (has_wall_[0] && before.done < mine.depth) return mine.begin(last_);
  return std::min(before.done - mine.reach, mine.end(last_));
}

void Wavefront::compute(Tables& tables, std::size_t i, std::int64_t lo, std::int64_t hi) {
  for (std::int64_t to = lo; lo < hi; lo = to) {
    to = rings_ ? std::min(hi, rings_->seam_behind(lo)) : hi;
    if (rings_) rings_->turn_to(tables, lo);
    compute_together(tables, i, lo, to);
  }
}

/// Rows that lie one after another.
void Wavefront::compute_together(Tables& tables, std::size_t i, std::int64_t lo, std::int64_t hi) {
  Box cells = walked_[i].cells;
  cells.lo[last_] = lo;
  cells.hi[last_] = hi;
  walked_[i].pass->run_in(tables, cells);
  if (i + 1 == walked_.size()) return;
  const Walked& next = walked_[i + 1];
  if (rings_) next.pass->bind(tables);
  next.pass->fill_rows(cells);
  const Sides sides{has_wall_[0] && lo < next.depth && hi >= next.depth, has_wall_[1] && hi == rows_};
  if (sides[0] || sides[1]) next.pass->fill_sides(cells, sides);
  if (rings_) rings_->written(i, sides[0] ? -next.depth : lo, sides[1] ? hi + next.depth : hi);
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
  walked_.front().pass->fill_ghosts(tables);
  if (rings_) rings_->begin(tables);
  for (std::size_t i = 0; i < walked_.size(); ++i) {
    if (i > 0) walked_[i].pass->bind(tables);
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
      const std::int64_t to = i == 0 ? front : reachable(i);
      if (to <= walked.done) continue;
      const std::int64_t from = walked.done;
      walked.done = to;
      compute(tables, i, from, to);
    }
  }
  if (leaves_ends_) finish_ends(tables, count);
  if (rings_) rings_->end(tables);
}

}  // namespace hindsight

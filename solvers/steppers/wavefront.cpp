#include "solvers/steppers/wavefront.hpp"

#include <unistd.h>

#include <algorithm>

namespace hindsight {
namespace {

// Of a pass in its turn: enough that what a launch costs beside its cells does not count, few enough that what all
// passes have in use stays in a cache.
constexpr std::int64_t cells_at_once = 8192, most_at_once = 32;

std::size_t last_axis(const Grid& grid) {
  return static_cast<std::size_t>(grid.dimensions() - 1);
}

/// A core's own.
std::int64_t bytes_of_cache() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : std::int64_t{1} << 20U;
}

}  // namespace

bool Wavefront::suits(const Grid& grid, const std::vector<Pass*>& passes, std::int64_t arrays, Element element) {
  if (passes.size() < 2 || grid.dimensions() < 2 || !grid.machine().is_host()) return false;
  for (int axis = 0; axis < grid.dimensions(); ++axis)
    if (grid.is_split(axis)) return false;
  if (std::holds_alternative<Never>(asked_)) return false;
  const std::int64_t bytes_of_pass = arrays * grid.layout().field_stride * bytes_of(element);
  if (std::holds_alternative<AsItPays>(asked_) &&
      static_cast<std::int64_t>(passes.size() + 1) * bytes_of_pass <= bytes_of_cache())
    return false;
  std::int64_t ends = 0;
  for (const Pass* pass : passes) {
    if (pass == nullptr || pass->is_restricted()) return false;
    ends += 2 * pass->depth(last_axis(grid));
  }
  return grid.cells()[last_axis(grid)] > ends;
}

Wavefront::Wavefront(const Grid& grid, std::vector<Pass*> passes)
    : rows_(grid.cells()[last_axis(grid)]), is_periodic_(grid.axes()[last_axis(grid)].periodic) {
  std::int64_t left_out = 0;
  for (Pass* pass : passes) {
    Walked walked{pass, pass->reach(last_axis(grid)), pass->depth(last_axis(grid))};
    if (is_periodic_ && !walked_.empty()) left_out += walked.reach;
    walked.begin = left_out;
    walked.end = rows_ - left_out;
    walked_.push_back(walked);
  }
  const std::int64_t cells_of_row = grid.interior().cells() / rows_;
  at_once_ = std::clamp<std::int64_t>(cells_at_once / cells_of_row, 1, most_at_once);
  if (const auto* const rows = std::get_if<Rows>(&asked_)) at_once_ = rows->at_once;
}

/// The rows of pass i up to which what it reads is there.
std::int64_t Wavefront::reachable(std::size_t i) const {
  const Walked &mine = walked_[i], &before = walked_[i - 1];
  if (is_periodic_) return std::max(mine.begin, before.done - mine.reach);
  if (before.done == rows_) return rows_;
  return before.done < mine.depth ? 0 : before.done - mine.reach;
}

void Wavefront::compute(const Tables& tables, std::size_t i, std::int64_t lo, std::int64_t hi, std::size_t count) {
  walked_[i].pass->run_rows(tables, lo, hi);
  if (i + 1 == count) return;
  const Walked& next = walked_[i + 1];
  next.pass->fill_rows(lo, hi);
  const bool reaches_wall = (lo < next.depth && hi >= next.depth) || hi == rows_;
  if (!is_periodic_ && reaches_wall) next.pass->fill_sides();
}

/// Of a periodic axis.
void Wavefront::finish_ends(const Tables& tables, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    walked_[i].pass->fill_sides();
    compute(tables, i, 0, walked_[i].begin, count);
    compute(tables, i, walked_[i].end, rows_, count);
  }
}

void Wavefront::run(const Tables& tables, std::size_t count) {
  walked_.front().pass->fill_ghosts(tables);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) walked_[i].pass->bind(tables);
    walked_[i].done = walked_[i].begin;
  }
  for (std::int64_t front = 0; walked_[count - 1].done < walked_[count - 1].end;) {
    front = std::min(front + at_once_, rows_);
    for (std::size_t i = 0; i < count; ++i) {
      Walked& walked = walked_[i];
      const std::int64_t to = i == 0 ? front : std::min(reachable(i), walked.end);
      if (to <= walked.done) continue;
      const std::int64_t from = walked.done;
      walked.done = to;
      compute(tables, i, from, to, count);
    }
  }
  if (is_periodic_) finish_ends(tables, count);
}

}  // namespace hindsight

#include "adjoint/problem/walk_drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hindsight {
namespace {

/// Of both sums by rows.
std::int64_t rows_bytes(const Grid& grid) {
  return 2 * grid.local_rows() * static_cast<std::int64_t>(sizeof(double));
}

}  // namespace

std::int64_t WalkDrift::passing_bytes() const {
  if (!accepted_) return 0;
  const Grid& grid = problem_.grid();
  const std::int64_t copies = problem_.machine().is_host() ? 0 : 2 * problem_.block_doubles();
  return std::max(copies * static_cast<std::int64_t>(sizeof(double)), grid_sum_bytes(grid)) + rows_bytes(grid);
}

/// Rows that run along the fastest axis, as in all sums (grid_sum()). Reads both states once.
WalkDrift::Squares WalkDrift::squares(StateBlocks walked, StateBlocks kept) const {
  const Grid& grid = problem_.grid();
  const bool are_cells_rows = grid.dimensions() <= 1;
  CountedVector<double> differences(static_cast<std::size_t>(grid.local_rows()), 0.0), sizes(differences);
  for (const auto& [walked_level, kept_level] : {std::pair(walked.now, kept.now), {walked.before, kept.before}}) {
    if (walked_level == nullptr || kept_level == nullptr) continue;
    const HostView one(problem_.machine(), walked_level, problem_.block_doubles());
    const HostView other(problem_.machine(), kept_level, problem_.block_doubles());
    for (std::size_t f = 0; f < problem_.model().fields.size(); ++f) {
      const StateArray& array = problem_.shape().arrays[f];
      for (std::int64_t z = 0; z < array.cells[2]; ++z)
        for (std::int64_t y = 0; y < array.cells[1]; ++y)
          for (std::int64_t x = 0; x < array.cells[0]; ++x) {
            const std::int64_t at = array.origin + x + array.stride_y * y + array.stride_z * z;
            const double size = value_at({other.data(), array.element}, at);
            const double off = value_at({one.data(), array.element}, at) - size;
            const auto row = static_cast<std::size_t>(are_cells_rows ? x : y + array.cells[1] * z);
            differences[row] += off * off;
            sizes[row] += size * size;
          }
    }
  }
  return {grid_sum(grid, differences.data()), grid_sum(grid, sizes.data())};
}

void WalkDrift::see(std::int64_t k, StateBlocks walked, StateBlocks kept) {
  const Squares sums = squares(walked, kept);
  scale_ = std::max(scale_, mean(sums.kept, walked, kept));
  double drift = std::sqrt(mean(sums.difference, walked, kept) / scale_);
  if (sums.difference == 0.0) drift = 0.0;
  if (!std::isfinite(drift)) drift = std::numeric_limits<double>::infinity();
  largest_ = std::max(largest_, drift);
  if (!accepted_ || drift <= *accepted_) return;
  throw WalkedTooFar(fmt::format(
      "walking back drifted by {:.2g} to the state kept at step {}, {:.2g} is accepted (checkpoints.accept)", drift, k,
      *accepted_));
}

void WalkDrift::save(ArchiveWriter& to) const {
  to.write(largest_);
  to.write(scale_);
}

void WalkDrift::restore(BlockReader& from) {
  from.read(largest_);
  from.read(scale_);
}

}  // namespace hindsight

#include "solvers/grid/point_stencils.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace hindsight {
namespace {

/// Global indices on one axis, with their weights, in ascending order.
using AxisWeights = std::map<std::int64_t, double>;

AxisWeights linear(const Axis& axis, double position) {
  auto lower = static_cast<std::int64_t>(std::floor(position));
  if (!axis.periodic) lower = std::clamp<std::int64_t>(lower, 0, std::max<std::int64_t>(0, axis.cells - 2));
  const double w = axis.cells == 1 ? 0.0 : position - static_cast<double>(lower);
  AxisWeights weights;
  for (const auto& [cell, weight] : {std::pair(lower, 1.0 - w), std::pair(lower + 1, w)})
    if (weight != 0.0) weights[((cell % axis.cells) + axis.cells) % axis.cells] += weight;
  return weights;
}

/// The modified Bessel function of the first kind and order 0, by its power series.
double bessel(double x) {
  double term = 1.0, sum = 1.0;
  for (int k = 1; k < 60 && term > 1e-17 * sum; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

AxisWeights sinc(const Axis& axis, double position, const std::array<double, 2>& mirrors) {
  constexpr int radius = 4;
  constexpr double b = 6.31;
  const auto below = static_cast<std::int64_t>(std::floor(position));
  AxisWeights weights;
  for (std::int64_t cell = below - radius + 1; cell <= below + radius; ++cell) {
    const double d = position - static_cast<double>(cell), window = 1.0 - d * d / (radius * radius);
    if (window <= 0.0) continue;
    const double angle = std::numbers::pi * d;
    const double value = d == 0.0 ? 1.0 : std::sin(angle) / angle * bessel(b * std::sqrt(window)) / bessel(b);
    double sign = 1.0;
    std::int64_t at = cell;
    if (axis.periodic) {
      at = ((at % axis.cells) + axis.cells) % axis.cells;
    } else {
      for (; at < 0 || at >= axis.cells; at = at < 0 ? -1 - at : 2 * axis.cells - 1 - at)
        sign *= mirrors[at < 0 ? 0 : 1];
    }
    if (std::fabs(value) > 1e-15) weights[at] += sign * value;
  }
  return weights;
}

}  // namespace

PointStencils::PointStencils(const Grid& grid, const std::vector<std::array<double, 3>>& points, PointWeights weights,
                             const MirrorSigns& mirrors) {
  begin_.push_back(0);
  for (const std::array<double, 3>& point : points) add(grid, point, weights, mirrors);
  std::vector<double> owners;
  for (std::size_t p = 0; p < points.size(); ++p) owners.push_back(cells(p).empty() ? 0.0 : 1.0);
  if (grid.dimensions() > 0) grid.communicator().sum(owners);
  for (const double ranks : owners) is_split_.push_back(grid.dimensions() > 0 && ranks > 1.0);
}

void PointStencils::add(const Grid& grid, const std::array<double, 3>& point, PointWeights weights,
                        const MirrorSigns& mirrors) {
  std::array<AxisWeights, 3> of_axis{AxisWeights{{0, 1.0}}, AxisWeights{{0, 1.0}}, AxisWeights{{0, 1.0}}};
  for (std::size_t a = 0; a < grid.axes().size(); ++a) {
    const Axis& axis = grid.axes()[a];
    const double position = (point[a] - axis.from) / axis.spacing() - 0.5;
    of_axis[a] = weights == PointWeights::linear ? linear(axis, position) : sinc(axis, position, mirrors[a]);
  }
  const bool rows_are_cells = grid.dimensions() <= 1;
  std::int32_t slot = 0;
  for (const auto& [k, wz] : of_axis[2])
    for (const auto& [j, wy] : of_axis[1]) {
      for (const auto& [i, wx] : of_axis[0]) {
        const Index3 at{i - grid.first()[0], j - grid.first()[1], k - grid.first()[2]};
        bool is_here = true;
        for (std::size_t a = 0; a < 3; ++a) is_here = is_here && at[a] >= 0 && at[a] < grid.cells()[a];
        const std::int64_t row = rows_are_cells ? at[0] : at[1] + grid.cells()[1] * at[2];
        const std::int64_t cell = at[0] + grid.layout().stride_y * at[1] + grid.layout().stride_z * at[2];
        if (is_here) cells_.push_back({cell, wx * wy * wz, row, slot});
        if (rows_are_cells) ++slot;
      }
      if (!rows_are_cells) ++slot;
    }
  slots_ = std::max<int>(slots_, slot);
  begin_.push_back(cells_.size());
}

std::int64_t PointStencils::bytes() const {
  return static_cast<std::int64_t>(cells_.size() * sizeof(Cell) + begin_.size() * sizeof(std::size_t));
}

}  // namespace hindsight

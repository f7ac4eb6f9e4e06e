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

/// Of cells between two places, by the integral of a density: its integral from -infinity on at any place. What lies
/// beyond walls is left out of all.
template <class Integral>
AxisWeights averaged(const Axis& axis, double from, double to, const Integral& integral) {
  const double h = axis.spacing();
  if (!axis.periodic) {
    from = std::max(from, axis.from);
    to = std::min(to, axis.to);
  }
  const auto cell_of = [&](double place) { return static_cast<std::int64_t>(std::floor((place - axis.from) / h)); };
  std::map<std::int64_t, double> unwrapped;
  double all = 0.0;
  for (std::int64_t cell = cell_of(from); cell <= cell_of(to); ++cell) {
    if (!axis.periodic && (cell < 0 || cell >= axis.cells)) continue;
    const double lower = axis.from + static_cast<double>(cell) * h;
    const double weight = integral(std::min(to, lower + h)) - integral(std::max(from, lower));
    if (!(weight > 0.0)) continue;
    unwrapped[cell] = weight;
    all += weight;
  }
  AxisWeights weights;
  for (const auto& [cell, weight] : unwrapped) weights[((cell % axis.cells) + axis.cells) % axis.cells] += weight / all;
  return weights;
}

AxisWeights weights_on(const Axis& axis, double place, const PointWeights& weights, std::size_t a,
                       const std::array<double, 2>& mirrors) {
  using Kind = PointWeights::Kind;
  constexpr double reach = 4.0;  // of a normal distribution
  const double position = (place - axis.from) / axis.spacing() - 0.5, size = weights.size[a];
  if (weights.kind == Kind::sinc) return sinc(axis, position, mirrors);
  if (weights.kind == Kind::box && size > 0.0)
    return averaged(axis, place - 0.5 * size, place + 0.5 * size, [](double at) { return at; });
  if (weights.kind == Kind::gaussian && size > 0.0)
    return averaged(axis, place - reach * size, place + reach * size,
                    [&](double at) { return 0.5 * std::erf((at - place) / (size * std::numbers::sqrt2)); });
  return linear(axis, position);
}

}  // namespace

PointStencils::PointStencils(const Grid& grid, const std::vector<std::array<double, 3>>& points,
                             const PointWeights& weights, const MirrorSigns& mirrors) {
  begin_.push_back(0);
  for (const std::array<double, 3>& point : points) add(grid, point, weights, mirrors);
  std::vector<double> owners;
  for (std::size_t p = 0; p < points.size(); ++p) owners.push_back(cells(p).empty() ? 0.0 : 1.0);
  if (grid.dimensions() > 0) grid.communicator().sum(owners);
  for (const double ranks : owners) is_split_.push_back(grid.dimensions() > 0 && ranks > 1.0);
}

void PointStencils::add(const Grid& grid, const std::array<double, 3>& point, const PointWeights& weights,
                        const MirrorSigns& mirrors) {
  std::array<AxisWeights, 3> of_axis{AxisWeights{{0, 1.0}}, AxisWeights{{0, 1.0}}, AxisWeights{{0, 1.0}}};
  for (std::size_t a = 0; a < grid.axes().size(); ++a) {
    of_axis[a] = weights_on(grid.axes()[a], point[a], weights, a, mirrors[a]);
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

// How points of sources and misfits share in cells.
#include <fmt/format.h>

#include <algorithm>

#include "io/case/sections.hpp"

namespace hindsight {
namespace {

/// A number for all axes, or one for each. @param part of an axis's length that it may be at most.
std::array<double, 3> read_sizes(const Value& value, const GridText& grid, double part) {
  std::array<double, 3> sizes{0, 0, 0};
  const std::vector<Value> items = value.is_scalar() ? std::vector<Value>(grid.axes.size(), value) : value.items();
  if (items.size() != grid.axes.size())
    value.fail(fmt::format("{} needs one number, or one for each axis, {}", value.path(), grid.axes.size()));
  for (std::size_t a = 0; a < items.size(); ++a) {
    const AxisText& axis = grid.axes[a];
    sizes[a] = items[a].number();
    if (sizes[a] < 0.0) items[a].fail(items[a].path() + " cannot be negative");
    if (sizes[a] > part * (axis.to - axis.from))
      items[a].fail(fmt::format("{} is larger than the grid allows: {}, and along {} at most {:.6g}", items[a].path(),
                                sizes[a], axis.name, part * (axis.to - axis.from)));
  }
  if (std::ranges::all_of(sizes, [](double size) { return size == 0.0; }))
    value.fail(value.path() + " must be positive along one axis at least");
  return sizes;
}

}  // namespace

PointWeights read_point_weights(Value& from, const std::optional<GridText>& grid) {
  const auto weights = from.find("weights"), shape = from.find("shape");
  if (!shape)
    return weights && weights->one_of({"linear", "sinc"}) == "sinc" ? PointWeights::sinc : PointWeights::linear;
  if (weights) shape->fail(shape->path() + " tells the weights of cells itself, and excludes weights");
  if (!grid) shape->fail(shape->path() + " needs a grid, and this case is an ODE");
  Value section = *shape;
  const auto box = section.find("box"), gaussian = section.find("gaussian");
  section.finish();
  if (box.has_value() == gaussian.has_value()) section.fail(section.path() + " needs either box or gaussian");
  if (box) return {PointWeights::Kind::box, read_sizes(*box, *grid, 1.0)};
  return {PointWeights::Kind::gaussian, read_sizes(*gaussian, *grid, 0.5)};
}

}  // namespace hindsight

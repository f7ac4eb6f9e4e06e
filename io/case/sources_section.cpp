#include <fmt/format.h>

#include <algorithm>

#include "io/case/csv.hpp"
#include "io/case/sections.hpp"
#include "io/case/text_file.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

/// Inside the grid, and not in layers of a pml, where a field is not the wave that it is elsewhere.
void require_inside(const Case& so_far, const SourcePoint& point, const SourcePlace& place) {
  const GridText& grid = *so_far.grid;
  const bool has_layers = so_far.absorb && so_far.absorb->kind == AbsorbText::Kind::pml;
  for (std::size_t a = 0; a < grid.axes.size(); ++a) {
    const AxisText& axis = grid.axes[a];
    if (point.at[a] < axis.from || point.at[a] > axis.to)
      throw InputError(place, fmt::format("the source's {} lies outside the grid: {} is not between {} and {}",
                                          axis.name, point.at[a], axis.from, axis.to));
    const double width =
        has_layers ? static_cast<double>(so_far.absorb->cells) * (axis.to - axis.from) / static_cast<double>(axis.cells)
                   : 0.0;
    for (std::size_t side = 0; side < 2 && has_layers; ++side)
      if (so_far.absorb->sides[a][side] &&
          (side == 0 ? point.at[a] < axis.from + width : point.at[a] > axis.to - width))
        throw InputError(place, "the source's " + axis.name + " lies in the pml along " + axis.name +
                                    (side == 0 ? ".lower, which ends at " : ".upper, which begins at ") +
                                    fmt::format("{:g}", side == 0 ? axis.from + width : axis.to - width));
  }
}

/// [x, y] or {x: ..., y: ...}, which rows of shots can set.
SourcePoint read_point(Value at, const Case& so_far) {
  const GridText& grid = *so_far.grid;
  SourcePoint point;
  if (at.is_map()) {
    for (std::size_t a = 0; a < grid.axes.size(); ++a) point.at[a] = at.at(grid.axes[a].name).number();
    at.finish();
  } else {
    const std::vector<Value> items = at.items();
    if (items.size() != grid.axes.size())
      at.fail(at.path() + " needs a number for each axis, " + std::to_string(grid.axes.size()));
    for (std::size_t a = 0; a < items.size(); ++a) point.at[a] = items[a].number();
  }
  require_inside(so_far, point, at.place());
  return point;
}

std::vector<SourcePoint> read_table(const Value& value, const std::string& path, const Case& so_far) {
  const Table table(path);
  const GridText& grid = *so_far.grid;
  std::vector<SourcePoint> points(table.rows());
  for (std::size_t a = 0; a < grid.axes.size(); ++a) {
    const std::vector<double> column = table.numbers(grid.axes[a].name);
    for (std::size_t row = 0; row < points.size(); ++row) points[row].at[a] = column[row];
  }
  if (table.has("factor")) {
    const std::vector<double> factors = table.numbers("factor");
    for (std::size_t row = 0; row < points.size(); ++row) points[row].factor = factors[row];
  }
  for (std::size_t row = 0; row < points.size(); ++row) require_inside(so_far, points[row], table.place(row));
  if (points.empty()) value.fail("'" + path + "' holds no sources");
  return points;
}

/// A signal says what a source does all along the run.
void require_signal(const Value& signal, const std::string& name, const Case& so_far) {
  std::vector<std::string> series;
  for (const ParameterText& p : so_far.parameters)
    if (p.kind == ParameterText::Kind::series) series.push_back(p.name);
  const auto found = std::ranges::find(so_far.parameters, name, &ParameterText::name);
  if (found == so_far.parameters.end() || found->kind != ParameterText::Kind::series)
    signal.fail("'" + name + "' is not a series" + did_you_mean(name, series) +
                (series.empty() ? "; there are none: {series: FILE}" : "; series: " + join(series)));
  const double slack = 1e-9 * (so_far.time.to - so_far.time.from);
  if (found->times.front() > so_far.time.from + slack || found->times.back() < so_far.time.to - slack)
    signal.fail(fmt::format("the signal '{}' is shorter than the run: it goes from {} to {}, and the run from {} to {}",
                            name, found->times.front(), found->times.back(), so_far.time.from, so_far.time.to));
}

}  // namespace

std::vector<SourceText> read_sources(const Value& sources, const Case& so_far) {
  std::vector<SourceText> all;
  if (!so_far.grid) sources.fail("sources act at points of a grid, and the case has none");
  std::vector<std::string> states;
  for (const StateText& s : so_far.state) states.push_back(s.name);
  for (Value item : sources.items()) {
    SourceText source;
    source.place = item.place();
    source.to = item.at("to").one_of(states);
    const Value signal = item.at("signal");
    source.signal = signal.text();
    require_signal(signal, source.signal, so_far);
    source.weights = read_point_weights(item, so_far.grid);
    const auto at = item.find("at"), table = item.find("table"), factor = item.find("factor");
    item.finish();
    if (at.has_value() == table.has_value()) item.fail(item.path() + " needs either at or table");
    if (at) {
      source.points = {read_point(*at, so_far)};
    } else {
      source.file = resolve(table->text(), so_far.file);
      source.points = read_table(*table, source.file, so_far);
    }
    for (SourcePoint& point : source.points) point.factor *= factor ? factor->number() : 1.0;
    all.push_back(std::move(source));
  }
  return all;
}

}  // namespace hindsight

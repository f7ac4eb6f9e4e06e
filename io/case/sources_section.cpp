#include <fmt/format.h>

#include <algorithm>

#include "io/case/csv.hpp"
#include "io/case/sections.hpp"
#include "io/case/text_file.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

void require_inside(const GridText& grid, const SourcePoint& point, const SourcePlace& place) {
  for (std::size_t a = 0; a < grid.axes.size(); ++a)
    if (point.at[a] < grid.axes[a].from || point.at[a] > grid.axes[a].to)
      throw InputError(place, fmt::format("the source's {} lies outside the grid: {} is not between {} and {}",
                                          grid.axes[a].name, point.at[a], grid.axes[a].from, grid.axes[a].to));
}

/// [x, y] or {x: ..., y: ...}, which rows of shots can set.
SourcePoint read_point(Value at, const GridText& grid) {
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
  require_inside(grid, point, at.place());
  return point;
}

std::vector<SourcePoint> read_table(const Value& value, const std::string& path, const GridText& grid) {
  const Table table(path);
  std::vector<SourcePoint> points(table.rows());
  for (std::size_t a = 0; a < grid.axes.size(); ++a) {
    const std::vector<double> column = table.numbers(grid.axes[a].name);
    for (std::size_t row = 0; row < points.size(); ++row) points[row].at[a] = column[row];
  }
  if (table.has("factor")) {
    const std::vector<double> factors = table.numbers("factor");
    for (std::size_t row = 0; row < points.size(); ++row) points[row].factor = factors[row];
  }
  for (std::size_t row = 0; row < points.size(); ++row) require_inside(grid, points[row], table.place(row));
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
      source.points = {read_point(*at, *so_far.grid)};
    } else {
      source.file = resolve(table->text(), so_far.file);
      source.points = read_table(*table, source.file, *so_far.grid);
    }
    for (SourcePoint& point : source.points) point.factor *= factor ? factor->number() : 1.0;
    all.push_back(std::move(source));
  }
  return all;
}

}  // namespace hindsight

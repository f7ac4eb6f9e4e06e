// Which observations of a misfit count, and how much: windows in time, and weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "io/case/sections.hpp"
#include "solvers/equations/interpret.hpp"
#include "solvers/equations/parser.hpp"

namespace hindsight {
namespace {

/// A factor of differences: 1 within, 0 outside, half a cosine between at both ends.
struct Window {
  double from = 0.0, to = 0.0, taper = 0.0;

  double at(double t) const {
    const double inside = std::min(t - from, to - t);
    if (inside < 0.0) return 0.0;
    return inside >= taper ? 1.0 : 0.5 - 0.5 * std::cos(std::numbers::pi * inside / taper);
  }
};

Window read_window(Value section, const TimeText& time) {
  Window window{time.from, time.to, 0.0};
  const auto from = section.find("from"), to = section.find("to"), taper = section.find("taper");
  if (from) window.from = from->number();
  if (to) window.to = to->number();
  if (taper) window.taper = taper->number();
  section.finish();
  if (!from && !to) section.fail(section.path() + " needs from, to or both: times");
  const auto in_run = [&](const std::optional<Value>& key, double t) {
    const std::optional<double> within = time.within(t);
    if (key && !within)
      key->fail(
          fmt::format("{} lies outside the run: {} is not between {} and {}", key->path(), t, time.from, time.to));
    return within.value_or(t);
  };
  window.from = in_run(from, window.from);
  window.to = in_run(to, window.to);
  if (!(window.from < window.to)) section.fail(section.path() + ": from must be before to");
  const double most = 0.5 * (window.to - window.from);
  if (taper && (window.taper < 0.0 || window.taper > most))
    taper->fail(fmt::format("{} must lie between 0 and half of the window, {}", taper->path(), most));
  return window;
}

/// An expression of the time and the place of each observation.
std::vector<double> evaluated(const Value& weight, const Case& so_far, const std::vector<PointObservation>& all) {
  Graph graph;
  Scope scope;
  scope.dimensions = so_far.grid ? static_cast<int>(so_far.grid->axes.size()) : 0;
  scope.scalars = {"t"};
  scope.operators = false;
  const Text text = weight.expression();
  const Expr expression = parse(graph, text.text, scope, text.place);
  std::vector<double> values;
  for (const PointObservation& o : all) {
    Bindings bindings;
    bindings.scalar = [&](int) { return o.time; };
    bindings.coordinate = [&](int axis, int) { return o.at[static_cast<std::size_t>(axis)]; };
    values.push_back(interpret({expression}, bindings)[0]);
  }
  return values;
}

}  // namespace

void read_misfit_weights(Value& misfit, const Case& so_far,
                         const std::function<std::optional<std::vector<double>>(const std::string& name)>& column,
                         TermText& term) {
  if (term.observations.empty()) return;
  const auto weight = misfit.find("weight");
  if (weight) {
    const std::optional<std::vector<double>> own = column(weight->expression().text);
    const std::vector<double> values = own ? *own : evaluated(*weight, so_far, term.observations);
    for (std::size_t i = 0; i < values.size(); ++i) {
      PointObservation& o = term.observations[i];
      if (!(values[i] >= 0.0) || !std::isfinite(values[i]))
        weight->fail(fmt::format("{}: a weight must be 0 or positive, and it is {} at t = {}", weight->path(),
                                 values[i], o.time));
      o.weight = values[i];
    }
  }
  const auto section = misfit.find("window");
  if (section) {
    const Window window = read_window(*section, so_far.time);
    for (PointObservation& o : term.observations) o.weight *= window.at(o.time) * window.at(o.time);
  }
  const bool is_any = std::ranges::any_of(term.observations, [](const PointObservation& o) { return o.weight > 0.0; });
  if ((weight || section) && !is_any)
    (section ? *section : *weight)
        .fail((section ? section : weight)->path() + " leaves no observation of '" + term.data + "'");
}

}  // namespace hindsight

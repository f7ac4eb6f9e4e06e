#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/case/csv.hpp"
#include "io/case/observations.hpp"
#include "io/case/sections.hpp"
#include "io/case/text_file.hpp"

namespace hindsight {
namespace {

using Place = std::array<double, 3>;

/// The columns of axes, each inside the grid.
std::vector<Place> read_places(Value& misfit, const Table& table, const Case& so_far) {
  std::vector<Place> places(table.rows());
  const std::vector<AxisText> axes = so_far.grid ? so_far.grid->axes : std::vector<AxisText>();
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const auto column = misfit.find(axes[a].name);
    const std::vector<double> numbers = table.numbers(column ? column->text() : axes[a].name);
    for (std::size_t row = 0; row < places.size(); ++row) {
      places[row][a] = numbers[row];
      if (numbers[row] < axes[a].from || numbers[row] > axes[a].to)
        throw InputError(table.place(row),
                         fmt::format("the observation's {} lies outside the grid: {} is not between {} and {}",
                                     axes[a].name, numbers[row], axes[a].from, axes[a].to));
    }
  }
  return places;
}

/// A number for all, or the name of a column with one for each.
std::vector<double> read_noise(Value& misfit, const Table* table, TermText& term) {
  const auto noise = misfit.find("noise");
  if (!noise) return {};
  if (table == nullptr || !table->has(noise->text())) {
    term.noise = noise->number();
    if (!(term.noise > 0)) noise->fail("noise must be positive");
    return {};
  }
  std::vector<double> all = table->numbers(noise->text());
  for (std::size_t row = 0; row < all.size(); ++row)
    if (!(all[row] > 0)) throw InputError(table->place(row), "noise must be positive");
  return all;
}

/// The numbers of a column of a table, for each observation of times by places, or of rows, one after the other.
auto column_of(const Table& table, std::size_t times) {
  return [&table, times](const std::string& name) -> std::optional<std::vector<double>> {
    if (!table.has(name)) return std::nullopt;
    const std::vector<double> numbers = table.numbers(name);
    std::vector<double> all;
    for (std::size_t t = 0; t < times; ++t) all.insert(all.end(), numbers.begin(), numbers.end());
    return all;
  };
}

/// A table with a row for each value.
void read_rows(Value& misfit, const Case& so_far, TermText& term) {
  const Table table(term.data);
  const auto column = [&](const std::string& key, const std::vector<std::string>& defaults) {
    if (auto named = misfit.find(key)) return named->text();
    for (const std::string& name : defaults)
      if (table.has(name)) return name;
    return defaults[0];
  };
  const std::string of_time = column("time", {"time", "t"});
  const std::vector<double> times = table.numbers(of_time);
  const std::vector<double> noise = read_noise(misfit, &table, term);
  const std::vector<Place> places = read_places(misfit, table, so_far);
  std::vector<double> values(times.size(), 0.0);
  const std::string of_value = column("value", {"value", term.expression.text});
  if (!so_far.is_to_be_observed || table.has(of_value)) values = table.numbers(of_value);
  term.time_column = of_time;
  term.value_column = of_value;
  for (std::size_t row = 0; row < times.size(); ++row) {
    const std::optional<double> time = so_far.time.within(times[row]);
    if (!time)
      throw InputError(table.place(row),
                       fmt::format("the observation's time lies outside the run (time.from to time.to): {} is not "
                                   "between {} and {}",
                                   times[row], so_far.time.from, so_far.time.to));
    if (term.log && !so_far.is_to_be_observed && !(values[row] > 0))
      throw InputError(table.place(row), "log: true needs positive observations");
    term.observations.push_back({*time, places[row], values[row], noise.empty() ? 0.0 : noise[row]});
  }
  read_misfit_weights(misfit, so_far, column_of(table, 1), term);
}

/// Times from the begin on, `every` so much; the last one is the end at the latest.
std::vector<double> regular_times(const Value& every, const TimeText& time) {
  const double interval = every.number();
  if (!(interval > 0) || !((time.to - time.from) / interval < 1e7))
    every.fail("a time between observations must be positive, and give less than ten million of them");
  std::vector<double> times;
  for (std::int64_t i = 0; time.from + static_cast<double>(i) * interval <= time.to + 1e-9 * interval; ++i)
    times.push_back(std::min(time.to, time.from + static_cast<double>(i) * interval));
  return times;
}

/// Places in a table, at regular times; their values are a dataset of HDF5, a row for each time.
void read_traces(Value& misfit, const Value& at, const Case& so_far, TermText& term) {
  term.places_file = resolve(at.text(), so_far.file);
  const Table table(term.places_file);
  const std::vector<Place> places = read_places(misfit, table, so_far);
  const std::vector<double> times = regular_times(misfit.at("every"), so_far.time);
  const std::vector<double> noise = read_noise(misfit, &table, term);
  if (auto dataset = misfit.find("dataset")) term.dataset = dataset->text();
  const std::size_t count = places.size() * times.size();
  std::vector<double> values(count, 0.0);
  try {
    if (!so_far.is_to_be_observed)
      values = read_trace_values(term.data, term.dataset, {times, places, places_of(so_far.sources)});
  } catch (const MissingFile&) {
    throw;  // which may exclude a shot
  } catch (const InputError& error) {
    misfit.at("data").fail(error.what());
  }
  term.observations.reserve(count);
  for (std::size_t t = 0; t < times.size(); ++t)
    for (std::size_t p = 0; p < places.size(); ++p)
      term.observations.push_back({times[t], places[p], values[t * places.size() + p], noise.empty() ? 0.0 : noise[p]});
  read_misfit_weights(misfit, so_far, column_of(table, times.size()), term);
}

}  // namespace

void read_misfit(Value misfit, const Case& so_far, TermText& term) {
  term.expression = misfit.at("of").expression();
  if (auto log = misfit.find("log")) term.log = log->boolean();
  term.weights = read_point_weights(misfit, so_far.grid);
  const Value data = misfit.at("data");
  term.data = resolve(data.text(), so_far.file);
  const auto at = misfit.find("at"), filter = misfit.find("filter");
  for (const char* key : {"noise", "weight", "window", at ? "every" : "time", at ? "dataset" : "value"})
    misfit.find(key);
  if (so_far.grid)
    for (const AxisText& axis : so_far.grid->axes) misfit.find(axis.name);
  misfit.finish();
  if (so_far.time.until)
    misfit.fail("a misfit needs a fixed end, because its observations have times; give time.to instead of time.until");
  if (at && !so_far.grid) at->fail("places of observations need a grid, and this case is an ODE");
  if (at) {
    read_traces(misfit, *at, so_far, term);
  } else {
    read_rows(misfit, so_far, term);
  }
  if (term.observations.empty()) data.fail("'" + term.data + "' holds no observations");
  std::ranges::stable_sort(term.observations, {}, &PointObservation::time);
  if (!filter) return;
  term.filter = read_filter(*filter);
  require_filterable(*filter, *term.filter, term);
}

}  // namespace hindsight

#include "io/case/sections.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include "adjoint/objective/term_kinds.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "io/case/csv.hpp"
#include "io/case/text_file.hpp"
#include "io/results/datasets.hpp"
#include "runtime/environment.hpp"
#include "runtime/nearest_name.hpp"
#include "solvers/equations/parser.hpp"

namespace hindsight {
namespace {

const std::vector<std::string> axis_names = {"x", "y", "z"};

EdgeRule read_edge(Value rule) {
  EdgeRule result;
  const auto value = rule.find("value"), slope = rule.find("slope");
  rule.finish();
  if (value.has_value() == slope.has_value()) rule.fail(rule.path() + " needs either value or slope");
  result.edge = value ? Edge::value : Edge::slope;
  result.expression = (value ? *value : *slope).expression();
  return result;
}

/// One side of an axis: a rule, optionally with rules of single fields under `fields`.
void read_side(Value side, AxisText& axis, std::size_t which) {
  if (auto fields = side.find("fields"))
    for (const std::string& field : fields->keys()) axis.field_sides[which][field] = read_edge(fields->at(field));
  const auto value = side.find("value"), slope = side.find("slope");
  if (value && slope) side.fail(side.path() + " needs either value or slope, not both");
  if (!value && !slope && axis.field_sides[which].empty())
    side.fail(side.path() + " needs value: E or slope: E (or fields with one each)");
  if (value || slope) {
    axis.sides[which].edge = value ? Edge::value : Edge::slope;
    axis.sides[which].expression = (value ? *value : *slope).expression();
  }
}

void read_boundary(Value boundary, AxisText& axis) {
  if (boundary.is_scalar()) {
    boundary.one_of({"periodic"});
    return;
  }
  axis.periodic = false;
  for (EdgeRule& side : axis.sides) {
    side.edge = Edge::slope;  // for fields without a rule of their own: no flux
    side.expression = {"0", boundary.place()};
  }
  const auto lower = boundary.find("lower"), upper = boundary.find("upper");
  if (lower || upper) {
    boundary.finish();
    if (!lower || !upper) boundary.fail(boundary.path() + " needs both lower and upper");
    Value low = *lower, high = *upper;
    read_side(low, axis, 0);
    read_side(high, axis, 1);
    low.finish();
    high.finish();
    return;
  }
  read_side(boundary, axis, 0);
  read_side(boundary, axis, 1);
  boundary.finish();
}

std::vector<double> number_list(const Value& list) {
  std::vector<double> numbers;
  for (const Value& item : list.items()) numbers.push_back(item.number());
  return numbers;
}

void read_series(Value series, Value& parameter, ParameterText& result, const std::string& case_path) {
  if (series.is_map()) {
    result.times = number_list(series.at("times"));
    result.values = number_list(series.at("values"));
    series.finish();
    for (const char* key : {"time", "value"})
      if (auto column = parameter.find(key))
        column->fail(column->path() + " names a column of a data file, but the series is written out here");
  } else {
    result.file = resolve(series.text(), case_path);
    const Table table(result.file);
    const auto time = parameter.find("time"), value = parameter.find("value");
    result.times = table.numbers(time ? time->text() : "time");
    result.values = table.numbers(value ? value->text() : "value");
  }
  if (result.times.empty()) series.fail(series.path() + " is empty");
  if (result.times.size() != result.values.size()) series.fail(series.path() + ": as many values as times are needed");
  for (std::size_t i = 1; i < result.times.size(); ++i)
    if (!(result.times[i] > result.times[i - 1])) series.fail(series.path() + ": times must increase");
}

/// A text like "1.5 GiB" taken apart: a number, or an expression of numbers, and the letters after it.
std::pair<std::string, std::string> number_and_unit(const std::string& text) {
  std::size_t end = text.size();
  while (end > 0 && std::isalpha(static_cast<unsigned char>(text[end - 1])) != 0) --end;
  return {text.substr(0, end), text.substr(end)};
}

TierBudget read_budget(const Value& value) {
  TierBudget budget;
  budget.place = value.place();
  const std::string text = value.text();
  const auto [amount_text, unit] = number_and_unit(text);
  static const std::vector<std::pair<std::string, double>> units = {
      {"", 1},     {"B", 1},    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
      {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6},     {"GB", 1e9},        {"TB", 1e12},          {"slots", 0},
      {"slot", 0}};
  const auto known = std::find_if(units.begin(), units.end(), [u = unit](const auto& k) { return k.first == u; });
  double number = -1.0;
  try {
    number = parse_number(amount_text);
  } catch (const InputError&) {
    number = -1.0;
  }
  if (known == units.end() || !(number >= 0) || number > 9e15)
    value.fail(value.path() + ": '" + text + "' is no size; write for example 1 GiB, 500 MB or 10 slots");
  if (known->second == 0) {
    budget.unit = TierBudget::Unit::slots;
    if (number != std::nearbyint(number)) value.fail(value.path() + ": a whole number of slots is needed");
  }
  const double amount = number * std::max(1.0, known->second);
  if (amount > 9e18) value.fail(value.path() + " is too large");
  budget.amount = static_cast<std::int64_t>(amount);
  return budget;
}

}  // namespace

GridText read_grid(Value grid) {
  GridText result;
  if (auto order = grid.find("order")) {
    const std::string text = order->one_of({"2", "4", "6", "8"});
    result.order = text[0] - '0';
  }
  if (auto means = grid.find("means")) result.harmonic_means = means->one_of({"arithmetic", "harmonic"}) == "harmonic";
  for (const std::string& name : axis_names) {
    auto found = grid.find(name);
    if (!found) continue;
    if (result.axes.size() !=
        static_cast<std::size_t>(std::find(axis_names.begin(), axis_names.end(), name) - axis_names.begin()))
      found->fail("axis " + name + " needs the axes before it (x, then y, then z)");
    AxisText axis;
    axis.name = name;
    axis.place = found->place();
    Value cells = found->at("cells");
    axis.cells = cells.integer();
    if (axis.cells < 1 || axis.cells > 1000000000) cells.fail("grid." + name + ".cells must be from 1 to 1e9");
    if (auto v = found->find("from")) axis.from = v->number();
    if (auto v = found->find("to")) axis.to = v->number();
    if (!(axis.to > axis.from)) found->fail("grid." + name + ".to must exceed from");
    if (auto boundary = found->find("boundary")) read_boundary(*boundary, axis);
    found->finish();
    result.axes.push_back(axis);
  }
  grid.finish();
  if (result.axes.empty()) grid.fail("grid needs at least the axis x (leave grid out for an ODE)");
  return result;
}

ParameterText read_parameter(Value parameter, const std::string& name, const std::string& case_path) {
  ParameterText result;
  result.name = name;
  result.place = parameter.place();
  if (parameter.is_scalar()) {
    result.value = parameter.number();
    return result;
  }
  if (auto series = parameter.find("series")) {
    result.kind = ParameterText::Kind::series;
    parameter.find("time");
    parameter.find("value");
    read_series(*series, parameter, result, case_path);
  } else if (auto field = parameter.find("field")) {
    result.kind = ParameterText::Kind::field;
    result.field = field->expression();
  } else if (auto file = parameter.find("file")) {
    result.kind = ParameterText::Kind::field_file;
    result.file = resolve(file->text(), case_path);
    const std::string dataset = parameter.at("dataset").text();
    result.fill = [file = result.file, dataset](const Grid& grid, double* cells) {
      read_field(file, dataset, grid, cells);
    };
    try {
      require_regular_file(result.file, "an HDF5 file");
    } catch (const MissingFile& error) {
      throw MissingFile(file->place(), error.what());
    } catch (const InputError& error) {
      file->fail(error.what());
    }
  } else if (auto value = parameter.find("value")) {
    result.value = value->number();
  } else {
    parameter.finish();
    parameter.fail(parameter.path() + " needs a number, or one of value, field, file, series");
  }
  parameter.finish();
  return result;
}

namespace {

/// The kind of term and what is written for it.
std::pair<std::string, Value> kind_of_term(Value& term) {
  std::vector<std::string> kinds = term_kinds().names();
  kinds.emplace_back("misfit");
  std::sort(kinds.begin(), kinds.end());
  std::optional<std::pair<std::string, Value>> found;
  bool is_one = true;
  for (const std::string& kind : kinds)
    if (auto value = term.find(kind)) {
      is_one = !found;
      found.emplace(kind, *value);
    }
  term.finish();
  if (!found || !is_one) term.fail("a term of the objective is one of " + join(kinds));
  return *found;
}

}  // namespace

TermText read_term(Value term, const Case& so_far) {
  TermText result;
  result.place = term.place();
  if (auto weight = term.find("weight")) {
    result.weight = weight->number();
    if (!(result.weight >= 0)) weight->fail("a weight cannot be negative");
  }
  const auto [kind, value] = kind_of_term(term);
  result.kind = kind;
  if (result.is_misfit()) {
    read_misfit(value, so_far, result);
  } else {
    result.expression = value.expression();
  }
  return result;
}

Assumptions read_assumptions(Value entry) {
  Assumptions unknown;
  if (auto bounds = entry.find("bounds")) {
    const std::vector<Value> ends = bounds->items();
    if (ends.size() != 2) bounds->fail("bounds are a list of two numbers: [lower, upper]");
    unknown.lower = ends[0].number_or_infinity();
    unknown.upper = ends[1].number_or_infinity();
    if (!(*unknown.lower < *unknown.upper)) bounds->fail("the lower bound must be below the upper one");
    if (!std::isfinite(*unknown.lower)) unknown.lower.reset();
    if (!std::isfinite(*unknown.upper)) unknown.upper.reset();
  }
  if (auto scale = entry.find("scale")) {
    unknown.log_scale = scale->one_of({"linear", "log"}) == "log";
    const bool has_positive_bounds = (!unknown.lower || *unknown.lower >= 0) && (!unknown.upper || *unknown.upper > 0);
    if (unknown.log_scale && !has_positive_bounds)
      scale->fail("scale: log needs positive bounds (the lower one may be 0)");
  }
  if (auto prior = entry.find("prior")) {
    Prior p;
    Value sd = prior->at("sd");
    p.mean = prior->at("mean").number();
    p.sd = sd.number();
    if (!(p.sd > 0)) sd.fail("a prior's sd must be positive");
    prior->finish();
    unknown.prior = p;
  }
  entry.finish();
  return unknown;
}

std::vector<std::string> checkpoint_schedules() {
  std::vector<std::string> names = schedules().names();
  names.insert(names.begin(), "auto");
  return names;
}

namespace {

int read_depth(const Value& value, const char* what) {
  constexpr std::int64_t most = 64;
  const std::int64_t depth = value.integer();
  if (depth < 0 || depth > most) value.fail(std::string(what) + " must lie between 0 and 64 states");
  return static_cast<int>(depth);
}

}  // namespace

void read_checkpoints(Value checkpoints, Case& into) {
  CheckpointOptions& result = into.checkpoints;
  result.place = checkpoints.place();
  if (auto v = checkpoints.find("schedule")) result.schedule = v->one_of(checkpoint_schedules());
  if (auto v = checkpoints.find("period")) {
    result.period = v->integer();
    if (result.period < 1) v->fail("checkpoints.period must be at least 1 step");
  }
  if (auto v = checkpoints.find("accept")) {
    result.accept = v->number();
    if (!(*result.accept > 0))
      v->fail("checkpoints.accept must be positive: a relative difference of states that are walked back to");
  }
  if (auto host = checkpoints.find("host")) {
    if (host->is_map()) {
      result.host = read_budget(host->at("size"));
      result.host_codec = read_codec(*host);
      host->finish();
    } else {
      result.host = read_budget(*host);
    }
  }
  if (auto v = checkpoints.find("device")) result.device = read_budget(*v);
  if (auto disk = checkpoints.find("disk")) {
    if (disk->is_map()) {
      result.disk = read_budget(disk->at("size"));
      if (auto v = disk->find("directory"))
        into.checkpoint_folder = begins_with_variable(v->text()) ? v->text() : resolve(v->text(), into.file);
      if (auto v = disk->find("queue")) result.queue = read_depth(*v, "checkpoints.disk.queue");
      if (auto v = disk->find("prefetch")) result.prefetch = read_depth(*v, "checkpoints.disk.prefetch");
      result.disk_codec = read_codec(*disk);
      disk->finish();
    } else {
      result.disk = read_budget(*disk);
    }
  }
  checkpoints.finish();
}

}  // namespace hindsight

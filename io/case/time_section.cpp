// The section `time` of a case.
#include <fmt/format.h>

#include <algorithm>

#include "io/case/csv.hpp"
#include "io/case/sections.hpp"
#include "runtime/nearest_name.hpp"
#include "solvers/steppers/methods.hpp"
#include "solvers/time/step_sources.hpp"

namespace hindsight {
namespace {

constexpr double least_tolerance = 1e-14;  ///< below, estimates of errors are round-off

double read_relative(const Value& value) {
  const double tolerance = value.number();
  if (!(tolerance >= least_tolerance))
    value.fail(value.path() + " must be at least 1e-14: below, estimates of errors are round-off");
  return tolerance;
}

double read_absolute(const Value& value) {
  const double tolerance = value.number();
  if (!(tolerance > 0)) value.fail(value.path() + " must be positive");
  return tolerance;
}

double read_theta(const Value& value, const std::string& method) {
  if (!methods().find(method).has_theta)
    value.fail(value.path() + " belongs to time.method 'theta', and this is '" + method + "'");
  const double theta = value.number();
  if (!(theta > 0 && theta <= 1)) value.fail(value.path() + " must lie in (0, 1]");
  return theta;
}

/// One per field that has an estimate of errors: what constraints fix has none.
std::vector<double> read_absolutes(Value absolute, const std::vector<EquationText>& equations,
                                   const std::vector<StateText>& state) {
  std::vector<std::string> fields;
  for (const StateText& field : state) fields.push_back(field.name);
  const auto is_constrained = [&](const std::string& name) {
    const auto equation = std::ranges::find(equations, name, &EquationText::field);
    return equation != equations.end() && equation->is_constraint;
  };
  for (const std::string& name : absolute.keys()) {
    if (std::ranges::find(fields, name) == fields.end())
      throw InputError(absolute.key_place(name),
                       "'" + name + "' is not a state" + did_you_mean(name, fields) + "; states: " + join(fields));
    if (is_constrained(name))
      throw InputError(absolute.key_place(name), "'" + name + "' follows from the others by zero(" + name +
                                                     "): no error of it is estimated, and no tolerance is read");
  }
  std::vector<double> read;
  for (const std::string& field : fields)
    read.push_back(is_constrained(field) ? 1.0 : read_absolute(absolute.at(field)));
  return read;
}

/// A number, which is both; or {relative, absolute: a number, or one per field}. Equations are known.
Tolerances read_tolerances(Value tolerance, const Case& so_far) {
  Tolerances read;
  if (!tolerance.is_map()) {
    read.relative = read_relative(tolerance);
    read.absolute.assign(so_far.state.size(), read.relative);
    return read;
  }
  read.relative = read_relative(tolerance.at("relative"));
  Value absolute = tolerance.at("absolute");
  tolerance.finish();
  if (absolute.is_map())
    read.absolute = read_absolutes(absolute, so_far.equations, so_far.state);
  else
    read.absolute.assign(so_far.state.size(), read_absolute(absolute));
  return read;
}

double read_positive(const Value& value) {
  const double number = value.number();
  if (!(number > 0)) value.fail(value.path() + " must be positive");
  return number;
}

void read_table(const Value& file, const std::string& case_path, TimeText& t) {
  const std::string path = resolve(file.text(), case_path);
  const Table table(path);
  const std::vector<double> times = table.numbers(table.has("time") || !table.has("t") ? "time" : "t");
  if (times.empty()) file.fail(path + " names no times");
  for (std::size_t i = 1; i < times.size(); ++i)
    if (!(times[i] > times[i - 1])) throw InputError(table.place(i), "times of steps must increase");
  t.rules.times = times;
  t.table = path;
}

/// Of a run whose steps are not all as long as time.step.
void read_rules(Value time, TimeText& t) {
  const bool is_adaptive = t.steps == "adaptive";
  for (const auto& [key, bound] : {std::pair{"least", &t.rules.least}, {"most", &t.rules.most}})
    if (auto value = time.find(key)) {
      if (!is_adaptive) value->fail(value->path() + " bounds steps that errors decide: time.tolerance is missing");
      *bound = read_positive(*value);
    }
  if (t.rules.most > 0 && t.rules.least > t.rules.most) time.fail("time.least is larger than time.most");
}

/// The first step that is tried.
void require_within_bounds(const Value& step, const TimeText& t) {
  if (t.step < t.rules.least) step.fail("time.step is shorter than time.least allows");
  if (t.rules.most > 0 && t.step > t.rules.most) step.fail("time.step is longer than time.most allows");
}

std::int64_t read_most_steps(const Value& most) {
  const std::int64_t steps = most.integer();
  if (steps < 1) most.fail("time.at most: at least 1 step is needed");
  return steps;
}

void read_end(Value time, TimeText& t) {
  auto until = time.find("until");
  if (until) t.until = until->expression();
  auto most = time.find("at most");
  const bool is_adaptive = t.steps == "adaptive", is_table = t.steps == "table";
  if (most && is_table) most->fail("time.at most: a table has as many steps as it has (time.times)");
  if (most && !is_adaptive && !until) most->fail("time.at most belongs to time.until, which is missing");
  if (most) t.rules.at_most = read_most_steps(*most);
  if (!until || is_adaptive || is_table) {
    t.to = time.at("to").number();
    return;
  }
  if (!most) t.rules.at_most = read_most_steps(time.at("at most"));
  if (time.find("to")) until->fail("time.until and time.to cannot both be given; 'at most' bounds the steps");
  t.to = t.from + static_cast<double>(t.rules.at_most) * t.step;
}

/// A table of another unit, or of another run, shall not go unnoticed.
void require_fitting_table(const Value& file, const TimeText& t) {
  std::vector<double> inside{t.from};
  for (const double time : t.rules.times)
    if (time > t.from && time <= t.to) inside.push_back(time);
  if (inside.size() == 1)
    file.fail(fmt::format("{}: none of its times, from {:.6g} to {:.6g}, lies in the run, from {:.6g} to {:.6g}",
                          t.table, t.rules.times.front(), t.rules.times.back(), t.from, t.to));
  double longest = 0.0;
  for (std::size_t i = 1; i < inside.size(); ++i) longest = std::max(longest, inside[i] - inside[i - 1]);
  const double left = t.to - inside.back();
  if (left > longest * (1 + 1e-6))
    file.fail(
        fmt::format("{} ends at t = {:.6g}, and the step that is left to time.to, {:.6g}, would be longer than all "
                    "others: {:.6g}",
                    t.table, inside.back(), t.to, left));
}

/// Who decides the steps, if the case does not say.
std::string source_meant(Value time) {
  return time.has("tolerance") ? "adaptive" : time.has("times") ? "table" : "fixed";
}

/// Of an event: one time or several.
std::vector<double> read_event_times(const Value& at, const std::vector<ParameterText>& parameters) {
  std::vector<double> times;
  const auto read = [&](const Value& time) {
    try {
      times.push_back(time.number());
    } catch (const InputError&) {
      if (!time.is_scalar() || std::ranges::find(parameters, time.text(), &ParameterText::name) == parameters.end())
        throw;
      time.fail("the times of events are numbers, which runs land on, and '" + time.text() +
                "' is a parameter: write its value; derivatives with respect to these times are not taken");
    }
  };
  if (at.is_scalar()) {
    read(at);
    return times;
  }
  for (const Value& time : at.items()) read(time);
  if (times.empty()) at.fail(at.path() + " names no times");
  return times;
}

}  // namespace

std::vector<EventText> read_events(const Value& events, const std::vector<ParameterText>& parameters) {
  std::vector<EventText> all;
  for (Value item : events.items()) {
    EventText event;
    event.place = item.place();
    event.at = read_event_times(item.at("at"), parameters);
    Value set = item.at("set");
    for (const std::string& field : set.keys())
      event.set.push_back({field, set.at(field).expression(), set.key_place(field)});
    if (event.set.empty()) set.fail(set.path() + " sets nothing: name the states that jump");
    item.finish();
    all.push_back(event);
  }
  return all;
}

void read_time(Value time, Case& result) {
  TimeText& t = result.time;
  t.place = time.place();
  if (auto v = time.find("method")) t.method = v->one_of(methods().names());
  if (auto v = time.find("theta")) t.theta = read_theta(*v, t.method);
  t.steps = source_meant(time);
  if (auto v = time.find("steps")) t.steps = v->one_of(step_sources().names());
  if (auto v = time.find("from")) t.from = v->number();
  if (auto v = time.find("tolerance")) t.tolerances = read_tolerances(*v, result);
  if (t.steps == "adaptive" && !t.tolerances) time.fail("time.steps 'adaptive' needs time.tolerance");
  if (t.tolerances && (t.steps == "fixed" || t.steps == "table"))
    time.fail("time.tolerance is for steps that errors decide, and time.steps is '" + t.steps + "'");
  if (auto v = time.find("times")) {
    if (t.steps != "table") v->fail("time.times is a table of steps, and time.steps is '" + t.steps + "'");
    read_table(*v, result.file, t);
  } else if (t.steps == "table") {
    time.fail("time.steps 'table' needs time.times, a file");
  }
  read_rules(time, t);
  const std::optional<Value> switches = time.find("switches");
  const bool is_table = t.steps == "table", needs_step = t.steps != "adaptive" && !is_table;
  if (auto step = time.find("step"); step && is_table)
    step->fail("time.step: the steps are those of the table (time.times)");
  if (needs_step || time.has("step")) t.step = read_positive(time.at("step"));
  if (t.steps == "adaptive" && time.has("step")) require_within_bounds(time.at("step"), t);
  read_end(time, t);
  time.finish();
  if (is_table && t.to > t.from) require_fitting_table(time.at("times"), t);
  if (!(t.to > t.from)) time.at(time.has("to") ? "to" : "until").fail("time.to must be later than time.from");
  const double span = t.to - t.from;
  if (t.step == 0.0) t.step = t.steps == "adaptive" ? 1e-6 * span : span;
  if (t.step > span * (1 + 1e-12))
    time.at("step").fail("time.step overshoots the end: one step is longer than the whole run");
  if (switches)
    for (const Value& item : switches->items()) {
      t.switches.push_back(item.number());
      if (!(t.switches.back() >= t.from && t.switches.back() <= t.to))
        item.fail(item.path() + " is outside of the run");
    }
  if (needs_step && span / t.step > 1e15) time.at("step").fail("time.step is too short: more than 1e15 steps");
}

}  // namespace hindsight

#include "adjoint/problem/given_values.hpp"

#include <algorithm>
#include <cstddef>

namespace hindsight {
namespace {

bool operator==(const Text& a, const Text& b) {
  return a.text == b.text;
}

bool are_same(const std::optional<Text>& a, const std::optional<Text>& b) {
  return a.has_value() == b.has_value() && (!a || a->text == b->text);
}

/// Ranges of equal length whose elements are the same, pair by pair.
template <class T, class Same>
bool all_same(const std::vector<T>& a, const std::vector<T>& b, Same same) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
}

bool is_same_parameter(const ParameterText& a, const ParameterText& b) {
  using Kind = ParameterText::Kind;
  if (a.name != b.name || a.kind != b.kind) return false;
  if (a.kind == Kind::field) return a.field == b.field;
  return a.kind != Kind::series || a.times == b.times;
}

bool is_same_time(const TimeText& a, const TimeText& b) {
  return a.method == b.method && a.theta == b.theta && a.steps == b.steps && a.rules == b.rules &&
         a.tolerances == b.tolerances && a.from == b.from && a.step == b.step && a.to == b.to &&
         are_same(a.until, b.until) && a.switches == b.switches && a.land_every == b.land_every;
}

bool is_same_event(const EventText& a, const EventText& b) {
  return a.at == b.at &&
         all_same(a.set, b.set, [](const auto& x, const auto& y) { return x.field == y.field && x.value == y.value; });
}

/// Observations are sorted by time.
std::vector<double> times_of(const std::vector<PointObservation>& observations) {
  std::vector<double> times;
  for (const PointObservation& o : observations)
    if (times.empty() || times.back() != o.time) times.push_back(o.time);
  return times;
}

bool is_same_term(const TermText& a, const TermText& b) {
  return a.kind == b.kind && a.expression == b.expression && a.weight == b.weight && a.noise == b.noise &&
         a.log == b.log && a.weights == b.weights && a.filter == b.filter &&
         times_of(a.observations) == times_of(b.observations);
}

bool is_same_absorb(const AbsorbText& a, const AbsorbText& b) {
  return a.kind == b.kind && a.cells == b.cells && a.strength == b.strength && a.speed == b.speed && a.sides == b.sides;
}

}  // namespace

GivenValues given_values(const ProblemText& problem) {
  using Kind = ParameterText::Kind;
  GivenValues given;
  for (const ParameterText& p : problem.parameters) {
    if (p.kind == Kind::scalar) given.scalars.push_back(p.value);
    if (p.kind == Kind::series) given.series.push_back(p.values);
    if (p.kind == Kind::field) given.fields.emplace_back();
    if (p.kind == Kind::field_file) given.fields.push_back(p.fill);
  }
  for (const TermText& term : problem.objective)
    if (term.is_misfit())
      given.observations.push_back(std::make_shared<const std::vector<PointObservation>>(term.observations));
  for (const SourceText& source : problem.sources) given.sources.push_back(source.points);
  return given;
}

bool differ_in_values_alone(const ProblemText& a, const ProblemText& b) {
  return all_same(a.parameters, b.parameters, is_same_parameter) &&
         all_same(a.state, b.state,
                  [](const auto& x, const auto& y) { return x.initial == y.initial && are_same(x.rate, y.rate); }) &&
         all_same(a.functions, b.functions, [](const auto& x, const auto& y) { return x.body == y.body; }) &&
         is_same_time(a.time, b.time) && a.absorb.has_value() == b.absorb.has_value() &&
         (!a.absorb || is_same_absorb(*a.absorb, *b.absorb)) && all_same(a.events, b.events, is_same_event) &&
         all_same(a.sources, b.sources,
                  [](const auto& x, const auto& y) {
                    return x.to == y.to && x.signal == y.signal && x.weights == y.weights;
                  }) &&
         all_same(a.objective, b.objective, is_same_term);
}

}  // namespace hindsight

// The section `inversion` of a case, and its stages.
#include <algorithm>
#include <limits>

#include "io/case/sections.hpp"

namespace hindsight {
namespace {

double read_limit(const Value& value) {
  const double limit = value.number();
  if (!(limit >= 0)) value.fail(value.path() + " cannot be negative");
  return limit;
}

void read_limits(Value& section, InversionLimits& into) {
  if (auto v = section.find("iterations")) {
    into.iterations = v->integer();
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // what PETSc counts to
    if (into.iterations < 1) v->fail(v->path() + " must be at least 1");
    if (into.iterations > most) v->fail(v->path() + " must be at most " + std::to_string(most));
  }
  if (auto v = section.find("gradient")) into.gradient = read_limit(*v);
  if (auto v = section.find("relative")) into.relative = read_limit(*v);
}

/// Names of a list, which are some of these, each once; by their places there.
std::vector<std::size_t> read_names(const Value& list, const std::vector<std::string>& known) {
  std::vector<std::size_t> all;
  for (const Value& item : list.items()) {
    const std::string name = item.one_of(known);
    const auto place = static_cast<std::size_t>(std::ranges::find(known, name) - known.begin());
    if (std::ranges::find(all, place) != all.end()) item.fail(list.path() + ": '" + name + "' stands twice");
    all.push_back(place);
  }
  if (all.empty()) list.fail(list.path() + " names none; without the key, all count");
  return all;
}

/// Which terms of an objective a filter is for: those of a list of places, from 0, or all misfits.
std::vector<bool> read_filtered(Value filter, const std::vector<TermText>& objective) {
  std::string known;
  for (std::size_t i = 0; i < objective.size(); ++i)
    if (objective[i].is_misfit()) known += (known.empty() ? "" : ", ") + std::to_string(i);
  if (known.empty()) filter.fail(filter.path() + " is for misfits, and the objective has none");
  std::vector<bool> chosen;
  const auto list = filter.find("misfits");
  for (const TermText& term : objective) chosen.push_back(!list && term.is_misfit());
  if (!list) return chosen;
  if (list->items().empty()) list->fail(list->path() + " is empty; misfits: " + known);
  for (const Value& item : list->items()) {
    const std::int64_t place = item.integer();
    if (place < 0 || place >= std::ssize(objective) || !objective[static_cast<std::size_t>(place)].is_misfit())
      item.fail(item.path() + ": term " + std::to_string(place) + " of the objective is no misfit; misfits: " + known);
    if (chosen[static_cast<std::size_t>(place)]) item.fail(item.path() + " names a misfit again");
    chosen[static_cast<std::size_t>(place)] = true;
  }
  return chosen;
}

std::vector<std::optional<FilterSpec>> read_filters(const Value& filter, std::vector<TermText>& objective) {
  const std::vector<bool> chosen = read_filtered(filter, objective);
  const FilterSpec spec = read_filter(filter);
  std::vector<std::optional<FilterSpec>> filters;
  for (std::size_t i = 0; i < objective.size(); ++i) {
    TermText& term = objective[i];
    if (!term.is_misfit()) continue;
    filters.emplace_back();
    if (!chosen[i]) continue;
    require_filterable(filter, spec, term);
    term.may_be_filtered = true;
    filters.back() = spec;
  }
  return filters;
}

InversionStage read_stage(Value stage, const InversionLimits& limits, const std::vector<std::string>& unknowns,
                          std::vector<TermText>& objective) {
  InversionStage result{limits, {}, {}};
  read_limits(stage, result);
  stage.find("shots");  // choose_shots()
  if (const auto filter = stage.find("filter")) result.filters = read_filters(*filter, objective);
  if (const auto names = stage.find("unknowns")) {
    result.unknowns = read_names(*names, unknowns);
    std::ranges::sort(result.unknowns);
  } else {
    for (std::size_t i = 0; i < unknowns.size(); ++i) result.unknowns.push_back(i);
  }
  stage.finish();
  return result;
}

/// A list of names; or every so many'th shot of the table, from one on.
std::vector<std::string> read_choice(Value choice, const std::vector<std::string>& shots) {
  std::vector<std::string> chosen;
  if (!choice.is_map()) {
    for (const std::size_t shot : read_names(choice, shots)) chosen.push_back(shots[shot]);
    return chosen;
  }
  const auto count = static_cast<std::int64_t>(shots.size());
  const auto read = [&](const Value& number) {
    const std::int64_t value = number.integer();
    if (value < 1 || value > count)
      number.fail(number.path() + " must lie between 1 and " + std::to_string(count) + ", the number of shots");
    return value;
  };
  const std::int64_t every = read(choice.at("every"));
  const auto first = choice.find("from");
  for (std::int64_t i = first ? read(*first) : 1; i <= count; i += every)
    chosen.push_back(shots[static_cast<std::size_t>(i - 1)]);
  choice.finish();
  return chosen;
}

}  // namespace

CaseInversion read_inversion(Value inversion, const std::vector<UnknownText>& unknowns,
                             const std::vector<EquationText>& equations, std::vector<TermText>& objective) {
  CaseInversion result;
  if (auto v = inversion.find("method")) result.method = v->one_of({"lbfgs", "blmvm", "bqnls", "bncg"});
  read_limits(inversion, result);
  if (const auto v = inversion.find("history")) {
    constexpr std::int64_t most = 1000;
    result.history = v->integer();
    if (result.method == "bncg") v->fail("inversion.history: bncg has none; it is for lbfgs and bqnls");
    if (result.history < 1 || result.history > most)
      v->fail("inversion.history must be from 1 to " + std::to_string(most));
  }
  if (const auto v = inversion.find("preconditioner")) {
    result.preconditions = v->one_of({"none", "illumination"}) == "illumination";
    const bool are_waves = std::ranges::any_of(equations, &EquationText::is_second_order);
    if (result.preconditions && !are_waves)
      v->fail("inversion.preconditioner: illumination is that of waves, and no equation is of second order, dtt(...)");
  }
  if (const auto stages = inversion.find("stages")) {
    std::vector<std::string> names;
    for (const UnknownText& u : unknowns) names.push_back(u.label());
    for (const Value& stage : stages->items()) result.stages.push_back(read_stage(stage, result, names, objective));
    if (result.stages.empty()) stages->fail("inversion.stages: a list of one stage at least");
  }
  inversion.finish();
  return result;
}

void choose_shots(Value page, const std::vector<std::string>& shots, Case& into) {
  if (!into.inversion || into.inversion->stages.empty()) return;
  const std::vector<Value> stages = page.at("inversion").at("stages").items();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Value stage = stages[i];
    const auto choice = stage.find("shots");
    if (choice && shots.empty()) choice->fail(choice->path() + ": the case has no shots");
    if (choice) into.inversion->stages[i].shots = read_choice(*choice, shots);
  }
}

}  // namespace hindsight

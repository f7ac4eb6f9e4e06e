#include "src/inversion_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/nearest_name.hpp"

namespace hindsight {

namespace {

/// "lowpass 3, order 4"; of several misfits with different ones each with its number.
std::string filters_text(const InversionStage& stage) {
  std::string text;
  const bool are_same = std::ranges::all_of(stage.filters, [&](const auto& f) { return f == stage.filters.front(); });
  for (std::size_t i = 0; i < stage.filters.size(); ++i) {
    if (!stage.filters[i] || (are_same && i > 0)) continue;
    text += (text.empty() ? "" : "; ") + stage.filters[i]->text();
    if (!are_same) text += fmt::format(" (misfit {})", i);
  }
  return text;
}

}  // namespace

std::string stage_head(const Session& session, std::size_t stage) {
  const Case& c = session.source();
  std::string text;
  if (has_stages(c)) {
    const InversionStage& now = c.inversion->stages[stage];
    text = fmt::format("stage {} of {}:", stage + 1, c.inversion->stages.size());
    if (session.has_shots())
      text += fmt::format(" {} of {} shots;", session.selected_shots(), session.experiments().count());
    std::vector<std::string> moving;
    for (const std::size_t i : now.unknowns) moving.push_back(c.unknowns[i].label());
    text += fmt::format(" {} {} unknown", join(moving), moving.size() == 1 ? "is" : "are");
    if (const std::string filters = filters_text(now); !filters.empty()) text += "; " + filters;
    text += "\n";
  }
  return text + fmt::format("{:>9} {:>18} {:>13} {:>11} {:>12}\n", "iteration", "objective", "gradient norm", "step",
                            "evaluations");
}

std::string table_line(const InversionIteration& now) {
  return fmt::format("{:>9} {:>18.10g} {:>13.4e} {:>11.3e} {:>12}\n", now.iteration, now.objective, now.gradient_norm,
                     now.step, now.evaluations);
}

std::string estimates_text(const Session& session, const UnknownValues& start, const UnknownValues& estimate) {
  std::string text = fmt::format("{:<16} {:>14} {:>14}\n", "unknown", "start", "estimate");
  for (std::size_t i = 0; i < estimate.size(); ++i) {
    const std::string label = session.source().unknowns[i].label();
    const bool single =
        !session.simulation().spec().unknowns[i].is_field() || session.simulation().grid().dimensions() == 0;
    if (single && estimate[i].size() == 1) {
      text += fmt::format("{:<16} {:>14.8g} {:>14.8g}\n", label, start[i][0], estimate[i][0]);
    } else {
      text += fmt::format("{:<16} {:>14} {:>14}\n", label, "field", "in estimate.h5");
    }
  }
  return text;
}

std::string convergence_table(const Case& c, const StagedInversion& inversion) {
  std::string table = "iteration,objective,gradient_norm,step,evaluations";
  table += has_stages(c) ? ",stage\n" : "\n";
  for (std::size_t stage = 0; stage < inversion.stages.size(); ++stage)
    for (const InversionIteration& i : inversion.stages[stage].history) {
      table += fmt::format("{},{:.17g},{:.17g},{:.17g},{}", i.iteration, i.objective, i.gradient_norm, i.step,
                           i.evaluations);
      table += has_stages(c) ? fmt::format(",{}\n", stage + 1) : "\n";
    }
  return table;
}

namespace {

std::int64_t last_iteration(const InversionResult& result) {
  return result.history.empty() ? 0 : result.history.back().iteration;
}

/// Iterations and evaluations of each stage alone.
Json stages_result(const StagedInversion& inversion) {
  Json all = Json::array();
  std::int64_t evaluations = 0;
  for (const InversionResult& stage : inversion.stages) {
    Json one = {{"stage", all.size() + 1},
                {"iterations", 0},
                {"evaluations", stage.evaluations - evaluations},
                {"objective", nullptr},
                {"converged", stage.converged},
                {"gave_up", stage.gave_up},
                {"reason", stage.reason}};
    evaluations = stage.evaluations;
    if (!stage.history.empty()) {
      const InversionIteration &first = stage.history.front(), &last = stage.history.back();
      one["iterations"] = last.iteration - first.iteration;
      one["objective"] = {{"first", first.objective}, {"last", last.objective}};
    }
    all.push_back(one);
  }
  return all;
}

}  // namespace

Json inversion_result(const Case& c, const StagedInversion& inversion) {
  const InversionResult& last = inversion.stages.back();
  Json json = {{"iterations", last_iteration(last)},
               {"evaluations", last.evaluations},
               {"converged", last.converged},
               {"gave_up", last.gave_up},
               {"reason", last.reason}};
  if (has_stages(c)) json["stages"] = stages_result(inversion);
  return json;
}

}  // namespace hindsight

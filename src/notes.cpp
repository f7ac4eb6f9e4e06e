#include "src/notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "adjoint/problem/used_unknowns.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

constexpr double noted_part = 0.01;  // of time.step that steps are shorter

std::string unused_text(const Case& c, const std::vector<bool>& used) {
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i]) unused.push_back(c.unknowns[i].label());
  if (unused.empty()) return "";
  const bool replaces =
      std::ranges::any_of(c.unknowns, [](const UnknownText& u) { return u.label().starts_with("initial("); });
  return fmt::format(
      "the objective does not depend on {}: no equation, event, initial state, wall or term that leads to it "
      "reads {}{}, so {} zero",
      join(unused), unused.size() == 1 ? "it" : "them",
      replaces ? " (an unknown initial state stands in place of its expression)" : "",
      unused.size() == 1 ? "its derivative is" : "their derivatives are");
}

/// "t = 0.5 (an observation)": what steps end at that is nothing else.
std::string time_text(double t, const Case& c, const Simulation& simulation) {
  const SimulationSpec& spec = simulation.spec();
  const double tolerance = simulation.time().tolerance(t);
  const auto is_here = [&](double other) { return std::fabs(other - t) <= tolerance; };
  const bool is_event =
      std::ranges::any_of(spec.jumps, [&](const Jump& jump) { return std::ranges::any_of(jump.times, is_here); });
  const char* const what = is_event                                      ? "an event"
                           : is_here(spec.from)                          ? "the begin"
                           : is_here(spec.to)                            ? (c.time.until ? "the latest end" : "the end")
                           : std::ranges::any_of(spec.switches, is_here) ? "a switch"
                           : std::ranges::any_of(spec.outputs, is_here)  ? "an output"
                                                                         : "an observation";
  return fmt::format("t = {:.10g} ({})", t, what);
}

std::string uneven_text(const Case& c, const Simulation& simulation) {
  const SimulationSpec& spec = simulation.spec();
  if (c.time.steps != "fixed") return "";
  const TimeLine::Stretch shortest = simulation.time().shortest(), longest = simulation.time().longest();
  if (shortest.step >= (1 - noted_part) * spec.step) return "";
  const std::string lengths = shortest.step >= (1 - 1e-9) * longest.step
                                  ? fmt::format("{:.6g}", shortest.step)
                                  : fmt::format("between {:.6g} and {:.6g}", shortest.step, longest.step);
  if (spec.model.is_second_order)
    return fmt::format("steps are {} long where time.step asks for {:.6g}, because the last one lands on the end",
                       lengths, spec.step);
  return fmt::format(
      "steps are {} long where time.step asks for {:.6g}, because they land on the times of observations "
      "and outputs{} and on the end; the shortest lead from {} to {}",
      lengths, spec.step, c.events.empty() && spec.switches.empty() ? "" : ", of events and switches",
      time_text(shortest.from, c, simulation), time_text(shortest.to, c, simulation));
}

/// Singles lose what short steps add to fields. Collective.
std::string short_steps_text(const Simulation& simulation) {
  constexpr double noted = 3.0;
  if (simulation.element() == Element::float64) return "";
  const double ratio = simulation.stability_ratio();
  if (ratio < noted) return "";
  return fmt::format(
      "steps are {:.2g} times shorter than the longest stable one ({:.3g}): float32 rounds what such a step adds, and "
      "results and gradients lose digits by it; take longer steps, or precision: float64",
      ratio, simulation.largest_step());
}

}  // namespace

std::vector<bool> used_unknowns(const Case& c, const SimulationSpec& spec) {
  std::vector<bool> used = used_unknowns(spec);
  for (std::size_t i = 0; i < used.size(); ++i) used[i] = used[i] || c.assumptions[i].prior.has_value();
  return used;
}

std::vector<std::string> notes_on(const Case& c, const Experiments& experiments) {
  const Simulation& simulation = experiments.simulation();
  std::vector<bool> used = used_unknowns(c, simulation.spec());
  experiments.for_each_kind([&](const Simulation& other, const Gradients*) {
    const std::vector<bool> also = used_unknowns(c, other.spec());
    for (std::size_t i = 0; i < used.size(); ++i) used[i] = used[i] || also[i];
  });
  std::vector<std::string> notes{unused_text(c, used), uneven_text(c, simulation), short_steps_text(simulation)};
  if (!c.shots.empty() && (c.time.land_every > 0.0 || !c.output.fields.empty()))
    notes.emplace_back("output: fields are written by runs of one shot alone (--shot NAME)");
  std::erase(notes, "");
  for (std::string& note : simulation.stepper().solver_report().notes) notes.push_back(std::move(note));
  return notes;
}

}  // namespace hindsight

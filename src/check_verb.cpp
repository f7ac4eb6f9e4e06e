// check: are the derivatives those of the program? The adjoint against the tangent model and against differences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "src/checked_session.hpp"
#include "src/report.hpp"
#include "src/same_start.hpp"
#include "src/session.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::right:
      return "ok";
    case Verdict::kink:
      return "kink";
    case Verdict::hidden:
      return "cannot be told";
    case Verdict::wrong:
      break;
  }
  return "WRONG";
}

Json comparison_result(const Comparison& comparison) {
  return {{"seen", comparison.seen},
          {"allowed", comparison.allowed},
          {"away", comparison.away},
          {"verdict", word(comparison.verdict)}};
}

Json row_result(const CheckedUnknown& row) {
  const DirectionCheck& c = row.check;
  Json json{{"unknown", row.label},
            {"adjoint", c.slope},
            {"tangent", c.tangent},
            {"ahead", derivative_ahead(c.samples).value},
            {"behind", derivative_behind(c.samples).value},
            {"tangent_against_adjoint", comparison_result(c.with_tangent)},
            {"differences_against_adjoint", comparison_result(c.with_differences)},
            {"order", c.remainders.order},
            {"halvings", c.remainders.halvings},
            {"steps", c.samples.steps},
            {"objective_ahead", c.samples.ahead},
            {"objective_behind", c.samples.behind},
            {"verdict", word(c.verdict())},
            {"passed", c.verdict() != Verdict::wrong}};
  return json;
}

std::string head_text(const Session& session, double objective) {
  return fmt::format(
      "{}: objective {:.10g}\n"
      "derivatives by the adjoint, relative difference to\n"
      "{:<16} {:>19}   {:>19}\n"
      "{:<16} {:>9} {:>9}   {:>9} {:>9}   {:>5}\n",
      session.source().name, objective, "", "the tangent model", "differences of runs", "unknown", "seen", "allowed",
      "seen", "allowed", "order");
}

std::string row_text(const CheckedUnknown& row) {
  const DirectionCheck& c = row.check;
  const std::string order = c.remainders.halvings > 0 ? fmt::format("{:.3f}", c.remainders.order) : "-";
  const auto figures = [](const Comparison& of) {
    return fmt::format("{:>9.1e} {:>9.1e}{}", of.seen, of.allowed, of.away != 0.0 ? " *" : "  ");
  };
  return fmt::format("{:<16} {} {} {:>5}  {}\n", row.label, figures(c.with_tangent), figures(c.with_differences), order,
                     word(c.verdict()));
}

std::string place_text(const Comparison& comparison) {
  return comparison.away == 0.0 ? "" : fmt::format("{:g} % away ", 100 * comparison.away);
}

/// Why tangent model and adjoint disagree, or why nothing can be said.
std::string tangent_text(const DirectionCheck& c) {
  const Comparison& of = c.with_tangent;
  if (of.verdict == Verdict::hidden)
    return fmt::format(
        "tangent model against adjoint cannot be told here: round-off is {:.1e} of the derivative, {:.0e} "
        "is asked for",
        of.allowed, of.tells);
  const std::string seen = fmt::format("{:.1e} apart, round-off allows {:.1e}", of.seen, of.allowed);
  if (of.away != 0.0) return place_text(of) + "the adjoint and the tangent model are " + seen;
  const DerivativeEstimate differences = best_derivative(c.samples);
  const bool is_tangent = differences.allows(c.tangent), is_adjoint = differences.allows(c.slope);
  const char* const side = is_tangent == is_adjoint ? "do not tell which is right"
                           : is_tangent             ? "agree with the tangent model"
                                                    : "agree with the adjoint";
  return fmt::format("the adjoint gives {:.12g}, the tangent model {:.12g}: {}; differences of runs {}", c.slope,
                     c.tangent, seen, side);
}

/// Why differences and adjoint disagree, or why nothing can be said.
std::string differences_text(const DirectionCheck& c) {
  const Comparison& of = c.with_differences;
  if (of.verdict == Verdict::hidden)
    return "differences of runs against adjoint cannot be told here: " +
           (std::isfinite(of.allowed)
                ? fmt::format("they are known to {:.1e} of the derivative, {:.0e} is asked for", of.allowed, of.tells)
                : "too few runs near the values succeed");
  if (of.verdict == Verdict::kink)
    return fmt::format(
        "the objective has a kink here: differences of runs tend to {:.9g} ahead and {:.9g} behind, the "
        "adjoint gives {:.9g}, {}",
        derivative_ahead(c.samples).value, derivative_behind(c.samples).value, c.slope,
        c.is_between_sides() ? "which lies between the two" : "the derivative of the branches taken");
  const std::string seen = fmt::format("{:.1e} apart, {:.1e} is allowed", of.seen, of.allowed);
  if (of.away != 0.0) return place_text(of) + "the adjoint and differences of runs are " + seen;
  return fmt::format("the adjoint gives {:.12g}, differences of runs {:.12g}: {}", c.slope,
                     best_derivative(c.samples).value, seen);
}

std::string summary(const std::vector<CheckedUnknown>& rows) {
  const auto any = [&](Verdict verdict) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const CheckedUnknown& row) { return row.check.verdict() == verdict; });
  };
  const auto is_away = [](const CheckedUnknown& row) {
    return row.check.with_tangent.away != 0.0 || row.check.with_differences.away != 0.0;
  };
  std::string text;
  if (std::any_of(rows.begin(), rows.end(), is_away))
    text += "* at values nearby, where more can be told than at those of the case\n";
  for (const auto& [label, check] : rows) {
    const Verdict tangent = check.with_tangent.verdict, differences = check.with_differences.verdict;
    if (tangent != Verdict::right) text += label + ": " + tangent_text(check) + "\n";
    if (differences != Verdict::right && tangent != Verdict::wrong)
      text += label + ": " + differences_text(check) + "\n";
  }
  if (any(Verdict::wrong)) return text + "the gradient is WRONG\n";
  if (any(Verdict::hidden)) return text + "the gradient is right as far as it can be told here\n";
  if (std::any_of(rows.begin(), rows.end(), [](const CheckedUnknown& row) { return row.check.is_between_sides(); }))
    return text + "the gradient is right where the objective has one; at kinks it may lie between both sides\n";
  return text + (any(Verdict::kink) ? "the gradient is right, at kinks that of the branches taken\n"
                                    : "the gradient is right\n");
}

/// "steps:1e-6": a part of the adjoint, and its relative error.
void break_gradient(Session& session, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  double size = 0.0;
  try {
    size = std::stod(text.substr(colon + 1));
  } catch (const std::exception&) {
    throw InputError("--break-gradient wants a part and a number, steps:1e-6, not '" + text + "'");
  }
  session.break_gradient(text.substr(0, colon), size);
}

/// A gradient of steps that errors decide is that of these steps. How much they say of the problem shows beside those
/// of a tenth of the tolerance: where errors of single steps follow the unknowns fast (a jump that moves through the
/// steps), derivatives of these errors may be larger than all else.
struct TighterSteps {
  std::vector<double> away;  ///< by unknown, relative: how far the derivatives lie apart
  std::string failure;       ///< why there are none; empty: there are
};

TighterSteps compare_with_tighter(const Options& options, Case source, const Communicator& comm,
                                  const CheckedPoint& point, const std::vector<CheckedUnknown>& rows) {
  constexpr double tighter = 0.1, least = 1e-14;
  constexpr std::int64_t more_steps = 3;
  const auto tighten = [&](TimeText& time) {
    if (!time.tolerances) return;
    time.tolerances->relative = std::max(tighter * time.tolerances->relative, least);
    for (double& absolute : time.tolerances->absolute) absolute *= tighter;
    time.rules.at_most *= more_steps;
  };
  tighten(source.time);
  for (Shot& shot : source.shots) tighten(shot.problem.time);
  try {
    Session session(source, comm, Sensitivities::adjoint, session_options(options, source, comm));
    session.set_values(point.values);
    const std::vector<double> slopes = checked_slopes(session, point, session.gradient({}).gradient);
    TighterSteps found;
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      const double apart = std::fabs(slopes[i] - rows[i].check.slope);
      found.away.push_back(apart == 0.0 ? 0.0 : apart / std::fabs(slopes[i]));
    }
    return found;
  } catch (const NumericsError& error) {
    return {{}, error.what()};
  } catch (const ResourceError& error) {
    return {{}, error.what()};
  }
}

std::string tighter_text(const TighterSteps& tighter, const std::vector<CheckedUnknown>& rows) {
  constexpr double far = 0.1;
  if (!tighter.failure.empty())
    return "beside a tenth of time.tolerance nothing can be told: " + tighter.failure + "\n";
  std::string text = "beside the steps of a tenth of time.tolerance, relative:";
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += fmt::format("{} {} {:.1e}", i == 0 ? "" : ",", rows[i].label, tighter.away[i]);
  if (std::ranges::any_of(tighter.away, [](double away) { return away > far; }))
    text +=
        "\nthese derivatives are those of the steps that were taken, and say little of the problem: errors of steps "
        "follow the unknowns faster than the solution does. Tighten time.tolerance until both agree";
  return text + "\n";
}

/// Checks tell round-off from errors: gradients are not made inexact by choice here, by walking back.
Case without_walking_back(Case source) {
  CheckpointOptions& checkpoints = source.checkpoints;
  checkpoints.accept.reset();
  if (checkpoints.schedule != "auto" && schedules().find(checkpoints.schedule).walks_back)
    checkpoints.schedule = "auto";
  return source;
}

}  // namespace

ExitCode check_verb(const Options& options, const Communicator& comm) {
  const Case source = without_walking_back(read_same_case(options, comm));
  if (source.unknowns.empty()) throw InputError({options.target, 0, 0}, "nothing to check: the case has no unknowns");
  if (options.groups > 1)
    throw InputError("--groups: check looks at the sum over all shots with all ranks together, in steps that it keeps");
  RunJournal journal(options, source, comm);
  auto kept = std::make_unique<Session>(source, comm, Sensitivities::adjoint_and_tangent,
                                        session_options(options, source, comm, &journal));
  Session& session = *kept;
  journal.begin(source, session.epoch_bytes());
  if (!options.developer.break_gradient.empty()) break_gradient(session, options.developer.break_gradient);
  const CheckedPoint point{session.simulation().values(),
                           journal.with_failures_told([&] { return session.gradient({}); })};
  session.fix_end();
  const bool talks = !options.quiet && options.json != "-";
  if (talks) print(comm, head_text(session, point.evaluation.objective));
  const std::vector<CheckedUnknown> rows = check_gradient(session, point, [&](const CheckedUnknown& row) {
    if (talks) print(comm, row_text(row));
  });
  const bool passed = std::none_of(rows.begin(), rows.end(),
                                   [](const CheckedUnknown& row) { return row.check.verdict() == Verdict::wrong; });
  Json json{{"case", session.source().name}, {"objective", point.evaluation.objective}};
  for (const CheckedUnknown& row : rows) json["unknowns"].push_back(row_result(row));
  json["passed"] = passed;
  std::string beside_tighter;
  if (source.time.tolerances) {
    kept.reset();  // gives its memory back
    const TighterSteps tighter = compare_with_tighter(options, source, comm, point, rows);
    beside_tighter = tighter_text(tighter, rows);
    json["beside_a_tenth_of_the_tolerance"] =
        tighter.failure.empty() ? Json(tighter.away) : Json({{"failed", tighter.failure}});
  }
  journal.folder().write_text("check.json", json.dump(2) + "\n");
  journal.finish();
  write_json(options, comm, json);
  if (talks) print(comm, summary(rows) + beside_tighter);
  return passed ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace hindsight

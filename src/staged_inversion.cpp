#include "src/staged_inversion.hpp"

#include <fmt/format.h>

#include <utility>

#include "src/illumination.hpp"
#include "src/shared_inversion.hpp"
#include "src/variables.hpp"

namespace hindsight {
namespace {

/// What may make an objective rough.
std::string roughness(const Session& session) {
  return session.simulation().time().tries_steps()
             ? "steps follow time.tolerance, and their errors change from point to point; a smaller one helps"
             : "";
}

/// Counts from the begin of the first stage on.
struct Before {
  std::int64_t iterations = 0, evaluations = 0;

  InversionIteration add_to(InversionIteration now) const {
    now.iteration += iterations;
    now.evaluations += evaluations;
    return now;
  }
};

class Stages {
 public:
  Stages(Session& session, const StageWatch& watch)
      : session_(session), watch_(watch), all_(stages_of(session.source())) {}

  StagedInversion run() {
    for (std::size_t stage = 0; stage < all_.size(); ++stage) {
      // A stage is the case with some keys changed: what they change of evaluations is told to the session here.
      session_.begin_stage(name(stage), all_[stage]);
      watch_.begins(stage, before_.evaluations);
      result_.stages.push_back(counted(optimised(stage)));
      watch_.ends(stage, result_.stages.back());
    }
    session_.begin_stage("", {});  // all shots, and misfits' own filters
    return std::move(result_);
  }

 private:
  std::string name(std::size_t stage) const {
    return has_stages(session_.source()) ? fmt::format("stage {} of {}", stage + 1, all_.size()) : "";
  }

  /// Of the variables, at the values with which a stage begins.
  UnknownValues scales() {
    const auto& inversion = session_.source().inversion;
    if (!inversion || !inversion->preconditions) return {};
    return scales_of(session_.simulation(), session_.illumination());
  }

  InversionResult optimised(std::size_t stage) {
    const InversionStage& limits = all_[stage];
    const Variables variables(session_, limits.unknowns, scales());
    InversionProblem problem{
        variables.to_variables(session_.simulation().values()), variables.bounds(false), variables.bounds(true), {}};
    problem.evaluate = [&](const std::vector<double>& at, std::vector<double>& gradient) {
      return evaluate(variables, at, gradient);
    };
    const Case& c = session_.source();
    const InversionResult result =
        invert_together(problem,
                        {c.inversion.value_or(CaseInversion{}).method, limits.iterations, limits.gradient,
                         limits.relative, c.petsc, c.inversion.value_or(CaseInversion{}).history, roughness(session_)},
                        session_.groups(), [&](const InversionIteration& now, const std::vector<double>& at) {
                          watch_.iteration(stage, before_.add_to(now), [&] { return variables.to_unknowns(at); });
                        });
    session_.set_values(variables.to_unknowns(result.variables));
    return result;
  }

  double evaluate(const Variables& variables, const std::vector<double>& at, std::vector<double>& gradient) {
    const UnknownValues values = variables.to_unknowns(at);
    session_.set_values(values);
    const Evaluation e = session_.gradient({});
    gradient = variables.gradient(values, e.gradient);
    result_.counts = e.counts;
    result_.gradient_seconds = e.seconds;
    return e.objective;
  }

  InversionResult counted(InversionResult result) {
    for (InversionIteration& now : result.history) now = before_.add_to(now);
    if (!result.history.empty()) before_.iterations = result.history.back().iteration;
    before_.evaluations += result.evaluations;
    result.evaluations = before_.evaluations;
    return result;
  }

  Session& session_;
  const StageWatch& watch_;
  std::vector<InversionStage> all_;
  StagedInversion result_;
  Before before_;
};

}  // namespace

StagedInversion invert_in_stages(Session& session, const StageWatch& watch) {
  return Stages(session, watch).run();
}

}  // namespace hindsight

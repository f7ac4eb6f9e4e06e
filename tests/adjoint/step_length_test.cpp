// `step` in expressions is the length of the step being taken, in both sweeps, in walls and in terms.
// ranks: 1 2
#include "tests/support.hpp"

namespace hindsight {
namespace {

using namespace test;

// Outputs make stretches of steps of different lengths: 0.25 is divided into 3, 0.15 into 2.
const std::string counting = R"yaml(
case: counting
parameters: {a: 1}
state: {u: {initial: 0}, w: {initial: 0}}
equations: {dt(u): "a/step", dt(w): "1"}
time: {method: heun, step: 0.1, to: 0.9}
objective: [{final: "u + 1000*step"}]
unknowns: {a: {}}
output: {every: 0.25}
)yaml";

TEST(StepLength, IsThatOfTheStepBeingTaken) {
  Session session(text_case(counting), self(), Sensitivities::adjoint_and_tangent);
  EXPECT_EQ(session.simulation().time().steps(), 11);
  const Evaluation evaluation = session.gradient({});
  EXPECT_NEAR(evaluation.objective, 11 + 1000 * 0.075, 1e-11);
  EXPECT_NEAR(evaluation.gradient[0][0], 11, 1e-12);
  EXPECT_NEAR(session.tangent({{1.0}}).second, 11, 1e-12);
}

const std::string walled = R"yaml(
case: walled
grid: {x: {cells: 12, to: 1, boundary: {lower: {value: "a*step"}, upper: {slope: 0}}}, y: {cells: 8, to: 1}}
parameters: {a: 1}
state: {u: {initial: "x"}}
equations: {dt(u): "0.01*lap(u) + hx*u"}
time: {method: rk4, step: 0.1, to: 0.9}
objective: [{final: "u^2 + dx(u)*step"}, {integral: "grad2(u)/step"}]
unknowns: {a: {}, initial(u): {}}
output: {every: 0.25}
)yaml";

TEST(StepLength, HasExactDerivativesInWallsAndTerms) {
  Session session(text_case(walled), world(), Sensitivities::adjoint_and_tangent);
  const Evaluation base = session.gradient({});
  const UnknownValues direction = some_direction(session, 0.3);
  const double tangent = session.tangent(direction).second, adjoint = session.dot(base.gradient, direction);
  EXPECT_NEAR(tangent, adjoint, 1e-12 * std::fabs(adjoint));
  const UnknownValues start = session.simulation().values();
  const auto objective_at = [&](double e) {
    UnknownValues moved = start;
    for (std::size_t i = 0; i < moved.size(); ++i)
      for (std::size_t k = 0; k < moved[i].size(); ++k) moved[i][k] += e * direction[i][k];
    session.simulation().set_values(moved);
    return session.objective({});
  };
  const double e = 1e-4, difference = (objective_at(e) - objective_at(-e)) / (2 * e);  // the objective is quadratic
  EXPECT_NEAR(difference, adjoint, 1e-8 * std::fabs(adjoint));
  Session serial(text_case(walled), self(), Sensitivities::adjoint_and_tangent);
  session.simulation().set_values(start);
  expect_same_bits(session, session.gradient({}), serial.gradient({}));
}

}  // namespace
}  // namespace hindsight

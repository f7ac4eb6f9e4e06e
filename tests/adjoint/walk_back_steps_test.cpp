// Walking back over 100000 steps: the memory of a few states, and a gradient whose error is below what is accepted.
#include <fmt/format.h>

#include <cstdio>

#include "tests/support.hpp"

namespace hindsight {
namespace {

/// A wave that a source has made and that stays, between walls of both kinds and round an axis.
const std::string room = R"yaml(
case: room
grid:
  x: {cells: 24, to: 1.2, boundary: {lower: {value: 0}, upper: {slope: 0}}}
  y: {cells: 20, to: 1, boundary: periodic}
  order: 8
parameters: {c: {field: "1 + 0.2*sin(3*x)*cos(2*pi*y)"}, q: {series: {times: [0, 0.2, 0.4, 0.6, 2000], values: [0, 1, -1, 0, 0]}}}
state: {u: {initial: 0, rate: 0}}
equations: {dtt(u): "c^2*lap(u)"}
sources: [{to: u, signal: q, at: [0.41, 0.52], weights: sinc}]
time: {method: leapfrog, step: 0.02, to: 2000}
objective: [{integral: "u^2"}, {final: "u^2"}]
unknowns: {c: {}, q: {}}
)yaml";

TEST(WalkBack, GoesOverManyStepsInTheMemoryOfAFewStates) {
  constexpr double accepted = 1e-6;
  Session exact(test::text_case(room + "checkpoints: {schedule: revolve, host: 300 slots}\n"), test::self(),
                Sensitivities::adjoint);
  const Evaluation expected = exact.gradient({});
  for (const int slots : {1, 8}) {
    Session walked(
        test::text_case(
            room + fmt::format("checkpoints: {{schedule: walk-back, accept: {}, host: {} slots}}\n", accepted, slots)),
        test::self(), Sensitivities::adjoint);
    const Evaluation mine = walked.gradient({});
    EXPECT_EQ(walked.steps(), 100000);
    EXPECT_EQ(mine.counts.retreated, 99999);
    EXPECT_EQ(mine.counts.peak[index_of(Tier::host)], slots);
    const PlanInputs& inputs = walked.plan_inputs();
    const std::int64_t state = walked.simulation().state_bytes();
    EXPECT_LE(walked.plan().checkpoint_bytes(Tier::host, inputs), (slots + 1) * state);
    EXPECT_LE(walked.peak_bytes(Tier::host), inputs.working(Tier::host) + (slots + 1) * state);
    const double error = walked.relative_difference(mine.gradient, expected.gradient);
    std::printf("walked back 99999 steps from %d states kept: drift %.2g, error of the gradient %.2g, accepted %.2g\n",
                slots, walked.drift().value_or(-1.0), error, accepted);
    EXPECT_EQ(mine.objective, expected.objective);
    EXPECT_GT(*walked.drift(), 0.0);
    EXPECT_LT(*walked.drift(), accepted);
    EXPECT_LT(error, accepted);
  }
}

}  // namespace
}  // namespace hindsight

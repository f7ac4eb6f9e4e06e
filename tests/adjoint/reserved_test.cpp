// A gradient on a schedule that does not fit the simulation or what was reserved for it is refused before it begins.
#include "adjoint/problem/simulation.hpp"

#include "adjoint/problem/problem_text.hpp"
#include "adjoint/schedule/roles.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t steps = 40;

Simulation simulation_with(Simulation::Wants wants) {
  const Case c = test::text_case(
      "case: reserved\nparameters: {k: 0.8}\nstate: {u: {initial: 1}}\nequations: {dt(u): \"-k*u^2\"}\n"
      "time: {step: 0.125, to: 5}\nobjective: [{final: u}]\nunknowns: {k: {}}\n");
  return {read_problem(c), test::self(), wants};
}

Schedule revolve(std::int64_t n, std::int64_t slots) {
  return make_schedule(schedules().find("revolve"), {n, {{0, slots, 0}}});
}

template <class Work>
std::string refusal_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bug);
    return error.what();
  }
  return "";
}

TEST(Reserved, IsWhatASchedulesSlotsAreComparedWith) {
  Simulation simulation = simulation_with({.adjoint = true});
  const auto gradient = [&](const Schedule& schedule) {
    return refusal_of([&] { simulation.gradient(schedule, false, {}); });
  };
  EXPECT_EQ(gradient(revolve(steps, 4)), "no memory is reserved for checkpoints: Simulation::reserve_checkpoints()");
  simulation.reserve_checkpoints(4, {});
  EXPECT_EQ(gradient(revolve(steps, 4)), "");
  EXPECT_EQ(gradient(revolve(steps, 9)),
            "the checkpoint schedule needs 9 slots in the tier 'host', 4 are reserved: "
            "Simulation::reserve_checkpoints()");
  const ScheduleRequest on_disk{steps, {{0, 2, 9}}};
  EXPECT_NE(gradient(make_schedule(schedules().find("multistage"), on_disk)).find("slots in the tier 'disk', 0 are"),
            std::string::npos);
  for (const std::int64_t n : {steps - 1, steps + 1})
    EXPECT_NE(gradient(revolve(n, 4)).find("checkpoint schedule broken at action "), std::string::npos);
  EXPECT_EQ(gradient(revolve(steps, 4)), "");  // nothing was left behind
}

TEST(Reserved, SimulationsMadeWithoutDerivativesHaveNone) {
  Simulation plain = simulation_with({}), one_way = simulation_with({.adjoint = true});
  EXPECT_EQ(refusal_of([&] { plain.gradient(revolve(steps, 4), false, {}); }),
            "a gradient is asked of a simulation that was made without: Simulation::Wants::adjoint");
  EXPECT_EQ(refusal_of([&] { one_way.tangent(one_way.values()); }),
            "a tangent is asked of a simulation that was made without: Simulation::Wants::tangent");
}

}  // namespace
}  // namespace hindsight

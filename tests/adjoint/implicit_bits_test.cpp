// Implicit methods and jumps: one gradient, bit for bit, whatever the schedule, the tier and the number of ranks.
// ranks: 1 3
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// Members that differ in a field, with jumps that depend on unknowns and on a field.
const std::string ensemble = R"yaml(
case: ensemble
grid: {x: {cells: 13, to: 1, boundary: periodic}}
parameters: {a: 1.3, dose: 0.4, k: {field: "5 + 20*x"}}
state: {u: {initial: "1 + 0.1*x"}, v: {initial: "0.4"}}
equations: {dt(u): "a*u - u*v", dt(v): "k*(u^2 - v)"}
events: [{at: [0, 0.31, 0.9], set: {u: "u + dose*k/20", v: "0.9*v"}}]
objective: [{final: "u^2 + v"}, {integral: "u*v"}]
unknowns: {a: {}, dose: {}, k: {}, initial(u): {}}
)yaml";

class ImplicitBits : public ::testing::TestWithParam<const char*> {};

TEST_P(ImplicitBits, AreThoseOfEverySchedule) {
  const std::string time = "time: {to: 1.5, method: " + std::string(GetParam()) + ", ";
  for (const std::string& steps :
       {std::string("step: 0.04}\n"), std::string("tolerance: 1e-4, step: 0.001, at most: 500}\n")}) {
    const bool is_fixed = steps.starts_with("step");
    Session serial(test::text_case(ensemble + time + steps), test::self(), Sensitivities::adjoint);
    const Evaluation expected = serial.gradient({});
    EXPECT_NE(expected.gradient[1][0], 0.0);
    for (const auto& [schedule, tiers] : std::vector<std::pair<std::string, std::string>>{
             {is_fixed ? "revolve" : "online", "host: 5 slots"},
             {is_fixed ? "store-all" : "online", "host: 1 GiB"},
             {is_fixed ? "hrevolve" : "twolevel", "host: 3 slots, period: 6, disk: 120 slots"}}) {
      SCOPED_TRACE(time + steps + schedule + ", " + tiers);
      SessionOptions options;
      options.disk.scratch = testing::TempDir() + "bits";
      Session session(
          test::text_case(ensemble + time + steps + "checkpoints: {schedule: " + schedule + ", " + tiers + "}\n"),
          test::world(), Sensitivities::adjoint, options);
      const Evaluation mine = session.gradient({});
      EXPECT_EQ(session.plan().kind->name, schedule);
      test::expect_same_bits(session, mine, expected);
      test::expect_same_bits(session, session.gradient({}), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ImplicitBits, ::testing::Values("esdirk4", "rodas4", "bdf2"),
                         [](const auto& method) { return std::string(method.param); });

}  // namespace
}  // namespace hindsight

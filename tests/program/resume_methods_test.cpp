// A run of every method that is killed goes on with the same bits: steps of a fixed length, and as errors decide.
// label: long
#include <fmt/format.h>

#include "solvers/steppers/methods.hpp"
#include "tests/program/resumed_run.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

using namespace test;

/// With jumps, and as many members as it takes for some seconds.
std::string case_of(const std::string& time) {
  return R"yaml(
case: methods
grid: {x: {cells: 16000, to: 1}}
parameters: {a: 0.3, k: {field: "2 + x"}}
state: {u: {initial: "0.2 + 0.1*x"}, v: {initial: 0.4}}
equations:
  dt(u): {explicit: "-a*u*v", implicit: "u*(1 - u)"}
  dt(v): {explicit: "k*u^2 + 0.3*sin(3*t)", implicit: "-k*v"}
events: [{at: [0, 2, 4.5], set: {u: "u + a*(1 - u)"}}]
objective: [{final: "u^2"}, {integral: "u*v"}]
unknowns: {a: {}, k: {}}
checkpoints: {host: 20 slots}
time: {to: 8, )yaml" +
         time + "}\n";
}

class EveryMethod : public Resume, public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryMethod, GoesOnAfterAKill) {
  const Method& method = methods().find(GetParam());
  // For some seconds each: explicit steps are a hundred times cheaper.
  const bool is_implicit = method.uses_petsc;
  const std::string most = is_implicit ? "0.08" : "0.0005";
  const std::string tolerance = is_implicit ? "1e-3" : "1e-6";
  std::vector<std::string> times = {"method: " + method.name + ", step: " + most};
  if (method.estimates_errors)
    times.push_back("method: " + method.name + ", tolerance: " + tolerance + ", step: 1e-4, most: " + most);
  for (const std::string& time : times) {
    SCOPED_TRACE(time);
    write_text("case.yaml", case_of(time));
    std::filesystem::remove_all("whole");
    std::filesystem::remove_all("killed");
    ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
    ASSERT_TRUE(run_and_kill("gradient case.yaml --epoch 0.02s --out killed", "killed", 2)) << output();
    ASSERT_TRUE(run_and_kill("resume killed", "killed", 2) || run("resume killed") == 0) << output();
    EXPECT_EQ(run("resume killed"), 0) << output();
    EXPECT_EQ(answer("killed"), answer("whole"));
  }
}

/// On its way back from the last state, which is then where it goes on from; with what layers left on the way.
TEST_F(Resume, WalksOnBackAfterAKill) {
  for (const auto& [to, layers] : {std::pair(30, ""), std::pair(9, "absorb: {pml: 8, sides: [x.lower]}\n")}) {
    SCOPED_TRACE(layers);
    write_text("case.yaml", fmt::format(R"yaml(
case: walk
grid:
  x: {{cells: 160, to: 1.6, boundary: {{value: 0}}}}
  y: {{cells: 120, to: 1.2, boundary: periodic}}
  order: 8
parameters: {{c: {{field: "1 + 0.3*sin(3*x)"}}}}
state: {{u: {{initial: "exp(-40*((x - 0.7)^2 + (y - 0.5)^2))"}}}}
equations: {{dtt(u): "c^2*lap(u)"}}
time: {{method: leapfrog, step: 0.003, to: {}}}
objective: [{{final: "u^2"}}, {{integral: "u^4"}}]
unknowns: {{c: {{}}, rate(u): {{}}}}
checkpoints: {{schedule: walk-back, accept: 1e-9, host: 5 slots}}
{})yaml",
                                        to, layers));
    std::filesystem::remove_all("whole");
    std::filesystem::remove_all("killed");
    ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
    const nlohmann::json walked = json("whole/result.json")["walked_back"];
    const int steps = 1000 * to / 3 - 1;
    EXPECT_EQ(walked["steps"], steps);
    EXPECT_EQ(walked["accepted"], 1e-9);
    EXPECT_GT(walked["drift"], 0.0);
    EXPECT_NE(output().find(fmt::format("walked back {} steps; drift ", steps)), std::string::npos) << output();
    ASSERT_TRUE(run_and_kill("gradient case.yaml --epoch 0.02s --out killed", "killed", 2)) << output();
    for (int i = 0; i < 3; ++i) run_and_kill("resume killed", "killed", 2);
    EXPECT_EQ(*layers != '\0' ? run("resume killed --ranks 2", 2) : run("resume killed"), 0) << output();
    EXPECT_EQ(answer("killed"), answer("whole"));
    EXPECT_EQ(json("killed/result.json")["walked_back"], walked);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod, ::testing::ValuesIn(first_order_methods()));

}  // namespace
}  // namespace hindsight

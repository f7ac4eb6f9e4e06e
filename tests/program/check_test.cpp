// What `hindsight check` says of cases where right gradients were called wrong, and of broken ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/places.hpp"
#include "tests/program/program.hpp"
#include "tests/whole.hpp"

namespace hindsight {
namespace {

using namespace test;

const std::string burgers =
    std::string(test::source_folder()) + "/cases/burgers.yaml --set grid.x.cells=60 --set time.step=1e-3";

std::string folder() {
  const std::string path = testing::TempDir() + "check";
  std::filesystem::create_directories(path);
  return path;
}

std::string written(const std::string& name, const std::string& text) {
  const std::string file = folder() + "/" + name + ".yaml";
  std::ofstream(file) << text;
  return file;
}

/// @returns the exit code of a check.
int check(const std::string& arguments, int ranks = 1) {
  return run_command(command_line("check " + arguments + " --overwrite --out " + folder() + "/run", ranks) + " > " +
                     folder() + "/output.txt 2>&1");
}

std::string output() {
  return contents(folder() + "/output.txt");
}

/// The output has this text.
bool says(const std::string& text) {
  return output().find(text) != std::string::npos;
}

/// check.json's row of an unknown.
nlohmann::json row(const std::string& unknown) {
  const nlohmann::json all = nlohmann::json::parse(contents(folder() + "/run/check.json"));
  for (const nlohmann::json& one : all["unknowns"])
    if (one["unknown"] == unknown) return one;
  return {};
}

/// The gradient is exactly that of the steps, and yet none of the problem: its jumps move through the steps.
TEST(Check, SaysWhereStepsAreTooLongForTheirDerivatives) {
  const std::string oscillator = written("relaxation",
                                         "case: relaxation\nparameters: {mu: 10}\n"
                                         "state: {u: {initial: 2}, v: {initial: 0}}\n"
                                         "equations: {dt(u): v, dt(v): \"mu*(1 - u^2)*v - u\"}\n"
                                         "time: {method: dopri5, tolerance: 1e-4, to: 60}\n"
                                         "objective: [{final: u}]\nunknowns: {mu: {}}\n");
  const auto away = [] {
    const nlohmann::json all = nlohmann::json::parse(contents(folder() + "/run/check.json"));
    return all["beside_a_tenth_of_the_tolerance"][0].get<double>();
  };
  EXPECT_EQ(check(oscillator), 0) << output();
  EXPECT_TRUE(says("the gradient is right")) << output();
  EXPECT_TRUE(says("say little of the problem")) << output();
  EXPECT_GT(away(), 1.0);
  EXPECT_EQ(check(oscillator + " --set time.method=rodas4 time.tolerance=1e-6", 2), 0) << output();
  EXPECT_TRUE(says("beside the steps of a tenth of time.tolerance, relative: mu ")) << output();
  EXPECT_FALSE(says("say little of the problem")) << output();
  EXPECT_LT(away(), 1e-2);
}

TEST(Check, SaysWhatIsBrokenAndBy) {
  EXPECT_EQ(check(burgers + " --break-gradient nu:1e-6"), 4) << output();
  EXPECT_TRUE(says("the gradient is WRONG")) << output();
  EXPECT_TRUE(says("nu: the adjoint gives 0.1")) << output();
  EXPECT_TRUE(says("1.0e-06 apart, round-off allows 2.3e-13; differences of runs agree with the tangent model"))
      << output();
  EXPECT_EQ(row("nu")["verdict"], "WRONG");
  EXPECT_EQ(row("initial(u)")["verdict"], "ok");
  for (const char* part : {"steps:1e-6", "integrals:-1e-6", "'initial(u):1e-6'"})
    EXPECT_EQ(check(burgers + " --break-gradient " + part), 4) << part << "\n" << output();
  EXPECT_EQ(check(burgers + " --break-gradient inital:1e-6"), 2) << output();
  EXPECT_EQ(check(burgers + " --break-gradient steps"), 2) << output();
}

/// Round-off and what differences can be off by, as asked for, beside what was seen.
TEST(Check, NamesWhatIsAllowedAndSeen) {
  EXPECT_EQ(check(burgers), 0) << output();
  EXPECT_TRUE(says("the gradient is right\n")) << output();
  for (const char* with : {"tangent_against_adjoint", "differences_against_adjoint"}) {
    const nlohmann::json comparison = row("nu")[with];
    EXPECT_LT(comparison["seen"], comparison["allowed"]);
    EXPECT_LT(comparison["allowed"], 1e-7);
  }
  EXPECT_GT(row("nu")["order"], 1.9);
}

/// An objective that is nearly linear in an unknown tells no order.
TEST(Check, NearlyLinearUnknownsPassUnlessBroken) {
  for (const char* curvature : {"1e-5", "1e-10"}) {
    const std::string file = written("nearly", R"yaml(
case: nearly
parameters: {a: 1e-4, b: 1.0}
state: {u: {initial: 1}}
equations: {dt(u): "b*0.5 + a*u^2 + )yaml" + std::string(curvature) +
                                                   R"yaml(*b^2"}
time: {step: 0.01, to: 0.9}
objective: [{final: u}]
unknowns: {a: {}, b: {}}
)yaml");
    EXPECT_EQ(check(file), 0) << curvature << "\n" << output();
    EXPECT_EQ(check(file + " --break-gradient all:1e-3"), 4) << curvature << "\n" << output();
  }
}

/// Near the minimum, at p = 1, the second derivative is all that runs show.
TEST(Check, GradientsNearAMinimumAreRight) {
  const std::string file = written("minimum", R"yaml(
case: minimum
parameters: {p: 1.00005}
state: {u: {initial: p}}
equations: {dt(u): "-u"}
time: {method: rk4, step: 0.1, to: 1}
objective: [{final: "(u - 0.36787977441249844)^2"}]
unknowns: {p: {}}
)yaml");
  for (const char* p : some_of({"1.1", "1.00005", "1.00001", "1.0000001", "1.000000000001", "1", "0.999999"},
                               {"1.1", "1.00001", "1.000000000001", "1"})) {
    EXPECT_EQ(check(file + " --set parameters.p=" + p), 0) << p << "\n" << output();
    EXPECT_TRUE(says("the gradient is right\n")) << p << "\n" << output();
    EXPECT_EQ(check(file + " --break-gradient p:1e-6 --set parameters.p=" + p), 4) << p << "\n" << output();
  }
}

/// Two hundred thousand steps round the same way often enough to differ by more than 1e-12.
TEST(Check, ManyStepsMayRoundOffMore) {
  const std::string file = written("robertson", R"yaml(
case: robertson
parameters: {k1: 0.04, k2: 3e7, k3: 1e4}
state: {A: {initial: 1}, B: {initial: 0}, C: {initial: 0}}
equations:
  dt(A): "-k1*A + k3*B*C"
  dt(B): "k1*A - k3*B*C - k2*B^2"
  dt(C): "k2*B^2"
time: {method: dopri5, step: 2e-4, to: 40}
objective: [{final: C}]
unknowns: {k1: {}, k2: {}, k3: {}}
)yaml");
  EXPECT_EQ(check(file), 0) << output();
  EXPECT_GT(row("k1")["tangent_against_adjoint"]["seen"], 1e-12);
  EXPECT_LT(row("k1")["tangent_against_adjoint"]["allowed"], 1e-9);
  EXPECT_EQ(check(file + " --break-gradient k1:1e-6"), 4) << output();
}

/// Limiters of a shock tube: many kinks around, and where the flow is at rest kinks at the values of the case.
TEST(Check, KinksOfLimitersAreNoMistakes) {
  const std::string file = written("shock-tube", R"yaml(
case: shock-tube
grid:
  x: {cells: 100, to: 1, boundary: {slope: 0}}
parameters: {gamma: 1.4, pl: 1.0, cell: 0.01}
state:
  rho: {initial: "where(x < 0.5, 1, 0.125)"}
  m: {initial: 0}
  E: {initial: "where(x < 0.5, pl, 0.1)/(gamma - 1)"}
functions:
  east(a): "a + cell*dx(a) + 0.5*cell^2*dxx(a)"
  west(a): "a - cell*dx(a) + 0.5*cell^2*dxx(a)"
  minmod(a, b): "where(a*b > 0, where(abs(a) < abs(b), a, b), 0)"
  slope(a): "minmod(a - west(a), east(a) - a)"
  p(rho, m, E): "(gamma - 1)*(E - 0.5*m^2/rho)"
  speed(rho, m, E): "abs(m/rho) + sqrt(gamma*p(rho, m, E)/rho)"
  L(a): "a + 0.5*slope(a)"
  R(a): "east(a - 0.5*slope(a))"
  lam(rho, m, E): "max(speed(rho, m, E), east(speed(rho, m, E)))"
  frho(rho, m, E): "0.5*(L(m) + R(m)) - 0.5*lam(rho, m, E)*(R(rho) - L(rho))"
  fm(rho, m, E): "0.5*(L(m)^2/L(rho) + p(L(rho), L(m), L(E)) + R(m)^2/R(rho) + p(R(rho), R(m), R(E))) - 0.5*lam(rho, m, E)*(R(m) - L(m))"
  fE(rho, m, E): "0.5*(L(m)/L(rho)*(L(E) + p(L(rho), L(m), L(E))) + R(m)/R(rho)*(R(E) + p(R(rho), R(m), R(E)))) - 0.5*lam(rho, m, E)*(R(E) - L(E))"
equations:
  dt(rho): "-(frho(rho, m, E) - west(frho(rho, m, E)))/cell"
  dt(m): "-(fm(rho, m, E) - west(fm(rho, m, E)))/cell"
  dt(E): "-(fE(rho, m, E) - west(fE(rho, m, E)))/cell"
time: {method: ssprk3, step: 0.002, to: 0.2}
objective: [{final: "(rho - 0.4)^2"}]
unknowns: {pl: {}, gamma: {}, initial(rho): {}}
)yaml");
  EXPECT_EQ(check(file), 0) << output();
  EXPECT_TRUE(says("kink")) << output();
  EXPECT_TRUE(says("the gradient is right")) << output();
  EXPECT_EQ(row("initial(rho)")["verdict"], "kink");
  EXPECT_EQ(row("pl")["tangent_against_adjoint"]["verdict"], "ok");
  for (const char* part : some_of({"pl:1e-6", "'initial(rho):1e-6'", "steps:1e-6"}, {"'initial(rho):1e-6'"}))
    EXPECT_EQ(check(file + " --break-gradient " + part), 4) << part << "\n" << output();
}

/// A kink in one unknown, at its value: both sides are named.
TEST(Check, AKinkAtTheValuesIsNamedWithItsSides) {
  const std::string file = written("kink", R"yaml(
case: kink
parameters: {p: 2}
state: {u: {initial: 1}}
equations: {dt(u): "0*u"}
time: {step: 0.5, to: 1}
objective: [{final: "max(p, 2)*u + 3*p"}]
unknowns: {p: {}}
)yaml");
  EXPECT_EQ(check(file), 0) << output();
  EXPECT_NEAR(row("p")["ahead"].get<double>() - row("p")["behind"].get<double>(),
              row("p")["adjoint"].get<double>() / 3.0, row("p")["adjoint"].get<double>() / 11.0);
  EXPECT_TRUE(says("p: the objective has a kink here")) << output();
  EXPECT_TRUE(says("the gradient is right, at kinks that of the branches taken")) << output();
}

/// The derivative of |x| at 0 is taken to be 0, the mean of both sides.
TEST(Check, AGradientBetweenTheSidesOfAKinkIsNotCalledRight) {
  const std::string file = written("corner", R"yaml(
case: corner
parameters: {a: 0.5}
state: {u: {initial: a}}
equations: {dt(u): "-u"}
time: {step: 0.1, to: 1}
objective: [{final: "abs(a - 0.5) + u^2"}]
unknowns: {a: {}}
)yaml");
  EXPECT_EQ(check(file), 0) << output();
  EXPECT_EQ(row("a")["verdict"], "kink") << output();
  EXPECT_NEAR(row("a")["ahead"].get<double>() + row("a")["behind"].get<double>(), 2 * row("a")["adjoint"].get<double>(),
              1e-6);
  EXPECT_TRUE(says("a: the objective has a kink here")) << output();
  EXPECT_TRUE(says("which lies between the two")) << output();
  EXPECT_TRUE(says("the gradient is right where the objective has one")) << output();
  EXPECT_EQ(check(file + " --set parameters.a=0.6"), 0) << output();
  EXPECT_EQ(row("a")["verdict"], "ok") << output();
}

/// An objective whose round-off is larger than what the unknown changes.
TEST(Check, WhatCannotBeToldIsSaidWithItsFigure) {
  const std::string file = written("hidden", R"yaml(
case: hidden
parameters: {p: 1}
state: {u: {initial: p}}
equations: {dt(u): "-u"}
time: {step: 0.1, to: 1}
objective: [{final: "1e16 + u"}]
unknowns: {p: {}}
)yaml");
  EXPECT_EQ(check(file), 0) << output();
  EXPECT_TRUE(says("differences of runs against adjoint cannot be told here: they are known to")) << output();
  EXPECT_TRUE(says("the gradient is right as far as it can be told here")) << output();
  EXPECT_EQ(row("p")["verdict"], "cannot be told");
  EXPECT_EQ(check(file + " --break-gradient p:1e-6"), 4) << output();
}

}  // namespace
}  // namespace hindsight

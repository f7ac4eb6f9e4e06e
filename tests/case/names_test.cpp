// Names that are free where they mean nothing, names that everybody can read, and numbers that are written as
// expressions.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numbers>

#include "io/case/case.hpp"
#include "io/case/csv.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/equations/print.hpp"

namespace hindsight {
namespace {

Case read(const std::string& text, const std::vector<std::string>& set = {}) {
  return parse_case("names.yaml", text, set);
}

std::string right_hand_side(const std::string& text, std::size_t field = 0) {
  return to_text(read_problem(read(text)).model.right_hand_sides[field]);
}

TEST(Names, LorenzMayCallItsStatesXYZ) {
  const std::string lorenz = R"yaml(
case: lorenz
parameters: {sigma: 10, rho: 28, beta: 8/3}
state: {x: {initial: 1}, y: {initial: 1}, z: {initial: 1}}
equations: {dt(x): "sigma*(y - x)", dt(y): "x*(rho - z) - y", dt(z): "x*y - beta*z"}
time: {step: 0.01, to: 1}
objective: [{final: "x + y + z"}, {misfit: {of: x, data: DATA}}]
unknowns: {initial(x): {}, beta: {}}
)yaml";
  const std::string data = testing::TempDir() + "lorenz.csv";
  std::ofstream(data) << "time,x\n0.5,1\n";
  std::string text = lorenz;
  text.replace(text.find("DATA"), 4, data);
  EXPECT_EQ(right_hand_side(text), "sigma*(y - x)");
  EXPECT_EQ(read(text).parameters[2].value, 8.0 / 3.0);
}

TEST(Names, ShallowWaterMayCallItsDepthH) {
  const std::string water = R"yaml(
case: water
grid: {x: {cells: 16, to: 4}}
parameters: {g: 9.81}
state: {h: {initial: "1 + 0.1*exp(-x^2)"},
    u : {initial : 0}, y : {initial : 0}, z : {
initial:
  0
}
}
equations: {dt(h): "-dx(h*u)", dt(u): "-g*dx(h) - u*dx(u)", dt(y): "h*z", dt(z): "-y"}
time: {step: 0.001, to: 0.1}
)yaml";
  EXPECT_EQ(right_hand_side(water, 2), "h*z");  // an axis that the grid lacks has no coordinate
  std::string parameter = water;
  parameter.replace(parameter.find("g: 9.81"), 7, "g: 9.81, h0: 2, X: 1");
  EXPECT_NO_THROW(read_problem(read(parameter)));
}

const std::string line = R"yaml(
case: line
grid: {x: {cells: 10, from: 1, to: 2}, y: {cells: 4, to: 1}}
PARAMETERS
state: {u: {initial: "hx + hy"}}
equations: {dt(u): "u*step + a"}
time: {step: 0.01, to: 1}
objective: [{final: "u*step/hx"}, {integral: "u*hy"}]
)yaml";

std::string with(const std::string& parameters, const std::string& right) {
  std::string text = line;
  text.replace(text.find("PARAMETERS"), 10, parameters);
  text.replace(text.find("u*step + a"), 10, right);
  return text;
}

TEST(Names, CellSizesAndTheStepAreReadable) {
  const SimulationSpec spec = read_problem(read(with("", "u*step + hx*hy")));
  EXPECT_EQ(to_text(spec.model.right_hand_sides[0]), "0.025 + u*step");
  EXPECT_TRUE(spec.initial[0].is_constant(0.1 + 0.25));
  const std::string field = "parameters: {k: {field: \"x/hx\"}}";
  EXPECT_NO_THROW(read_problem(read(with(field, "u*k"))));
}

TEST(Names, OwnNamesGoBeforeThoseOfCellsAndSteps) {
  const std::string own = "parameters: {hx: 3, hy: 0.5, step: 0.25}";
  EXPECT_EQ(right_hand_side(with(own, "u*step + hx")), "u*step + hx");
  EXPECT_EQ(read_problem(read(with(own, "u*step"))).model.graph->scalar_index(step_length), -1);
  const std::string function = "functions: {\"step(s)\": \"where(s > 0, 1, 0)\", \"f(hx)\": \"2*hx\"}";
  std::string text = with(function, "u*step(u) + f(u)");
  text.replace(text.find("u*step/hx"), 9, "u/hx");
  EXPECT_EQ(right_hand_side(text), "where(0 < u, u, 0) + 2*u");
}

TEST(Names, FunctionsWithoutArgumentsHaveParentheses) {
  const std::string functions = "functions: {\"source()\": \"sin(t)*x\", \"twice( )\": \"2*source()\"}";
  EXPECT_EQ(right_hand_side(with(functions, "u + twice()")), "u + 2*(sin(t)*x)");
}

/// Wherever a number is asked for; the texts stay in the resolved case.
TEST(Numbers, MayBeExpressions) {
  const std::string text = R"yaml(
case: numbers
grid: {x: {cells: 2^5/2, from: -pi, to: 2*pi/2, boundary: {value: 0}}}
parameters: {a: 8/3, b: {value: 1e-3*5}, q: {series: {times: [0, 1/3, 2/3], values: [sqrt(4), 2/4, -1/4]}}}
state: {u: {initial: 1}}
equations: {dt(u): "-a*u + b*q"}
time: {step: 1/64, from: -1/2, to: 3*0.5}
objective: [{final: "u^2", weight: 1/4}]
unknowns: {a: {bounds: [1/2, 2*pi], prior: {mean: 5/2, sd: 1/8}}}
checkpoints: {schedule: periodic, period: 6/2, host: {size: 1/2 GiB, codec: zfp, tolerance: 1/1024},
              disk: {size: 2*8 slots, queue: 4/2}}
inversion: {iterations: 10*2, gradient: 1e-6/2, relative: 1/100}
output: {every: 1/4}
)yaml";
  const Case c = read(text, {"parameters.b=2*pi/24"});
  EXPECT_EQ(c.grid->axes[0].cells, 16);
  EXPECT_EQ(c.grid->axes[0].from, -std::numbers::pi);
  EXPECT_EQ(c.grid->axes[0].to, std::numbers::pi);
  EXPECT_EQ(c.parameters[0].value, 8.0 / 3.0);
  EXPECT_EQ(c.parameters[1].value, 2 * std::numbers::pi / 24);
  EXPECT_EQ(c.parameters[2].times, (std::vector<double>{0, 1.0 / 3, 2.0 / 3}));
  EXPECT_EQ(c.parameters[2].values, (std::vector<double>{2, 0.5, -0.25}));
  EXPECT_EQ(c.time.step, 1.0 / 64);
  EXPECT_EQ(c.time.from, -0.5);
  EXPECT_EQ(c.time.to, 1.5);
  EXPECT_EQ(c.objective[0].weight, 0.25);
  EXPECT_EQ(c.assumptions[0].lower, 0.5);
  EXPECT_EQ(c.assumptions[0].upper, 2 * std::numbers::pi);
  EXPECT_EQ(c.assumptions[0].prior->mean, 2.5);
  EXPECT_EQ(c.assumptions[0].prior->sd, 0.125);
  EXPECT_EQ(c.checkpoints.period, 3);
  EXPECT_EQ(c.checkpoints.host->amount, std::int64_t{1} << 29U);
  EXPECT_EQ(c.checkpoints.host_codec.tolerance, 1.0 / 1024);
  EXPECT_EQ(c.checkpoints.disk->amount, 16);
  EXPECT_EQ(c.checkpoints.queue, 2);
  EXPECT_EQ(c.inversion->iterations, 20);
  EXPECT_EQ(c.inversion->gradient, 5e-7);
  EXPECT_EQ(c.inversion->relative, 0.01);
  EXPECT_EQ(c.time.land_every, 0.25);
  for (const char* kept : {"8/3", "2*pi/24", "1/64", "2^5/2"})
    EXPECT_NE(c.resolved.find(kept), std::string::npos) << kept;
  EXPECT_EQ(parse_case("again.yaml", c.resolved, {}).time.step, c.time.step);
}

TEST(Numbers, OfAnEndMayBeExpressions) {
  const SimulationSpec spec = read_problem(read(R"yaml(
case: until
state: {u: {initial: 1}}
equations: {dt(u): "-u"}
time: {step: 0.1, until: "norm(u) < 1/8", at most: 2^4}
)yaml"));
  EXPECT_EQ(spec.until->limit, 0.125);
  EXPECT_EQ(spec.to, 16 * 0.1);
}

TEST(Texts, MayBeginWithAByteOrderMark) {
  const std::string mark = "\xef\xbb\xbf", path = testing::TempDir() + "marked";
  EXPECT_EQ(
      read(mark + "case: marked\nstate: {u: {initial: 1}}\nequations: {dt(u): 0}\ntime: {step: 0.1, to: 1}\n").name,
      "marked");
  std::ofstream(path) << mark << "time,value\n0.5,1\n";
  EXPECT_EQ(Table(path).numbers("time"), std::vector<double>{0.5});
}

TEST(Texts, MayMarkTheirBeginAndEnd) {
  const std::string text = "case: marked\nstate: {u: {initial: 1}}\nequations: {dt(u): 0}\ntime: {step: 0.1, to: 1}\n";
  for (const std::string& marked :
       {"%YAML 1.2\n---\n" + text, "# first\n--- # begins\n" + text + "...\n# last\n", text + "...\n"})
    EXPECT_EQ(read(marked).name, "marked") << marked;
}

}  // namespace
}  // namespace hindsight

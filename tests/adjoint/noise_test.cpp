// ranks: 1 2 3
// ranks of --long: 4
// Random forcing: the same bits on every number of ranks and in every replay, and an exact gradient.
#include <cmath>
#include <map>
#include <set>

#include "runtime/emulated/emulated_device.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

const std::map<std::string, std::string> cases = {{"ode", R"yaml(
parameters: {k: 0.4, s: 0.3, u0: 0.5}
state: {u: {initial: "u0 + 0.1*noise(3, 0)"}, w: {initial: 1}}
equations: {dt(u): "-k*u*w + s*noise(1, 0)", dt(w): "u - w + s*w*uniform(1, 0)"}
time: {method: rk4, step: 0.05, to: 3}
objective: [{final: "u*w"}, {integral: "u*noise(1, 0)"}]
unknowns: {k: {}, s: {}, u0: {}, initial(w): {}}
)yaml"},
                                                  {"line", R"yaml(
grid: {x: {cells: 41, to: 1}}
parameters: {nu: 0.02, s: 0.5, xi: {field: "1 + 0.1*noise(5, 1)"}}
state: {u: {initial: "sin(2*pi*x)*(1 + s*noise(1, 0))"}}
equations: {dt(u): "-u*dx(u) + nu*dxx(u) + xi*dx(s*u*noise(1, 0)) + noise(1, 1)"}
time: {method: ssprk3, step: 2e-3, to: 0.08}
objective: [{final: "(u - 0.1*noise(2, 0))^2"}, {integral: "u*dx(noise(1, 1))*0.01"}]
unknowns: {nu: {}, s: {}, xi: {}, initial(u): {}}
)yaml"},
                                                  {"walls", R"yaml(
grid:
  x: {cells: 16, to: 1, boundary: {value: 0.2}}
  y: {cells: 19, to: 1.1, boundary: {slope: "0.1*x"}}
parameters: {D: 0.01, s: 0.5}
state: {u: {initial: "sin(pi*x) + 0.2*uniform(7, 0)"}}
equations: {dt(u): "div((D + 0.01*u^2)*grad(u*(1 + s*noise(1, 0)))) + exp(s*u)*noise(1, 1)"}
time: {method: rk4, step: 4e-3, to: 0.12}
objective: [{final: "u^2"}, {integral: "grad2(u*noise(1, 0))*0.1"}]
unknowns: {D: {}, s: {}, initial(u): {}}
)yaml"},
                                                  {"box", R"yaml(
grid: {x: {cells: 8, to: 1}, y: {cells: 9, to: 1, boundary: {value: 0}}, z: {cells: 10, to: 1}, order: 4}
parameters: {c: 0.3, s: 0.2}
state: {u: {initial: "sin(2*pi*x)*cos(2*pi*z)"}, v: {initial: "noise(0, 4294967295)"}}
equations: {dt(u): "-c*upwind(1 + v^2, u, z) + 0.01*lap(u) + s*noise(9, 0)", dt(v): "dx(u*noise(9, 1)) - c*v"}
time: {method: dopri5, step: 0.01, to: 0.2}
objective: [{final: "u^2 + v^2"}]
unknowns: {c: {}, s: {}, initial(u): {}, initial(v): {}}
)yaml"}};

Case noisy(const std::string& name, const std::vector<std::string>& set = {}) {
  return test::text_case("case: " + name + cases.at(name), set);
}

class NoisyCase : public ::testing::TestWithParam<const char*> {};

/// Made there, ghosts included, whatever the order of blocks and threads.
TEST_P(NoisyCase, HasTheHostsBitsOnADevice) {
  const Case c = noisy(GetParam());
  const Evaluation expected = Session(c, test::world(), Sensitivities::adjoint).gradient({});
  for (const emulated::Order order : {emulated::Order::forwards, emulated::Order::backwards}) {
    SessionOptions options;
    options.machine = emulated::open_machine({.order = order});
    const Evaluation found = Session(c, test::world(), Sensitivities::adjoint, options).gradient({});
    EXPECT_EQ(found.objective, expected.objective);
    EXPECT_EQ(found.gradient, expected.gradient);
  }
}

TEST_P(NoisyCase, HasTheSameBitsForAllRanksAndSchedules) {
  Session alone(noisy(GetParam(), {"checkpoints.schedule=store-all"}), test::self(), Sensitivities::adjoint);
  const Evaluation reference = alone.gradient({});
  for (const double d : reference.gradient[1]) EXPECT_NE(d, 0.0) << "the strength of the noise has no effect";
  for (const auto& [schedule, host] : std::vector<std::pair<std::string, std::string>>{{"store-all", "1 GiB"},
                                                                                       {"revolve", "1 slots"},
                                                                                       {"revolve", "4 slots"},
                                                                                       {"uniform", "20 slots"},
                                                                                       {"cams", "9 slots"},
                                                                                       {"online", "12 slots"}}) {
    SCOPED_TRACE(schedule + " " + host);
    Session session(noisy(GetParam(), {"checkpoints.schedule=" + schedule, "checkpoints.host=" + host}), test::world(),
                    Sensitivities::adjoint);
    test::expect_same_bits(session, session.gradient({}), reference);
  }
}

TEST_P(NoisyCase, HasARightGradient) {
  Session session(noisy(GetParam(), {"checkpoints.schedule=revolve", "checkpoints.host=6 slots"}), test::world(),
                  Sensitivities::adjoint_and_tangent);
  test::expect_right_gradient(session, 4e-3);
}

INSTANTIATE_TEST_SUITE_P(Noise, NoisyCase, ::testing::Values("ode", "line", "walls", "box"),
                         [](const auto& test_case) { return std::string(test_case.param); });

/// Final values of the first field of a run on one rank.
std::vector<double> final_values(const std::string& text) {
  Session session(test::text_case("case: forced" + text + "objective: [{final: u}]\nunknowns: {initial(u): {}}\n"),
                  test::self(), Sensitivities::none);
  std::vector<double> last;
  const Grid& grid = session.simulation().grid();
  session.simulation().run(
      {[&](std::int64_t, double, double* state) { last = unpadded(grid, grid.field_of(state, 0, Element::float64)); }});
  return last;
}

const std::string square = "\ngrid: {x: {cells: 32, to: 1}, y: {cells: 32, to: 1}}\n";

// With dt(u) = noise, u at the end is the sum of h * noise over the steps, for any method: constant over all stages.
TEST(Noise, IsConstantWithinAStepAndNewInTheNext) {
  const std::string rest = "state: {u: {initial: 0}}\nequations: {dt(u): \"noise(4, 2)\"}\n";
  const auto end = [&](const std::string& time) { return final_values(square + rest + "time: " + time + "\n"); };
  const std::vector<double> euler = end("{method: euler, step: 0.125, to: 1}");
  for (const char* method : {"rk4", "heun", "dopri5"}) {
    const std::vector<double> other = end(std::string("{method: ") + method + ", step: 0.125, to: 1}");
    for (std::size_t i = 0; i < euler.size(); ++i) EXPECT_NEAR(other[i], euler[i], 1e-14);
  }
  double square_sum = 0.0;
  for (const double v : euler) square_sum += v * v;
  const auto cells = static_cast<double>(euler.size());
  EXPECT_NEAR(square_sum / cells, 0.125, 5 * 0.125 * std::sqrt(2 / cells)) << "8 independent steps";
}

TEST(Noise, InInitialValuesAndParameterFieldsIsTheSameAndDependsOnTheCellOnly) {
  const auto start = [&](const std::string& parameters, const std::string& initial, const std::string& h) {
    return final_values(square + parameters + "state: {u: {initial: \"" + initial +
                        "\"}}\nequations: {dt(u): 0}\ntime: {step: " + h + ", to: 1}\n");
  };
  const std::vector<double> a = start("", "noise(4, 2)", "0.5");
  EXPECT_EQ(a, start("parameters: {q: {field: \"noise(4, 2)\"}}\n", "q", "0.25"));
  EXPECT_NE(a, start("", "noise(4, 3)", "0.5"));
  EXPECT_NE(a, start("", "noise(2, 4)", "0.5"));
  EXPECT_NE(a, start("", "uniform(4, 2)", "0.5"));
  EXPECT_EQ(a.size(), std::set<double>(a.begin(), a.end()).size()) << "all cells differ";
}

TEST(Noise, NeighboursAcrossPeriodicSidesAndWallsAreThoseOfParameterFields) {
  for (const char* boundary : {"periodic", "{slope: 0}"}) {
    const std::string text = std::string("\ngrid: {x: {cells: 12, to: 1, boundary: ") + boundary +
                             "}, y: {cells: 10, to: 1, boundary: " + boundary + "}, order: 4}\n";
    const std::string field = "parameters: {q: {field: \"uniform(4, 2)\"}}\n";
    const auto end = [&](const std::string& e) {
      return final_values(text + field + "state: {u: {initial: 0}}\nequations: {dt(u): \"" + e +
                          "\"}\ntime: {method: euler, step: 1, to: 1}\n");
    };
    // Noise of a step cannot be had as a field; what its derivative adds up to can.
    const auto sum = [](const std::vector<double>& v) {
      double s = 0.0;
      for (const double x : v) s += x;
      return s;
    };
    EXPECT_NEAR(sum(end("lap(q)")), 0.0, 1e-9);
    EXPECT_NEAR(sum(end("lap(uniform(4, 2))")), 0.0, 1e-9);
    EXPECT_NEAR(sum(end("div(grad(noise(1, 0)))")), 0.0, 1e-9);
  }
}

}  // namespace
}  // namespace hindsight

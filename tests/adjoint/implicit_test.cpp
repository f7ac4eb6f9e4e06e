// Implicit methods with dense systems: exact gradients, the same bits everywhere, and clear failures.
// ranks: 1 2
// ranks of --long: 3
#include <fmt/format.h>

#include <cmath>

#include "solvers/steppers/implicit/methods.hpp"
#include "tests/adjoint/known_end.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// Not autonomous, with a rate that is a series; stiff where `fast` is large.
const std::string ode = R"yaml(
case: implicit
parameters: {a: 1.3, fast: 20, q: {series: {times: [0, 1, 3], values: [1, 0.6, 1.2]}}}
state: {u: {initial: "1"}, v: {initial: "0.4"}, w: {initial: "0.1"}}
equations:
  dt(u): {explicit: "a*u - u*v*q"}
  dt(v): {explicit: "u*v - v", implicit: "0.1*sin(3*t)"}
  dt(w): {implicit: "fast*(cos(u*t) - w) - w^3"}
objective: [{final: "u^2 + v + w"}, {integral: "u*v*w"}]
unknowns: {a: {}, fast: {}, q: {}, initial(u): {}}
)yaml";

/// Members that differ in a field.
const std::string ensemble = R"yaml(
case: ensemble
grid: {x: {cells: 13, to: 1, boundary: periodic}}
parameters: {a: 1.3, k: {field: "5 + 20*x"}}
state: {u: {initial: "1 + 0.1*x"}, v: {initial: "0.4"}}
equations: {dt(u): {explicit: "a*u - u*v"}, dt(v): {implicit: "k*(u^2 - v)"}}
objective: [{final: "u^2 + v"}, {integral: "u*v"}]
unknowns: {a: {}, k: {}, initial(u): {}}
)yaml";

const std::string plane = R"yaml(
case: plane
grid: {x: {cells: 7, to: 1, boundary: periodic}, y: {cells: 6, to: 1, boundary: periodic}}
parameters: {a: 1.3, k: {field: "5 + 20*x*y"}}
state: {u: {initial: "1 + 0.1*x"}, v: {initial: "0.4"}}
equations: {dt(u): {explicit: "a*u - u*v"}, dt(v): {implicit: "k*(u^2 - v)"}}
objective: [{final: "u^2 + v"}]
unknowns: {a: {}, k: {}}
)yaml";

std::string fixed(const std::string& method, double step = 0.06) {
  return "time: {method: " + method + ", step: " + std::to_string(step) + ", to: 1.5}\n";
}

/// Few steps are allowed because checkpoints are allocated, and zeroed, for all of them.
std::string adaptive(const std::string& method, const std::string& tolerance = "1e-4") {
  return "time: {method: " + method + ", tolerance: " + tolerance + ", step: 0.001, to: 1.5, at most: 2000}\n";
}

/// @returns the time sections to try: steps of a fixed length, and as errors decide.
std::vector<std::string> times_of(const Method& method) {
  std::vector<std::string> all = {fixed(method.name)};
  if (method.has_theta) all.push_back("time: {method: theta, theta: 0.7, step: 0.06, to: 1.5}\n");
  if (method.estimates_errors) all.push_back(adaptive(method.name));
  return all;
}

TEST(Implicit, GradientsAreThoseOfTheStepsTaken) {
  for (const Method& method : implicit_methods())
    for (const std::string& time : times_of(method))
      for (const std::string& text : {ode, ensemble, plane}) {
        Session session(test::text_case(text + time), test::world(), Sensitivities::adjoint_and_tangent);
        session.gradient({});
        session.simulation().fix_end();
        SCOPED_TRACE(time + text.substr(0, 20));
        test::expect_right_gradient(session, 2.5e-4, 1e-11);
      }
}

TEST(Implicit, HaveOneHashWhateverTheCheckpointsAndTheRanks) {
  for (const Method& method : implicit_methods())
    for (const std::string& time : times_of(method))
      for (const std::string& text : {ode, ensemble}) {
        SCOPED_TRACE(time + text.substr(0, 20));
        Session serial(test::text_case(text + time), test::self(), Sensitivities::adjoint);
        const Evaluation expected = serial.gradient({});
        for (const char* host : {"1 GiB", "9 slots", "2 slots"}) {
          Session session(test::text_case(text + time + "checkpoints: {host: " + host + "}\n"), test::world(),
                          Sensitivities::adjoint);
          test::expect_same_bits(session, session.gradient({}), expected);
          EXPECT_EQ(session.objective({}), expected.objective);
        }
      }
}

/// Linear equations show nothing to estimates that cancel there.
TEST(Implicit, EstimatesSeeErrorsOfLinearEquations) {
  for (const Method& method : implicit_methods()) {
    if (!method.estimates_errors) continue;
    for (const char* const tolerance : {"1e-4", "1e-7"}) {
      Session session(test::text_case(fmt::format(
                          "case: linear\nstate: {{u: {{initial: 1}}}}\nequations: {{dt(u): {{implicit: \"-u\"}}}}\n"
                          "objective: [{{final: u}}]\n"
                          "time: {{method: {}, tolerance: {}, to: 1}}\n",
                          method.name, tolerance)),
                      test::self(), Sensitivities::none);
      EXPECT_NEAR(session.objective({}), std::exp(-1.0), 10 * std::stod(tolerance)) << method.name;
    }
  }
}

/// Factors of the last recorded step are those that its reversal computes: of no other step, and no other parameters.
TEST(Implicit, FactorsThatAreKeptAreThoseOfTheStep) {
  for (const std::string method : {"ros3p", "rodas4"})
    for (const std::string checkpoints : {"", "checkpoints: {host: 2 slots}\n"}) {
      const Case text = test::text_case(ode + fixed(method) + checkpoints);
      Session once(text, test::self(), Sensitivities::adjoint_and_tangent);
      Session again(text, test::self(), Sensitivities::adjoint_and_tangent);
      const UnknownValues values = once.simulation().values();
      UnknownValues others = values;
      for (auto& unknown : others)
        for (double& value : unknown) value *= 1.01;
      const Evaluation expected = once.gradient({});
      again.simulation().set_values(others);
      again.gradient({});
      again.simulation().set_values(values);
      again.tangent(values);
      test::expect_same_bits(again, again.gradient({}), expected);
      test::expect_same_bits(again, again.gradient({}), expected);
    }
}

/// Where memory allows records hold factors; these are what is computed without.
TEST(Implicit, RecordsHoldFactorsWhereThereIsRoom) {
  constexpr int fields = 20;
  std::string state, equations;
  for (int f = 0; f < fields; ++f) {
    state += fmt::format("  u{}: {{initial: {}}}\n", f, 0.1 + 0.02 * f);
    equations +=
        fmt::format("  dt(u{0}): \"-{1}*u{0} + a*sin(u{2} + 2*u{3})\"\n", f, 1 + f, (f + 1) % fields, (f + 7) % fields);
  }
  const std::string grids[] = {"", "grid: {x: {cells: 7, to: 1, boundary: periodic}}\n"};
  for (const std::string& grid : grids)
    for (const std::string method : {"ros3p", "rodas4"}) {
      const std::string text = "case: factors\n" + grid + "parameters: {a: 0.3}\nstate:\n" + state + "equations:\n" +
                               equations + "objective: [{final: \"u0 + u3^2\"}]\nunknowns: {a: {}, initial(u1): {}}\n" +
                               "events: [{at: 0.3, set: {u2: \"u2 + a\"}}]\n" + fixed(method);
      const auto units = [](const Session& session) { return session.plan_inputs().record_units; };
      Session with(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
      EXPECT_EQ(units(with), 1 + (method == "ros3p" ? 3 : 6) + fields + 1);
      const Evaluation expected = with.gradient({});
      for (const std::string host :
           {"schedule: store-all, host: 40 slots", "host: 3 slots", "host: 1 GiB, schedule: revolve"}) {
        Session without(test::text_case(text + "checkpoints: {" + host + "}\n"), test::self(), Sensitivities::adjoint);
        EXPECT_EQ(units(without), 1 + (method == "ros3p" ? 3 : 6));
        test::expect_same_bits(with, expected, without.gradient({}));
      }
      test::expect_right_gradient(with, 2.5e-3, 1e-11);
    }
}

TEST(Implicit, EndsWithinTenTimesItsTolerance) {
  for (const Method& method : implicit_methods())
    if (method.estimates_errors) test::expect_end_within_ten_tolerances(method.name, 10, 1000000);
}

TEST(Implicit, StartsWhereTheJacobianIsNotFinite) {
  // u' = sqrt(u) + 1 has the solution sqrt(u) - log(1 + sqrt(u)) = t/2; at 2, u = 4.60613...
  const std::string growing =
      "case: sqrt\nparameters: {k: 1}\nstate: {u: {initial: 0}}\nequations: {dt(u): {implicit: \"k*sqrt(u) + 1\"}}\n"
      "objective: [{final: u}]\nunknowns: {k: {}}\n";
  double root = 2.0;
  for (int i = 0; i < 50; ++i) root -= (root - std::log1p(root) - 1.0) * (1.0 + root) / root;
  const std::string draining =
      "case: tanks\nparameters: {k: 1}\nstate: {tank: {initial: 1}, lower: {initial: 0}}\n"
      "equations: {dt(tank): {implicit: \"-0.3*k*sqrt(tank)\"}, dt(lower): {implicit: \"0.3*k*sqrt(tank) - "
      "0.2*sqrt(lower)\"}}\n"
      "objective: [{final: lower}]\nunknowns: {k: {}}\n";
  for (const Method& method : implicit_methods())
    for (const auto& [text, end] : {std::pair(growing, root * root), std::pair(draining, 0.33928)}) {
      const std::string time = method.estimates_errors ? "time: {method: " + method.name + ", tolerance: 1e-6, to: 2}\n"
                                                       : "time: {method: " + method.name + ", step: 0.002, to: 2}\n";
      SCOPED_TRACE(time + text);
      const std::string said = test::failure_of(text + time);
      if (method.family == "Rosenbrock") {
        EXPECT_NE(said.find("is not finite at the state before"), std::string::npos) << said;
        continue;
      }
      EXPECT_EQ(said, "");
      Session session(test::text_case(text + time), test::self(), Sensitivities::adjoint);
      EXPECT_NEAR(session.objective({}), end, 5e-3);  // of beuler, whose error is of first order
      const double slope = session.gradient({}).gradient[0][0];
      session.simulation().fix_end();
      const auto at = [&](double k) {
        session.simulation().set_values({{k}});
        return session.objective({});
      };
      EXPECT_NEAR((at(1.001) - at(0.999)) / 0.002, slope, 1e-5 * slope);
    }
}

TEST(Implicit, FieldsAreSolvedForByTheirOwnSize) {
  // One step of beuler has a closed form: w = base + hk (s - w^2/s).
  const std::string text =
      "case: small\nparameters: {k: 100, s: 1e-13}\nstate: {T: {initial: 1500}, w: {initial: 0.01*1e-13}}\n"
      "equations: {dt(T): \"-1e-3*T\", dt(w): \"k*(s - w^2/s)\"}\nobjective: [{final: \"w/s\"}]\n"
      "unknowns: {k: {}}\ntime: {method: beuler, step: 0.02, to: 0.06}\n";
  double w = 0.01;
  for (int i = 0; i < 3; ++i) w = (-1.0 + std::sqrt(1.0 + 8.0 * (w + 2.0))) / 4.0;
  Session session(test::text_case(text), test::self(), Sensitivities::adjoint_and_tangent);
  EXPECT_NEAR(session.objective({}), w, 1e-14);
  test::expect_right_gradient(session, 0.05, 1e-11);
}

/// Methods that begin with the slope of the step before evaluate F where that is another one.
TEST(Implicit, SlopesThatAreKeptAreThoseOfTheEquations) {
  const auto end = [](const std::string& right, const std::string& time) {
    return Session(test::text_case("case: slopes\nparameters: {k: 1}\nstate: {u: {initial: 1}}\nequations: {dt(u): \"" +
                                   right + "\"}\nobjective: [{final: u}]\nunknowns: {k: {}}\ntime: {" + time + "}\n"),
                   test::self(), Sensitivities::none)
        .objective({});
  };
  for (const std::string method : {"cn", "theta", "esdirk4"}) {
    SCOPED_TRACE(method);
    const std::string by = "method: " + method + ", ";
    EXPECT_NEAR(end("k*noise(1, 0)", by + "step: 0.5, to: 2"), end("k*noise(1, 0)", "method: rk4, step: 0.5, to: 2"),
                1e-14);
    EXPECT_NEAR(end("k*step", by + "step: 0.5, to: 2, switches: [0.3]"), 1 + 0.8125, 1e-14);
  }
  // A long step behind a very short one: the slope of that has few digits.
  const double q = (1 - 0.01) / (1 + 0.01);
  EXPECT_NEAR(end("-k*u", "method: cn, step: 0.02, to: 1, switches: [1e-9]") / std::pow(q, 50), 1, 1e-12);
  EXPECT_NEAR(end("-k*u", "method: esdirk4, step: 0.02, to: 1, switches: [1e-9]") /
                  end("-k*u", "method: esdirk4, step: 0.02, to: 1"),
              1, 1e-12);
}

TEST(Implicit, FailuresAreNamed) {
  const std::string newton =
      "case: newton\nstate: {u: {initial: 1}, v: {initial: 2}}\nequations: {dt(u): \"-u\", dt(v): \"1 + v^2\"}\n"
      "time: {method: beuler, step: 0.5, to: 2}\nobjective: [{final: u}]\n";
  const std::string said = test::failure_of(newton);
  EXPECT_NE(said.find("after step 1 (t = 0.5): Newton's method found no solution"), std::string::npos) << said;
  EXPECT_NE(said.find("largest in 'v'"), std::string::npos) << said;
  const std::string theta =
      "case: theta\nstate: {u: {initial: 1}}\nequations: {dt(u): \"-u\"}\nobjective: [{final: u}]\ntime: {step: 0.5, "
      "to: 2, ";
  EXPECT_NE(test::failure_of(theta + "method: theta, theta: 1.5}\n").find("must lie in (0, 1]"), std::string::npos);
  EXPECT_NE(test::failure_of(theta + "method: cn, theta: 0.5}\n").find("belongs to time.method 'theta'"),
            std::string::npos);
}

}  // namespace
}  // namespace hindsight

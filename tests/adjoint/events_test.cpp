// Events: doses that arrive in full, exact gradients through jumps, the same bits everywhere, and clear refusals.
// ranks: 1 2 3
#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "solvers/steppers/methods.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// Jumps with unknowns, a series and the time in them, two of them at once, and terms that see both sides.
const std::string ode = R"yaml(
case: events
parameters: {dose: 1.5, keep: 0.8, k: 1.2, q: {series: {times: [0, 1, 2], values: [0.3, 0.6, 0.2]}}}
state: {gut: {initial: "0.2"}, blood: {initial: "0.4"}}
equations: {dt(gut): "-k*gut^2", dt(blood): "k*gut^2 - blood*q"}
events:
  - {at: [0, 0.5, 1.3], set: {gut: "gut + dose*q"}}
  - {at: 0.5, set: {blood: "keep*blood + 0.1*gut^2", gut: "gut*(1 + 0.1*t)"}}
objective: [{final: "gut + blood^2"}, {integral: "gut*blood + dose*gut"}]
unknowns: {dose: {}, keep: {}, k: {}, q: {}, initial(gut): {}, initial(blood): {}}
)yaml";

const std::string plane = R"yaml(
case: plane
grid: {x: {cells: 18, to: 1, boundary: {lower: {value: "c*sin(4*t)"}, upper: {slope: 0}}}, y: {cells: 12, to: 1, boundary: periodic}}
parameters: {c: 0.5, k: {field: "0.02 + 0.01*x"}}
state: {u: {initial: "exp(-20*((x-0.5)^2 + (y-0.4)^2))"}, w: {initial: "0.1"}}
equations: {dt(u): "div(k*grad(u)) - u*w", dt(w): "u - w - c*w^2"}
events: [{at: [0.2, 0.31], set: {u: "u + c*where(x < 0.5, 1, 0) + k*w^2"}}]
objective: [{final: "(u - 0.2)^2"}, {integral: "w^2 + u"}]
unknowns: {c: {}, k: {}, initial(w): {}}
)yaml";

struct Way {
  std::string text, time;
};

/// Where errors decide, few steps are allowed because checkpoints are allocated, and zeroed, for all of them.
std::vector<Way> ways() {
  std::vector<Way> all;
  for (const char* const method : {"rk4", "bdf2", "esdirk4", "rodas4"})
    all.push_back({ode, "time: {method: " + std::string(method) + ", step: 0.07, to: 2}\n"});
  for (const char* const method : {"dopri5", "bdf2", "sdirk3", "rodas4"})
    all.push_back(
        {ode, "time: {method: " + std::string(method) + ", tolerance: 1e-4, step: 0.001, to: 2, at most: 2000}\n"});
  for (const char* const method : {"euler", "rk4"})
    all.push_back({plane, "time: {method: " + std::string(method) + ", step: 0.03, to: 0.5}\n"});
  all.push_back({plane, "time: {method: bs3, tolerance: 1e-4, to: 0.5, at most: 2000}\n"});
  return all;
}

TEST(Events, GradientsGoThroughJumps) {
  for (const Way& way : ways()) {
    Session session(test::text_case(way.text + way.time), test::world(), Sensitivities::adjoint_and_tangent);
    session.gradient({});
    session.simulation().fix_end();
    SCOPED_TRACE(way.time);
    test::expect_right_gradient(session, 2.5e-4, 1e-10);
  }
}

TEST(Events, HaveOneHashWhateverTheCheckpointsAndTheRanks) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.time);
    Session serial(test::text_case(way.text + way.time), test::self(), Sensitivities::adjoint);
    const Evaluation expected = serial.gradient({});
    for (const char* host : {"1 GiB", "9 slots", "2 slots"}) {
      Session session(test::text_case(way.text + way.time + "checkpoints: {host: " + host + "}\n"), test::world(),
                      Sensitivities::adjoint);
      test::expect_same_bits(session, session.gradient({}), expected);
      EXPECT_EQ(session.objective({}), expected.objective);
    }
  }
}

double objective_of(const std::string& text) {
  Session session(test::text_case(text), test::self(), Sensitivities::none);
  return session.objective({});
}

TEST(Events, DosesArriveInFull) {
  const std::string depot =
      "case: depot\nstate: {a: {initial: 0}}\nequations: {dt(a): 0}\n"
      "events: [{at: [0, 12, 24], set: {a: \"a + 100\"}}, {at: 12, set: {a: \"a + 50\"}}]\nobjective: [{final: a}]\n";
  for (const char* const step : {"0.7", "5", "40"})
    EXPECT_EQ(objective_of(depot + "time: {step: " + step + ", to: 40}\n"), 350.0);
  EXPECT_EQ(objective_of(depot + "time: {method: dopri5, tolerance: 1e-3, to: 40}\n"), 350.0);
}

TEST(Events, DecayBetweenDosesIsThatOfTheFormula) {
  const std::string blood =
      "case: blood\nstate: {a: {initial: 0}}\nequations: {dt(a): \"-0.3*a\"}\n"
      "events: [{at: [0, 2, 5], set: {a: \"a + 1\"}}]\nobjective: [{final: a}]\n";
  const double exact = std::exp(-0.3 * 8) + std::exp(-0.3 * 6) + std::exp(-0.3 * 3);
  EXPECT_NEAR(objective_of(blood + "time: {method: dopri5, tolerance: 1e-11, to: 8}\n"), exact, 1e-10);
  EXPECT_NEAR(objective_of(blood + "time: {method: rodas4, tolerance: 1e-11, to: 8}\n"), exact, 1e-10);
  EXPECT_NEAR(objective_of(blood + "time: {method: rk4, step: 0.01, to: 8}\n"), exact, 1e-10);
}

TEST(Events, IntegralsSeeBothSidesAndMisfitsTheOneBefore) {
  const std::string steps =
      "case: steps\nstate: {a: {initial: 1}}\nequations: {dt(a): 0}\nevents: [{at: 0.5, set: {a: 3}}]\n"
      "time: {step: 0.2, to: 1}\n";
  EXPECT_NEAR(objective_of(steps + "objective: [{integral: a}]\n"), 2.0, 1e-15);
  const std::string table = testing::TempDir() + "event-" + std::to_string(test::world().rank()) + ".csv";
  {
    std::ofstream file(table);
    file << "time,value\n0.5,1\n1,3\n";
  }
  EXPECT_EQ(objective_of(steps + "objective: [{misfit: {of: a, data: " + table + "}}]\n"), 0.0);
}

/// A run that ends by its condition at the time of an event ends before the jump.
TEST(Events, AStateThatEndsTheRunDoesNotJump) {
  const std::string text =
      "case: until\nparameters: {k: 1}\nstate: {a: {initial: 1}}\nequations: {dt(a): k}\n"
      "events: [{at: [0.5, 1], set: {a: \"a + 10\"}}]\nobjective: [{final: a}, {integral: 1}]\nunknowns: {k: {}}\n"
      "time: {step: 0.25, until: \"norm(a) > 11.9\", at most: 100}\n";
  Session session(test::text_case(text), test::self(), Sensitivities::adjoint_and_tangent);
  const Evaluation found = session.gradient({});
  EXPECT_EQ(session.simulation().time().steps(), 4);
  EXPECT_NEAR(found.objective, 12 + 1, 1e-14);
  EXPECT_NEAR(found.gradient[0][0], 1.0, 1e-14);
  EXPECT_NEAR(session.tangent({{1.0}}).second, 1.0, 1e-14);
}

TEST(Events, StepsLandOnSwitchesAndKnots) {
  const std::string text =
      "case: switches\nparameters: {q: {series: {times: [0, 0.37, 1], values: [0, 1, 0]}}}\n"
      "state: {u: {initial: 1}}\nequations: {dt(u): \"where(t < 0.61, q, -u)\"}\nobjective: [{final: u}]\n";
  Session session(test::text_case(text + "time: {method: dopri5, tolerance: 1e-6, to: 1, switches: [0.61]}\n"),
                  test::self(), Sensitivities::none);
  session.objective({});
  const TimeLine& time = session.simulation().time();
  int found = 0;
  for (std::int64_t k = 0; k <= time.steps(); ++k) found += time.time(k) == 0.37 || time.time(k) == 0.61 ? 1 : 0;
  EXPECT_EQ(found, 2);
}

/// A rate that is 0, then a, then 3a, and 0 again from the end on: each step sees one side of a switch, as integrals
/// do.
TEST(Events, RatesThatChangeAtSwitchesAreExactOnBothSides) {
  for (const std::string& method : test::first_order_methods())
    for (const std::string is_before : {"<", "<="})
      for (const std::string steps : {"step: 0.3", "tolerance: 1e-6, step: 0.01"}) {
        if (steps[0] == 't' && !methods().find(method).estimates_errors) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", method, is_before, steps));
        const std::string rate =
            fmt::format("where(t {0} 1, 0, where(t {0} 1.7, a, where(t {0} 2, 3*a, 0)))", is_before);
        Session session(
            test::text_case(fmt::format(
                "case: switches\nparameters: {{a: 2}}\nstate: {{u: {{initial: 0}}}}\nequations: {{dt(u): {{implicit: "
                "\"{0}\"}}}}\n"
                "objective: [{{final: u}}, {{integral: \"10*{0}\"}}]\nunknowns: {{a: {{}}}}\n"
                "time: {{method: {1}, {2}, to: 2, switches: [1.7, 1, 2]}}\n",
                rate, method, steps)),
            test::self(), Sensitivities::adjoint_and_tangent);
        constexpr double all = 0.7 + 3 * 0.3;
        const Evaluation found = session.gradient({});
        EXPECT_NEAR(found.objective, 11 * 2 * all, 1e-12);
        EXPECT_NEAR(found.gradient[0][0], 11 * all, 1e-12);
        EXPECT_NEAR(session.tangent({{1.0}}).second, 11 * all, 1e-12);
      }
}

/// Conditions that are on a sum with the time; ends; and two switches that are close to each other.
TEST(Events, SwitchesAreSeenHoweverTheyAreWritten) {
  const auto end = [](const std::string& rate, const std::string& time) {
    return objective_of(
        fmt::format("case: switches\nparameters: {{a: 2}}\nstate: {{u: {{initial: 0}}}}\nobjective: [{{final: u}}]\n"
                    "equations: {{dt(u): \"{}\"}}\ntime: {{{}}}\n",
                    rate, time));
  };
  for (const std::string is_before : {"<", "<="}) {
    EXPECT_NEAR(end("where(1990 + t " + is_before + " 1991.5, a, 0)", "method: rk4, step: 0.5, to: 2, switches: [1.5]"),
                3.0, 1e-12);
    EXPECT_NEAR(end("where(t + 100 " + is_before + " 100.3, 0, a)",
                    "method: euler, step: 1, from: -100, to: 2, switches: [0.3]"),
                3.4, 1e-12);
    EXPECT_NEAR(end("where(t " + is_before + " 0, 5, a)", "method: euler, step: 0.5, to: 2, switches: [0]"), 4.0,
                1e-14);
  }
  EXPECT_NEAR(end("where(t < 1, 0, where(t < 1 + 2e-10, 1e10*a, 0))",
                  "method: euler, step: 0.5, to: 2, switches: [1, 1.0000000002]"),
              4.0, 1e-5);
}

/// What ends a run at a switch is the state before.
TEST(Events, ConditionsOfTheEndSeeTheSideBeforeASwitch) {
  for (const std::string is_before : {"<", "<="}) {
    Session session(test::text_case("case: until\nstate: {u: {initial: 0}}\nequations: {dt(u): \"where(t " + is_before +
                                    " 1, 1, 0.1)\"}\nobjective: [{final: u}]\ntime: {step: 0.25, until: \"norm(dt(u)) "
                                    "< 0.5\", at most: 100, switches: [1]}\n"),
                    test::self(), Sensitivities::none);
    EXPECT_NEAR(session.objective({}), 1.025, 1e-14);
  }
}

/// With a switch, a method has its order; a pulse that grows, through a decay.
TEST(Events, MethodsKeepTheirOrderAcrossSwitches) {
  for (const std::string& method : test::first_order_methods()) {
    const auto error = [&](double step) {
      Session session(test::text_case(fmt::format("case: switches\nstate: {{u: {{initial: 0}}}}\n"
                                                  "equations: {{dt(u): {{explicit: \"where(t < 1, exp(t), 0)\", "
                                                  "implicit: \"-u\"}}}}\n"
                                                  "objective: [{{final: u}}]\n"
                                                  "time: {{method: {}, step: {}, to: 1.5, switches: [1]}}\n",
                                                  method, step)),
                      test::self(), Sensitivities::none);
      return std::fabs(session.objective({}) - std::exp(-1.5) * (std::exp(2.0) - 1) / 2);
    };
    const double order = std::log2(error(0.1) / error(0.05));
    EXPECT_GT(order, methods().find(method).order - 0.3) << method;
  }
}

TEST(Events, BadInputIsNamed) {
  const auto message = [](const std::string& events, const std::string& time = "") {
    try {
      Session session(test::text_case("case: bad\nparameters: {when: 0.5}\nstate: {gut: {initial: 1}}\n"
                                      "equations: {dt(gut): \"-gut\"}\nobjective: [{final: gut}]\n"
                                      "time: {step: 0.1, to: 1" +
                                      time + "}\nevents: " + events + "\n"),
                      test::self(), Sensitivities::none);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto expect = [&](const std::string& said, const std::string& part) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  expect(message("[{at: 1, set: {gut: 2}}]"), "the event at t = 1 is outside of the run");
  expect(message("[{at: -0.1, set: {gut: 2}}]"), "outside of the run");
  expect(message("[{at: 0.99999999999999, set: {gut: 2}}]"), "so close to the end of the run");
  expect(message("[{at: 0.5, set: {gutt: 2}}]"), "did you mean 'gut'");
  expect(message("[{at: when, set: {gut: 2}}]"), "'when' is a parameter: write its value");
  expect(message("[{at: [0.5, whn], set: {gut: 2}}]"), "must be a number, not 'whn': unknown name 'whn'");
  expect(message("[{at: nan, set: {gut: 2}}]"), "must be a number, not 'nan'");
  expect(message("[{at: .nan, set: {gut: 2}}]"), "is not a number");
  expect(message("[{at: .inf, set: {gut: 2}}]"), "must be finite");
  expect(message("[{at: [[1]], set: {gut: 2}}]"), "number");
  expect(message("[{at: [], set: {gut: 2}}]"), "names no times");
  expect(message("[{at: 0.5, set: {}}]"), "sets nothing");
  expect(message("[{at: 0.5, sets: {gut: 1}}]"), "set");
  expect(message("[{at: 0.5, set: {gut: \"gut + noise(1, 0)\"}}]"), "noise");
  expect(message("[]", ", switches: [2]"), "outside of the run");
  Session session(test::text_case("case: bad\nstate: {gut: {initial: 1}}\nequations: {dt(gut): 0}\n"
                                  "objective: [{final: gut}]\ntime: {step: 0.1, to: 1}\n"
                                  "events: [{at: 0.55, set: {gut: \"1/(gut - 1)\"}}]\n"),
                  test::world(), Sensitivities::none);
  try {
    session.objective({});
    FAIL();
  } catch (const NumericsError& error) {
    expect(error.what(), "the event at t = 0.55 gives 'gut' a value that is not finite");
  }
}

}  // namespace
}  // namespace hindsight

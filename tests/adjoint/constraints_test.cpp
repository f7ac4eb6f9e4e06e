// Fields that constraints fix: exact gradients by every method that takes them, the same bits, orders, a vortex with a
// known decay, constants that nothing fixes, and clear failures.
// ranks: 1 2
// ranks of --long: 3
#include <fmt/format.h>

#include <cmath>

#include "solvers/steppers/methods.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// Vorticity and stream function on a torus, where nothing fixes the constant of psi, nor makes the vorticity's
/// integral zero.
const std::string torus = R"yaml(
case: torus
grid: {x: {cells: 9, to: 2*pi, boundary: periodic}, y: {cells: 12, to: 2*pi, boundary: periodic}}
parameters: {nu: 0.05, k: {field: "1 + 0.3*sin(x)"}, q: {series: {times: [0, 0.2, 0.6], values: [0.1, 0.5, 0.2]}}}
state: {w: {initial: "2*cos(x)*cos(y) + 0.3*sin(2*x + y)"}, psi: }
equations:
  dt(w): {explicit: "dx(psi)*dy(w) - dy(psi)*dx(w) + q*sin(x)", implicit: "nu*div(k*grad(w))"}
  zero(psi): {rhs: "lap(psi) + w + 0.1*q*cos(x + y)", balance: true}
objective: [{final: "psi^2 + 0.1*w^2"}, {integral: "psi*w"}]
unknowns: {nu: {}, k: {}, q: {}, initial(w): {}}
)yaml";

/// Not linear, with walls that depend on unknowns and on time, an event, and a rate that changes at once.
const std::string walls = R"yaml(
case: walls
grid:
  x: {cells: 8, to: 1, boundary: {lower: {value: "1 + 0.1*a"}, upper: {slope: 0.2}}}
  y: {cells: 9, to: 1, boundary: {lower: {slope: 0.1}, upper: {value: "x*q"}}}
parameters: {a: 0.7, k: {field: "1 + 0.3*x"}, q: {series: {times: [0, 0.2, 0.6], values: [0.1, 0.5, 0.2]}}}
state: {s: {initial: "0.5 + 0.2*sin(6*x)"}, p: {initial: 0.1}}
equations:
  dt(s): {explicit: "0.3*dx(s)*dx(p) + q*x", implicit: "0.05*div(k*grad(s)) - s^2*p"}
  zero(p): "div((k + s^2)*grad(p)) - a*p^3 + s*where(t < 0.22, 1, 2)"
events: [{at: [0.1], set: {s: "s + 0.1*a"}}]
objective: [{final: "p^2 + 0.1*s^2"}, {integral: "p^2*s"}]
unknowns: {a: {}, k: {}, q: {}, initial(s): {}}
)yaml";

/// An ensemble whose members have a constraint each.
const std::string members = R"yaml(
case: members
grid: {x: {cells: 7, to: 1, boundary: periodic}}
parameters: {a: 0.7, k: {field: "1 + 0.3*x"}, q: {series: {times: [0, 0.2, 0.6], values: [0.1, 0.5, 0.2]}}}
state: {u: {initial: "1 + x"}, v: }
equations:
  dt(u): {explicit: "-a*u*v", implicit: "-0.3*u + q"}
  zero(v): "v^3 + k*v - u"
objective: [{final: "u + v"}, {integral: "u*v"}]
unknowns: {a: {}, k: {}, q: {}, initial(u): {}}
)yaml";

std::vector<Method> methods_with_constraints() {
  std::vector<Method> all;
  for (const Method& method : methods().all())
    if (method.takes_constraints) all.push_back(method);
  return all;
}

std::vector<std::string> times_of(const Method& method, const std::string& more) {
  std::vector<std::string> all = {"time: {method: " + method.name + ", step: 0.02, to: 0.3" + more + "}\n"};
  if (method.estimates_errors)
    all.push_back("time: {method: " + method.name + ", tolerance: 1e-3, step: 0.01, to: 0.3, most: 0.05" + more +
                  "}\n");
  return all;
}

std::string switches_of(const std::string& text) {
  return text == walls ? ", switches: [0.22]" : "";
}

TEST(Constraints, GradientsAreThoseOfTheStepsTaken) {
  int turn = 0;  // methods in pairs with problems
  for (const Method& method : methods_with_constraints())
    for (int i = 0; i < 2; ++i) {
      const std::string& text = turn % 3 == 0 ? walls : turn % 3 == 1 ? torus : members;
      ++turn;
      const std::vector<std::string> times = times_of(method, switches_of(text));
      const std::string& time = times[static_cast<std::size_t>(i) % times.size()];
      SCOPED_TRACE(time + text.substr(0, 12));
      Session session(test::text_case(text + time), test::world(), Sensitivities::adjoint_and_tangent);
      session.gradient({});
      session.simulation().fix_end();
      test::expect_right_gradient(session, 1e-2, 1e-11);
    }
}

/// Where constants are free, iterations solve another system than factors do.
TEST(Constraints, IterationsGiveTheSameAsFactors) {
  for (const std::string method : {"cn", "heun"}) {
    SCOPED_TRACE(method);
    const std::string prefix = method == "cn" ? "-step_" : "-constraint_";
    const std::string text = torus + "time: {method: " + method + ", step: 0.02, to: 0.2}\n";
    Session direct(test::text_case(text), test::world(), Sensitivities::adjoint);
    Session iterative(test::text_case(text + "petsc: \"" + prefix + "ksp_type bcgsl " + prefix + "pc_type bjacobi\"\n"),
                      test::world(), Sensitivities::adjoint_and_tangent);
    const Evaluation expected = direct.gradient({}), found = iterative.gradient({});
    EXPECT_NEAR(found.objective, expected.objective, 1e-10 * std::fabs(expected.objective));
    EXPECT_LE(iterative.relative_difference(found.gradient, expected.gradient), 1e-9);
    test::expect_right_gradient(iterative, 1e-2, 1e-9);
  }
}

/// In space a pinned cell would hardly hold the constant of so many.
TEST(Constraints, ConstantsAreFreeInLargeSystems) {
  const std::string text = R"yaml(
case: large
grid: {x: {cells: 28, to: 1, boundary: periodic}, y: {cells: 28, to: 1, boundary: periodic}, z: {cells: 28, to: 1, boundary: periodic}}
parameters: {D: 0.1}
state: {u: {initial: "1 + sin(2*pi*x)*cos(2*pi*y) + 0.3*sin(2*pi*z)"}, p: }
equations:
  dt(u): "-D*dx(p)*u"
  zero(p): {rhs: "lap(p) + u", balance: true}
time: {method: heun, step: 0.05, to: 0.1}
objective: [{final: "u^2 + p^2"}]
unknowns: {D: {}, initial(u): {}}
)yaml";
  Session session(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
  session.gradient({});
  test::expect_right_gradient(session, 1e-2, 1e-9);
}

TEST(Constraints, HaveOneHashWhateverTheCheckpointsAndTheRanks) {
  int turn = 0;  // methods in pairs with problems
  for (const Method& method : methods_with_constraints()) {
    const std::string& text = turn % 3 == 0 ? torus : turn % 3 == 1 ? members : walls;
    ++turn;
    const std::string time = times_of(method, switches_of(text)).back();
    SCOPED_TRACE(time + text.substr(0, 12));
    Session serial(test::text_case(text + time), test::self(), Sensitivities::adjoint);
    const Evaluation expected = serial.gradient({});
    for (const char* host : {"1 GiB", "3 slots"}) {
      Session session(test::text_case(text + time + "checkpoints: {host: " + host + "}\n"), test::world(),
                      Sensitivities::adjoint);
      test::expect_same_bits(session, session.gradient({}), expected);
    }
  }
}

/// Taylor and Green's vortex: w = 2 cos x cos y exp(-2 nu t), psi = w/2, an exact solution of the flow.
TEST(Constraints, AVortexDecaysAsItMust) {
  const auto error = [](int cells, const std::string& time) {
    Session session(
        test::text_case(fmt::format(
            "case: vortex\ngrid: {{x: {{cells: {0}, to: 2*pi, boundary: periodic}}, y: {{cells: {0}, to: 2*pi, "
            "boundary: periodic}}}}\nstate: {{w: {{initial: \"2*cos(x)*cos(y)\"}}, psi: }}\nequations:\n"
            "  dt(w): {{explicit: \"dx(psi)*dy(w) - dy(psi)*dx(w)\", implicit: \"0.1*lap(w)\"}}\n"
            "  zero(psi): \"lap(psi) + w\"\nobjective: [{{final: \"(psi - cos(x)*cos(y)*exp(-0.2))^2\"}}]\n"
            "time: {{{1}, to: 1}}\n",
            cells, time)),
        test::world(), Sensitivities::none);
    return std::sqrt(session.objective({}));
  };
  for (const std::string time : {"method: rk4, step: 0.05", "method: cn, step: 0.02", "method: ark3, step: 0.1"}) {
    const double coarse = error(12, time), fine = error(24, time);
    EXPECT_GT(std::log2(coarse / fine), 1.9) << time;
    EXPECT_LT(fine, 0.02) << time;
  }
}

/// dt(x) = -x z with z = x: x = 1/(1 + t).
TEST(Constraints, MethodsHaveTheirOrders) {
  for (const Method& method : methods_with_constraints()) {
    const auto error = [&](double step) {
      Session session(
          test::text_case(fmt::format("case: decay\nstate: {{x: {{initial: 1}}, z: }}\nequations:\n"
                                      "  dt(x): {{explicit: \"-0.5*x*z\", implicit: \"-0.5*x*z\"}}\n"
                                      "  zero(z): \"z + z^3 - x - x^3\"\nobjective: [{{final: \"x + z\"}}]\n"
                                      "time: {{method: {}, step: {}, to: 1}}\n",
                                      method.name, step)),
          test::world(), Sensitivities::none);
      return std::fabs(session.objective({}) - 1.0);
    };
    EXPECT_GT(std::log2(error(0.1) / error(0.05)), method.order - 0.3) << method.name;
  }
}

/// A time derivative with a factor is one whose equation was divided by it.
TEST(Constraints, MassesAreFactorsOfTheDerivative) {
  const auto gradient = [](const std::string& equation) {
    Session session(
        test::text_case("case: mass\ngrid: {x: {cells: 20, to: 1, boundary: {value: 0}}}\nparameters: {c: "
                        "{field: \"1 + x\"}, r: 2}\nstate: {u: {initial: \"x*(1 - x)\"}}\nequations: {dt(u): " +
                        equation +
                        "}\nobjective: [{final: \"u^2\"}]\nunknowns: {c: {}, r: {}}\n"
                        "time: {method: cn, step: 0.01, to: 0.1}\n"),
        test::world(), Sensitivities::adjoint_and_tangent);
    test::expect_right_gradient(session, 1e-2, 1e-12);
    return session.gradient({}).gradient;
  };
  EXPECT_EQ(gradient("{mass: \"r*c\", rhs: \"lap(u)\"}"), gradient("\"lap(u)/(r*c)\""));
}

TEST(Constraints, WhatCannotBeIsNamed) {
  const auto expect = [](const std::string& text, const std::string& part) {
    const std::string said = test::failure_of(text);
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  const std::string grid =
      "case: bad\ngrid: {x: {cells: 8, to: 2, boundary: {slope: 0}}}\nobjective: [{final: u}]\n"
      "state: {u: {initial: 1}, p: }\n";
  const std::string time = "time: {method: beuler, step: 0.1, to: 1}\n";
  expect(grid + "equations: {dt(u): \"-u\", zero(p): \"lap(p) + u\"}\n" + time, "must be zero, and it is 2");
  expect(grid + "equations: {dt(u): \"-u*dx(p)\", zero(p): \"lap(p) + u\"}\n" + time, "must be zero, and it is 2");
  std::string grows = grid + "equations: {dt(u): \"1 - u*dx(p)\", zero(p): \"lap(p) + u\"}\n" + time;
  grows.replace(grows.find("initial: 1"), 10, "initial: x - 1");
  expect(grows, "must be zero, and it is 0.19");  // found by Newton's method, in the first step
  expect(grid + "equations: {dt(u): \"p\", zero(p): \"lap(p) + u - 1\"}\n" + time,
         "test.yaml:5:35: zero(p) knows 'p' by its differences alone");
  expect(grid + "equations: {dt(u): \"p\", zero(p): \"lap(p) + u - 1\"}\n" + time, "reads its constant");
  expect(grid + "equations: {dt(u): \"-u\", zero(p): \"lap(p) - p\"}\nevents: [{at: [0.2], set: {p: 1}}]\n" + time,
         "no event sets it");
  expect(grid + "equations: {dt(u): \"-u\", zero(p): \"lap(p) - p\"}\nunknowns: {initial(p): {}}\n" + time,
         "cannot be unknown");
  expect(grid + "equations: {dt(u): \"-u\", zero(p): \"lap(p) - p\"}\n" + "time: {method: ark3, step: 0.1, to: 1}\n",
         "does not tell them");
  expect(grid + "equations: {dt(u): \"-u\", zero(p): \"p^2 + u\"}\n" + time,
         "field 'p' at x = 0.125: Newton's method found no solution; the relative changes of its iterations: none (no "
         "finite, regular");
}

TEST(Constraints, HaveNoTolerances) {
  const auto simulate = [](const std::string& absolute) {
    return test::failure_of(
        "case: errors\nstate: {u: {initial: 1}, p: }\nobjective: [{final: u}]\n"
        "equations: {dt(u): \"-p\", zero(p): \"p - u\"}\n"
        "time: {method: esdirk4, tolerance: {relative: 1e-3, absolute: {" +
        absolute + "}}, to: 0.1}\n");
  };
  EXPECT_EQ(simulate("u: 1e-4"), "");
  const std::string said = simulate("u: 1e-4, p: 1e-6");
  EXPECT_NE(said.find("test.yaml:5:73: 'p' follows from the others by zero(p): no error of it is estimated"),
            std::string::npos)
      << said;
}

/// p has no value where u is negative, as it is after steps that are long: none is refused for its errors.
TEST(Constraints, StepsThatLeaveThemWithoutASolutionAreShortened) {
  for (const std::string method : {"bs3", "ark3"}) {
    SCOPED_TRACE(method);
    Session session(
        test::text_case("case: drain\ngrid: {x: {cells: 6, to: 1, boundary: periodic}}\nparameters: {a: 3}\n"
                        "state: {u: {initial: \"1 + 0.1*cos(2*pi*x)\"}, p: }\nequations: {dt(u): {explicit: "
                        "\"-a*exp(p)\", implicit: \"0.01*lap(u)\"}, zero(p): \"exp(p) - u\"}\nobjective: "
                        "[{final: \"u + p\"}]\nunknowns: {a: {}, initial(u): {}}\ntime: {method: " +
                        method + ", tolerance: {relative: 1e-3, absolute: 1e3}, step: 2, to: 2}\n"),
        test::world(), Sensitivities::adjoint_and_tangent);
    session.gradient({});
    session.simulation().fix_end();
    test::expect_right_gradient(session, 1e-3, 1e-11);
  }
}

/// By their form, before anything runs.
TEST(Constraints, ThoseThatCannotFixTheirFieldsAreRefused) {
  const auto said = [](const std::string& constraints) -> std::string {
    try {
      read_problem(parse_case("test.yaml",
                              "case: structure\ngrid: {x: {cells: 8, to: 2, boundary: periodic}}\n"
                              "state: {u: {initial: 1}, p: , q: , r: }\ntime: {method: beuler, step: 0.1, to: 1}\n"
                              "equations:\n  dt(u): \"-u + p\"\n" +
                                  constraints,
                              {}));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const auto expect = [&](const std::string& constraints, const std::string& part) {
    EXPECT_NE(said(constraints).find(part), std::string::npos) << said(constraints);
  };
  const std::string others = "  zero(q): \"q - u\"\n  zero(r): \"r - u\"\n";
  expect("  zero(p): \"0\"\n" + others, "test.yaml:7:13: zero(p) must depend on 'p': once the other fields are known");
  expect("  zero(p): \"dx(u)\"\n" + others, "(an index-1 system)");
  expect("  zero(p): \"where(p > 0, u, 2*u)\"\n" + others, "zero(p) must depend on 'p'");
  expect("  zero(p): \"q - u\"\n" + others, "depend, of the fields that constraints fix, on 'q' alone");
  expect("  zero(p): \"q - u\"\n  zero(q): \"p + q\"\n  zero(r): \"p + q\"\n", "and so cannot fix 'r', ");
  EXPECT_EQ(said("  zero(p): \"q - u\"\n  zero(q): \"r + p\"\n  zero(r): \"p + q\"\n"), "");
  EXPECT_EQ(said("  zero(p): \"where(p > 0, p, 2*p) - u\"\n" + others), "");
}

}  // namespace
}  // namespace hindsight

// Implicit methods on grids, whose systems PETSc solves: exact gradients, the same bits, orders, and clear failures.
// ranks: 1 2
// ranks of --long: 3
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/petsc.hpp"
#include "runtime/petsc_options.hpp"
#include "solvers/steppers/implicit/methods.hpp"
#include "solvers/steppers/methods.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// A wall with a series and the time in its value, a flux on the other; not linear.
const std::string line = R"yaml(
case: line
grid: {x: {cells: 31, to: 1, boundary: {lower: {value: "q*sin(3*t)"}, upper: {slope: "g"}}}}
parameters: {g: 0.2, c: 0.4, k: {field: "1 + 0.5*x"}, q: {series: {times: [0, 0.05, 0.2], values: [1, 2, 0.5]}}}
state: {u: {initial: "x"}}
equations: {dt(u): {implicit: "div(k*grad(u))", explicit: "-c*u^2*dx(u)"}}
objective: [{final: "u^2"}, {integral: "u^3"}]
unknowns: {g: {}, c: {}, k: {}, q: {}, initial(u): {}}
)yaml";

/// Two fields, periodic along one axis.
const std::string plane = R"yaml(
case: plane
grid: {x: {cells: 9, to: 1, boundary: {slope: 0, fields: {u: {value: 0.1}}}}, y: {cells: 12, to: 1, boundary: periodic}}
parameters: {c: 0.5, k: {field: "1 + 0.5*x*y"}}
state: {u: {initial: "sin(2*pi*y)*x"}, v: {initial: "0.3 + 0.1*x"}}
equations:
  dt(u): {implicit: "div(k*grad(u)) - c*u^3", explicit: v}
  dt(v): {implicit: "0.1*lap(v) + dx(u)*u", explicit: "-upwind(c, v, y)"}
objective: [{final: "u^2 + v"}, {integral: "u^4"}]
unknowns: {c: {}, k: {}, initial(u): {}}
)yaml";

/// Linear and, but for the length of the step, always the same system.
const std::string space = R"yaml(
case: space
grid: {x: {cells: 5, to: 1, boundary: {value: 0.1}}, y: {cells: 4, to: 1, boundary: periodic}, z: {cells: 7, to: 1, boundary: {slope: 0.2}}}
parameters: {c: 0.4, k: {field: "1 + 0.5*x*z"}}
state: {u: {initial: "x*z + sin(2*pi*y)"}}
equations: {dt(u): {implicit: "div(k*grad(u)) - c*u", explicit: "sin(t)*x"}}
objective: [{final: "u^2"}]
unknowns: {c: {}, k: {}, initial(u): {}}
)yaml";

/// Walls of two axes that move with the time, a series and unknowns, and meet in corners that equations read.
const std::string moving = R"yaml(
case: moving
grid:
  x: {cells: 8, to: 1, boundary: {lower: {value: "a*q*sin(3*t + y)", fields: {v: {value: "0.2*cos(a*t)*y"}}}, upper: {slope: "b*t*y"}}}
  y: {cells: 9, to: 1, boundary: {value: "q^2*cos(2*t)*x", fields: {v: {slope: "a*sin(t)"}}}}
parameters: {a: 0.7, b: 0.3, c: 0.5, k: {field: "1 + 0.5*x*y"}, q: {series: {times: [0, 0.05, 0.2], values: [1, 2, 0.5]}}}
state: {u: {initial: "sin(2*pi*y)*x"}, v: {initial: "0.3 + 0.1*x"}}
equations: {dt(u): "div(k*grad(u)) - 0.5*dx(u^2) - u*dy(v)", dt(v): "0.1*lap(v) + 0.2*dx(dy(u*v)) - c*q*v*sin(t)"}
objective: [{final: "u^2 + v"}, {integral: "u^4"}]
unknowns: {a: {}, b: {}, c: {}, k: {}, q: {}, initial(u): {}}
)yaml";

/// Linear, and an unknown in a wall that moves alone: of the product with the Jacobian, walls alone have derivatives.
const std::string shaken = R"yaml(
case: shaken
grid: {x: {cells: 4, to: 1, boundary: {slope: 0}}, y: {cells: 3, to: 1, boundary: {lower: {value: "a*sin(9*t)*x"}, upper: {value: 0}}}, z: {cells: 10, to: 1, boundary: {lower: {slope: "q*x"}, upper: {value: "q"}}}}
parameters: {a: 0.7, q: {series: {times: [0, 0.04, 0.2], values: [1, 2, 0.5]}}}
state: {u: {initial: "x*z"}}
equations: {dt(u): "lap(u)"}
objective: [{final: "u^2"}]
unknowns: {a: {}, q: {}, initial(u): {}}
)yaml";

/// Of fourth order, in fluxes that read no state where they are differentiated.
const std::string wide = R"yaml(
case: wide
grid: {x: {cells: 31, to: 1, boundary: {lower: {value: "sin(3*t)"}, upper: {value: "a*t"}}}, order: 4}
parameters: {a: 0.7, q: {series: {times: [0, 0.05, 0.2], values: [1, 2, 0.5]}}}
state: {u: {initial: "x"}}
equations: {dt(u): "0.1*lap(u) - 0.5*dx(u^2) + q^2*u"}
objective: [{final: "u^3"}]
unknowns: {a: {}, q: {}, initial(u): {}}
)yaml";

std::vector<std::string> times_of(const Method& method) {
  std::vector<std::string> all = {"time: {method: " + method.name + ", step: 0.011, to: 0.1}\n"};
  if (method.estimates_errors)
    all.push_back("time: {method: " + method.name + ", tolerance: 1e-4, step: 0.001, to: 0.1, at most: 300}\n");
  return all;
}

TEST(ImplicitGrids, GradientsAreThoseOfTheStepsTaken) {
  int turn = 0;  // methods in pairs with problems
  for (const Method& method : implicit_methods())
    for (const std::string& time : times_of(method)) {
      const std::string& text = turn % 3 == 0 ? line : turn % 3 == 1 ? plane : space;
      ++turn;
      SCOPED_TRACE(time + text.substr(0, 12));
      Session session(test::text_case(text + time), test::world(), Sensitivities::adjoint_and_tangent);
      session.gradient({});
      session.simulation().fix_end();
      test::expect_right_gradient(session, 1e-2, 1e-11);
    }
}

TEST(ImplicitGrids, GradientsOfRosenbrockStepsAreRightAtWallsOfAllKinds) {
  for (const std::string method : {"ros3p", "rodas4"})
    for (const std::string& time : times_of(methods().find(method)))
      for (const std::string& text : {line, plane, space, moving, shaken, wide}) {
        SCOPED_TRACE(time + text.substr(0, 13));
        Session session(test::text_case(text + time), test::world(), Sensitivities::adjoint_and_tangent);
        session.gradient({});
        session.simulation().fix_end();
        test::expect_right_gradient(session, 5e-3, 1e-13);
      }
}

TEST(ImplicitGrids, RosenbrockStepsOfMovingWallsHaveOneHash) {
  for (const std::string method : {"ros3p", "rodas4"})
    for (const std::string& time : times_of(methods().find(method)))
      for (const std::string& text : {moving, shaken}) {
        SCOPED_TRACE(time + text.substr(0, 13));
        Session serial(test::text_case(text + time), test::self(), Sensitivities::adjoint);
        const Evaluation expected = serial.gradient({});
        Session session(test::text_case(text + time + "checkpoints: {host: 3 slots}\n"), test::world(),
                        Sensitivities::adjoint);
        test::expect_same_bits(session, session.gradient({}), expected);
      }
}

TEST(ImplicitGrids, HaveOneHashWhateverTheCheckpointsAndTheRanks) {
  for (const Method& method : implicit_methods())
    for (const std::string& time : times_of(method))
      for (const std::string& text : {line, plane}) {
        SCOPED_TRACE(time + text.substr(0, 12));
        Session serial(test::text_case(text + time), test::self(), Sensitivities::adjoint);
        const Evaluation expected = serial.gradient({});
        for (const char* host : {"1 GiB", "3 slots"}) {
          Session session(test::text_case(text + time + "checkpoints: {host: " + host + "}\n"), test::world(),
                          Sensitivities::adjoint);
          test::expect_same_bits(session, session.gradient({}), expected);
          EXPECT_EQ(session.objective({}), expected.objective);
        }
      }
}

/// A matrix that is symmetric for the case's values has other factors where it no longer is.
TEST(ImplicitGrids, FactorsFollowTheValuesOfParameters) {
  const auto text = [](const char* c) {
    return fmt::format(
        "case: drift\ngrid: {{x: {{cells: 20, to: 1, boundary: periodic}}}}\nparameters: {{c: {}}}\nstate: {{u: "
        "{{initial: \"1 + 0.5*sin(2*pi*x)\"}}}}\nequations: {{dt(u): \"0.01*lap(u) - c*dx(u)\"}}\ntime: {{method: cn, "
        "step: 0.02, to: 0.5}}\nobjective: [{{final: \"u^2*x\"}}]\nunknowns: {{c: {{}}}}\n",
        c);
  };
  Session moved(test::text_case(text("0")), test::world(), Sensitivities::adjoint_and_tangent);
  Session there(test::text_case(text("0.3")), test::world(), Sensitivities::adjoint_and_tangent);
  test::expect_right_gradient(moved, 1e-2, 1e-11);
  moved.simulation().set_values({{0.3}});
  EXPECT_EQ(moved.objective({}), there.objective({}));
  moved.simulation().set_values({{0.0}});
  EXPECT_NE(moved.objective({}), there.objective({}));
}

/// Large enough for iterations.
const std::string large = R"yaml(
case: large
grid: {x: {cells: 80, to: 2.5, boundary: periodic}, y: {cells: 81, to: 2.5, boundary: periodic}}
parameters: {F: 0.024, k: 0.06}
state: {u: {initial: "1 - 0.5*exp(-20*((x-1.25)^2+(y-1.25)^2))"}, v: {initial: "0.25*exp(-20*((x-1.25)^2+(y-1.25)^2))"}}
equations:
  dt(u): {implicit: "8e-5*lap(u) - u*v^2", explicit: "F*(1 - u)"}
  dt(v): {implicit: "4e-5*lap(v) + u*v^2", explicit: "-(F + k)*v"}
objective: [{final: "(u - 0.5)^2"}]
unknowns: {F: {}, k: {}, initial(v): {}}
)yaml";

/// PETSc asks for memory amid what ranks do together: where one of them has none left, all are told.
TEST(ImplicitGrids, MemoryThatIsLackingIsSaidOnAllRanks) {
  Session session(test::text_case(large + "time: {method: sdirk2, step: 0.5, to: 2}\n"), test::world(),
                  Sensitivities::none);
  MemoryAccount& account = *session.simulation().memory();
  if (test::world().is_root()) account.set_limit(account.used() + 1000);
  EXPECT_THROW(session.objective({}), ResourceError);
}

/// From a first step so short that the preconditioner is almost exact.
TEST(ImplicitGrids, GradientsOfLargeSystemsAreRight) {
  for (const std::string method : {"esdirk4", "rodas4"}) {
    const std::string text = large + "time: {method: " + method + ", tolerance: 1e-3, step: 1e-6, to: 2}\n";
    SCOPED_TRACE(method);
    Session session(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
    const Evaluation expected = session.gradient({});
    Session few(test::text_case(text + "checkpoints: {host: 3 slots}\n"), test::world(), Sensitivities::adjoint);
    const Evaluation found = few.gradient({});
    EXPECT_EQ(found.objective, expected.objective);
    EXPECT_TRUE(found.gradient == expected.gradient);
    session.simulation().fix_end();
    test::expect_right_gradient(session, 1e-2, 1e-10);
  }
}

/// u = sin(pi x) decays with the rate that the second difference has for it.
TEST(ImplicitGrids, MethodsHaveTheirOrders) {
  constexpr int n = 16;
  constexpr double pi = 3.14159265358979323846;
  const double rate = 2.0 * n * n * (1.0 - std::cos(pi / n));
  for (const Method& method : implicit_methods()) {
    const auto error = [&](double step) {
      Session session(
          test::text_case(fmt::format(
              "case: heat\ngrid: {{x: {{cells: {}, to: 1, boundary: {{value: 0}}}}}}\n"
              "state: {{u: {{initial: \"sin(pi*x)\"}}}}\nequations: {{dt(u): {{implicit: \"lap(u)\", explicit: "
              "u}}}}\n"
              "objective: [{{final: \"2*u*sin(pi*x)\"}}]\n"
              "time: {{method: {}, step: {}, to: 0.2}}\n",
              n, method.name, step)),
          test::world(), Sensitivities::none);
      return std::fabs(session.objective({}) - std::exp(0.2 * (1.0 - rate)));
    };
    EXPECT_GT(std::log2(error(0.02) / error(0.01)), method.order - 0.2) << method.name;
  }
}

/// What a wall gives is what a source in the cell beside it gives, where both follow the length of the step.
TEST(ImplicitGrids, WallsFollowTheLengthOfTheStepBeingTaken) {
  const auto session_of = [](const std::string& wall, const std::string& source, const std::string& method) {
    return Session(
        test::text_case(fmt::format("case: steps\ngrid: {{x: {{cells: 10, to: 1, boundary: {{lower: {{value: "
                                    "\"{}\"}}, upper: {{slope: 0}}}}}}}}\nparameters: {{a: 0.7, D: 0.1}}\n"
                                    "state: {{u: {{initial: \"sin(3*x)\"}}}}\nequations: {{dt(u): \"D*lap(u) "
                                    "- u^3{}\"}}\nobjective: [{{final: \"u^2\"}}]\nunknowns: {{a: {{}}, D: "
                                    "{{}}}}\ntime: {{method: {}, tolerance: 1e-4, step: 0.001, to: 1}}\n",
                                    wall, source, method)),
        test::world(), Sensitivities::adjoint_and_tangent);
  };
  for (const std::string method : {"esdirk4", "bdf2", "rodas4", "dopri5"}) {
    SCOPED_TRACE(method);
    Session walls = session_of("a + 0.5*step", "", method);
    Session sources = session_of("0", " + where(x < 0.1, 200*D*(a + 0.5*step), 0)", method);
    const Evaluation found = walls.gradient({}), expected = sources.gradient({});
    EXPECT_NEAR(found.objective, expected.objective, 1e-8 * expected.objective);
    EXPECT_LE(walls.relative_difference(found.gradient, expected.gradient), 1e-7);
    walls.simulation().fix_end();
    test::expect_right_gradient(walls, 1e-3, 1e-11);
  }
}

/// u = E(t) (1 + x), which differences are exact for: what is left is the error in time. Theory has less than the order
/// of rodas4 where values on walls change.
TEST(ImplicitGrids, RosenbrockMethodsKeepTheirOrderWhereWallsMove) {
  const std::string e = "exp(0.5*sin(3*t))";
  const auto error = [&](const std::string& method, const std::string& walls, int steps) {
    Session session(
        test::text_case(fmt::format("case: walls\ngrid: {{x: {{cells: 20, to: 1, boundary: {1}}}}}\n"
                                    "state: {{u: {{initial: \"1 + x\"}}}}\n"
                                    "equations: {{dt(u): \"lap(u) - u^2 + (1.5*cos(3*t) + {0}*(1+x))*{0}*(1+x)\"}}\n"
                                    "objective: [{{final: \"(u - exp(0.5*sin(3))*(1+x))^2\"}}]\n"
                                    "time: {{method: {2}, step: {3}, to: 1}}\n",
                                    e, walls, method, 1.0 / steps)),
        test::world(), Sensitivities::none);
    return std::sqrt(session.objective({}));
  };
  const std::string value = "{value: \"" + e + "*(1+x)\"}", slope = "{slope: \"" + e + "\"}";
  struct Expected {
    std::string method, walls;
    double order, error;  // with 40 steps
  };
  for (const Expected& of : {Expected{"rodas4", value, 2.85, 6e-7}, Expected{"rodas4", slope, 3.7, 4e-8},
                             Expected{"ros3p", value, 2.7, 3e-5}, Expected{"ros3p", slope, 2.8, 4e-5}}) {
    const double longer = error(of.method, of.walls, 40), shorter = error(of.method, of.walls, 80);
    EXPECT_GT(std::log2(longer / shorter), of.order) << of.method << " " << of.walls;
    EXPECT_LT(longer, of.error) << of.method << " " << of.walls;
  }
}

/// A grid whose cells depend on their neighbours by a factor of zero is an ensemble.
TEST(ImplicitGrids, RosenbrockStepsAreThoseOfEnsemblesWhereNothingCouplesCells) {
  for (const std::string method : {"ros3p", "rodas4"})
    for (const std::string& time : times_of(methods().find(method))) {
      SCOPED_TRACE(time);
      const auto evaluated = [&](const std::string& coupling) {
        const std::string text =
            "case: cells\ngrid: {x: {cells: 12, to: 1, boundary: {value: \"sin(t)\"}}}\n"
            "parameters: {a: 3, d: 0, q: {series: {times: [0, 0.2], values: [1, 2]}}}\nstate: {u: {initial: "
            "\"1 + x\"}, v: {initial: 0.4}}\nequations: {dt(u): \"a*u - u*v*q" +
            coupling + "\", dt(v): \"9*(u^2 - v) + sin(30*t)\"}\nobjective: [{final: \"u*v\"}]\n" +
            "unknowns: {a: {}, q: {}, initial(u): {}}\n";
        Session session(test::text_case(text + time), test::world(), Sensitivities::adjoint);
        Evaluation found = session.gradient({});
        return std::pair(found.objective, found.gradient);
      };
      const auto alone = evaluated(""), coupled = evaluated(" + d*lap(u)");
      EXPECT_NEAR(coupled.first, alone.first, 1e-13 * std::fabs(alone.first));
      for (std::size_t i = 0; i < alone.second.size(); ++i)
        for (std::size_t k = 0; k < alone.second[i].size(); ++k)
          EXPECT_NEAR(coupled.second[i][k], alone.second[i][k], 1e-13 * (1 + std::fabs(alone.second[i][k])));
    }
}

/// PETSc's iterations, to their tolerance.
TEST(ImplicitGrids, OtherSolversGiveTheSame) {
  const std::string time = "time: {method: cn, step: 0.01, to: 0.1}\n";
  Session direct(test::text_case(plane + time), test::world(), Sensitivities::adjoint_and_tangent);
  Session iterative(test::text_case(plane + time + "petsc: \"-step_ksp_type gmres -step_pc_type bjacobi\"\n"),
                    test::world(), Sensitivities::adjoint_and_tangent);
  const Evaluation expected = direct.gradient({}), found = iterative.gradient({});
  EXPECT_NEAR(found.objective, expected.objective, 1e-10 * std::fabs(expected.objective));
  EXPECT_LE(iterative.relative_difference(found.gradient, expected.gradient), 1e-9);
  test::expect_right_gradient(iterative, 1e-2, 1e-9);
}

/// An independent program: dense matrices, and derivatives of its own by complex steps, exact to round-off.
const std::string dense = R"py(
import json, sys
import numpy as np
nx, ny, h, steps, theta = 6, 5, 0.02, 10, float(sys.argv[1])
hx, hy = 1 / nx, 1 / ny
x, y = np.meshgrid((np.arange(nx) + 0.5) * hx, (np.arange(ny) + 0.5) * hy)

def objective(k, u):
    n = nx * ny
    a, b = np.zeros((n, n), complex), np.zeros(n, complex)
    for j in range(ny):
        for i in range(nx):
            c = i + nx * j
            for di, dj, w in ((1, 0, hx), (-1, 0, hx), (0, 1, hy), (0, -1, hy)):
                p, q = i + di, j + dj
                if 0 <= p < nx and 0 <= q < ny:
                    face = 0.5 * (k[c] + k[p + nx * q]) / w**2
                    a[c, p + nx * q] += face
                    a[c, c] -= face
                elif di == -1:  # u = 0.3 on this wall, the others let nothing through
                    a[c, c] -= 2 * k[c] / w**2
                    b[c] += 2 * 0.3 * k[c] / w**2
    left, right = np.eye(n) - h * theta * a, np.eye(n) + h * (1 - theta) * a
    for _ in range(steps):
        u = np.linalg.solve(left, right @ u + h * b)
    return hx * hy * np.sum(u**2)

k, u = (1 + 0.5 * x * y).ravel() + 0j, (np.sin(3 * x) * y).ravel() + 0j
def derivative(of, other):
    found = []
    for c in range(nx * ny):
        moved = of.copy()
        moved[c] += 1e-40j
        found.append((objective(moved, other) if of is k else objective(other, moved)).imag / 1e-40)
    return found
print(json.dumps({'objective': objective(k, u).real, 'k': derivative(k, u), 'u': derivative(u, k)}))
)py";

TEST(ImplicitGrids, AreWhatAnIndependentProgramFinds) {
  if (test::world().size() > 1) GTEST_SKIP() << "numbers are compared on one rank";
  if (std::system("/usr/bin/python3 -c 'import numpy' 2> /dev/null") != 0) GTEST_SKIP() << "no numpy";
  const std::string folder = ::testing::TempDir() + "hindsight-dense";
  std::ofstream(folder + ".py") << dense;
  for (const auto& [method, theta] : {std::pair("beuler", "1"), {"cn", "0.5"}, {"theta", "0.7"}}) {
    SCOPED_TRACE(method);
    ASSERT_EQ(std::system(fmt::format("/usr/bin/python3 {0}.py {1} > {0}.json", folder, theta).c_str()), 0);
    const nlohmann::json expected = nlohmann::json::parse(std::ifstream(folder + ".json"));
    Session session(
        test::text_case(fmt::format(
            "case: heat\ngrid: {{x: {{cells: 6, to: 1, boundary: {{lower: {{value: 0.3}}, upper: {{slope: 0}}}}}}, "
            "y: {{cells: 5, to: 1, boundary: {{slope: 0}}}}}}\nparameters: {{k: {{field: \"1 + 0.5*x*y\"}}}}\n"
            "state: {{u: {{initial: \"sin(3*x)*y\"}}}}\nequations: {{dt(u): \"div(k*grad(u))\"}}\n"
            "objective: [{{final: \"u^2\"}}]\nunknowns: {{k: {{}}, initial(u): {{}}}}\n"
            "time: {{method: {}, {}step: 0.02, to: 0.2}}\n",
            method, method == std::string("theta") ? "theta: 0.7, " : "")),
        test::world(), Sensitivities::adjoint);
    const Evaluation found = session.gradient({});
    EXPECT_NEAR(found.objective, expected["objective"].get<double>(), 1e-14);
    const auto expect = [&](const std::vector<double>& mine, const std::vector<double>& others) {
      double largest = 0.0, apart = 0.0;
      for (std::size_t i = 0; i < mine.size(); ++i) {
        largest = std::max(largest, std::fabs(others[i]));
        apart = std::max(apart, std::fabs(mine[i] - others[i]));
      }
      EXPECT_LE(apart, 1e-12 * largest);  // asked for: 1e-10
    };
    expect(found.gradient[0], expected["k"]);
    expect(found.gradient[1], expected["u"]);
  }
}

/// Newton's method looks at each field by its own size, and at conditions that the Jacobian does not show.
TEST(ImplicitGrids, EveryEquationIsSolved) {
  const auto final_of = [](const std::string& state, const std::string& equations, const std::string& of, double step) {
    Session session(test::text_case("case: fields\ngrid: {x: {cells: 8, to: 1, boundary: periodic}}\nstate: {" + state +
                                    "}\nequations: {" + equations + "}\nobjective: [{final: \"" + of +
                                    "\"}]\ntime: {method: beuler, step: " + std::to_string(step) + ", to: 0.2}\n"),
                    test::world(), Sensitivities::none);
    return session.objective({});
  };
  double found[2] = {};
  for (const bool is_large : {false, true})
    found[is_large ? 1 : 0] = final_of(
        std::string("n: {initial: \"") + (is_large ? "1e19" : "1") + "*(1 + 0.1*sin(2*pi*x))\"}, v: {initial: 1}",
        "dt(n): \"lap(n)\", dt(v): \"lap(v) - 20*v^3\"", "v^2", 0.1);
  EXPECT_NEAR(found[1], found[0], 1e-13);
  EXPECT_NEAR(final_of("u: {initial: 0.4}, w: {initial: 1}",
                       "dt(u): \"lap(u) + w\", dt(w): \"lap(w) + where(u > 0.5, 10, 0)\"", "w", 0.2),
              3.0, 1e-13);
  EXPECT_NEAR(final_of("u: {initial: 1}", "dt(u): \"lap(u) - 1e60*u - u^2\"", "u", 0.05), 0.0, 1e-200);
}

TEST(ImplicitGrids, OptionsThatNothingReadsAreRefused) {
  const std::string time = "time: {method: cn, step: 0.01, to: 0.1}\n";
  const auto expect = [&](const std::string& text, const std::string& part) {
    const std::string said = test::failure_of(text);
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  expect(plane + time + "petsc: \"-step_kps_type gmres\"\n",
         "test.yaml:12:8: petsc: no solver of implicit steps reads -step_kps_type");
  expect(plane + time + "petsc: \"-step_ksp_type gmres\\n-step_foo 2\"\n", "reads -step_foo;");
  expect(plane + time + "petsc: \"-step_snes_max_it 0\"\n",
         "test.yaml:12:8: petsc: -step_snes_max_it must be at least 1, and is 0");
  expect(plane + time + "petsc: \"-step_ksp_max_it -5\"\n", "-step_ksp_max_it must be at least 1, and is -5");
  expect(plane + time + "petsc: \"-step_ksp_rtol 2\"\n", "-step_ksp_rtol must lie between 0 and 1, and is 2");
  expect(plane + time + "petsc: \"-step_pc_type bogus\"\n", "PETSc refuses it");
  expect(plane + time + "petsc: \"-step_snes_mf\"\n", "-step_snes_mf cannot be given: the derivatives are those");
  expect(plane + time + "petsc: \"-step_snes_rtol 0.1\"\n", "judged by its changes");
  expect(plane + "time: {method: rk4, step: 1e-4, to: 0.1}\npetsc: \"-step_pc_type lu\"\n", "which these are not");
  expect(plane + time + "petsc: \"-step_snes_type ksponly\"\n", "must be newtonls or newtontr, and is ksponly");
}

TEST(ImplicitGrids, OptionsAreSaidToComeFromWhereTheyDo) {
  const PetscOptions both{"-step_a 1\n-step_b", {"case.yaml", 3, 8}, "-step_c -5 --step_b 2"};
  EXPECT_EQ(both.text(), "-step_a 1 -step_b -step_c -5 --step_b 2");
  EXPECT_EQ(both.first_with("-step_b"), "-step_b");
  EXPECT_EQ(both.origin("-step_a"), "case.yaml:3:8: petsc:");
  EXPECT_EQ(both.origin("-step_b"), "--petsc:");
  EXPECT_EQ(both.origin("-step"), "PETSC_OPTIONS:");
  EXPECT_EQ(both.origin(), "case.yaml:3:8: petsc:, --petsc:");
  EXPECT_EQ((PetscOptions{"", {}, "-step_a"}.origin()), "--petsc:");
}

/// PETSc has one table of options for all solvers of a process.
TEST(ImplicitGrids, OptionsLiveAsLongAsOneWhoGaveThem) {
  start_petsc();
  const auto has = [](const char* name) {
    PetscBool is_given = PETSC_FALSE;
    PetscOptionsHasName(nullptr, nullptr, name, &is_given);
    return is_given == PETSC_TRUE;
  };
  auto first = std::make_unique<GivenOptions>("-step_foo 1 -step_foo_bar 2", "test");
  auto second = std::make_unique<GivenOptions>("-step_foo 1", "test");
  EXPECT_EQ(unused_options("-step_foo_bar 2"), std::vector<std::string>{"-step_foo_bar"});
  first.reset();
  EXPECT_TRUE(has("-step_foo"));
  EXPECT_FALSE(has("-step_foo_bar"));
  second.reset();
  EXPECT_FALSE(has("-step_foo"));
}

/// Of blocks, domains, levels and parts.
TEST(ImplicitGrids, PackagesInsideOfPreconditionersAreFound) {
  const auto notes = [](const std::string& options) {
    Session session(test::text_case(plane + "time: {method: cn, step: 0.01, to: 0.02}\npetsc: \"" + options + "\"\n"),
                    test::world(), Sensitivities::none);
    session.objective({});
    return join(session.simulation().stepper().solver_report().notes);
  };
  const std::string said = "the memory that umfpack takes for PETSc's solvers is not counted in budgets";
  const std::string own = "pc_type lu -step_sub_pc_factor_mat_solver_type umfpack";
  EXPECT_EQ(notes("-step_ksp_type gmres -step_pc_type bjacobi -step_sub_" + own), said);
  EXPECT_EQ(notes("-step_ksp_type gmres -step_pc_type asm -step_sub_" + own), said);
  EXPECT_EQ(notes("-step_ksp_type gmres -step_pc_type gamg -step_mg_levels_pc_type bjacobi -step_mg_levels_sub_" +
                  std::string("pc_type lu -step_mg_levels_sub_pc_factor_mat_solver_type umfpack")),
            said);
  EXPECT_EQ(notes("-step_ksp_type gmres -step_pc_type bjacobi -step_sub_pc_type lu"), "");
}

/// Newton's method never ends: steps are cut until they are as short as they may be, or as many.
TEST(ImplicitGrids, StepsThatAreCutForWantOfASolutionAreSaidToBe) {
  const std::string said = test::failure_of(plane +
                                            "time: {method: esdirk4, tolerance: 1e-4, to: 0.1, at most: 50}\n"
                                            "petsc: \"-step_snes_max_it 1\"\n");
  EXPECT_NE(said.find("of the steps that were tried had no finite error, the last at t = "), std::string::npos) << said;
  EXPECT_NE(said.find(": Newton's method (SNES) found no solution (DIVERGED_MAX_IT)"), std::string::npos) << said;
}

TEST(ImplicitGrids, FailuresAreNamed) {
  const std::string grows =
      "case: grows\ngrid: {x: {cells: 16, to: 1, boundary: periodic}}\nstate: {u: {initial: 1}}\n"
      "equations: {dt(u): \"lap(u) + 900*u^2\"}\ntime: {method: beuler, step: 0.5, to: 2}\nobjective: [{final: u}]\n";
  const std::string newton = test::failure_of(grows);
  EXPECT_NE(newton.find("after step 1 (t = 0.5)"), std::string::npos) << newton;
  EXPECT_NE(newton.find("Newton's method (SNES) found no solution"), std::string::npos) << newton;
  const std::string local = test::failure_of(
      "case: local\ngrid: {x: {cells: 16, to: 1, boundary: periodic}}\nstate: {w: {initial: 1}, u: {initial: 1}}\n"
      "equations: {dt(w): \"lap(w)\", dt(u): \"0.001*lap(u) + where(abs(x - 0.53125) < 0.01, 900*u^2, 0)\"}\n"
      "time: {method: beuler, step: 0.5, to: 2}\nobjective: [{final: u}]\n");
  EXPECT_NE(local.find("the state is not finite after step 1 (t = 0.5): Newton's"), std::string::npos) << local;
  EXPECT_NE(local.find("in the end most in dt(u) at x = 0.53125"), std::string::npos) << local;
  EXPECT_NE(local.find(" more), "), std::string::npos) << local;
  const std::string time = "time: {method: cn, step: 0.01, to: 0.1}\n";
  EXPECT_NE(test::failure_of(plane + time + "petsc: \"-step_ksp_type gmres -step_pc_type jacobi -step_ksp_max_it 2\"\n")
                .find("DIVERGED_LINEAR_SOLVE"),
            std::string::npos);
  const std::string linear =
      test::failure_of(plane + "time: {method: rodas4, step: 0.01, to: 0.1}\n" +
                       "petsc: \"-step_ksp_type gmres -step_pc_type jacobi -step_ksp_max_it 2\"\n");
  EXPECT_NE(linear.find(": PETSc's linear solver (KSP) gave up after 2 iterations"), std::string::npos) << linear;
  EXPECT_EQ(linear.find("ksp_type gmres"), std::string::npos) << linear;  // which it is
  const std::string singular = test::failure_of(
      "case: singular\ngrid: {x: {cells: 8, to: 1, boundary: periodic}}\nstate: {u: {initial: 1}, p: }\nequations: "
      "{dt(u): \"-u\", zero(p): \"dx(p) + sin(2*pi*x)\"}\n" +
      time + "objective: [{final: u}]\n");
  EXPECT_NE(singular.find("pc_factor_mat_solver_type mumps"), std::string::npos) << singular;
  EXPECT_EQ(singular.find("pc_type lu"), std::string::npos) << singular;  // which has failed
  const std::string starts = test::failure_of(
      "case: root\ngrid: {x: {cells: 8, to: 1, boundary: {slope: 0}}}\nstate: {u: {initial: 0}}\nequations: {dt(u): "
      "\"lap(u) + sqrt(u) + 1\"}\ntime: {method: rodas4, step: 0.01, to: 0.1}\nobjective: [{final: u}]\n");
  EXPECT_NE(
      starts.find("made of the equations' derivatives, is not finite: that of dt(u) with respect to u at x = 0.0625"),
      std::string::npos)
      << starts;
}

}  // namespace
}  // namespace hindsight

// PETSc's solvers of implicit steps: kinds that alternate, options, failures, and fields of very different size.
// ranks: 2
// ranks of --long: 1
#include <fmt/format.h>

#include "tests/support.hpp"
#include "tests/whole.hpp"

namespace hindsight {
namespace {

void expect_failure(const std::string& text, const std::string& part, Sensitivities wanted = Sensitivities::adjoint) {
  const std::string said = test::failure_of(text, wanted);
  EXPECT_NE(said.find(part), std::string::npos) << said;
}

/// Diffusion that is strong in some steps and weak in others: multigrid, then incomplete factors, in turn.
const std::string alternating = R"yaml(
case: alternating
grid: {x: {cells: 90, to: 1, boundary: {value: 0}}, y: {cells: 90, to: 1, boundary: {slope: 0}}}
parameters: {k: 1.5}
state: {T: {initial: "sin(3*x) + y"}}
equations: {dt(T): "k*(1.05 + sin(2.5 + 60*t))*lap(T) - T^3"}
time: {method: beuler, step: 0.005, to: 0.07}
objective: [final: "T^2"]
unknowns: {k: {}, initial(T): {}}
)yaml";

/// Advection that is weak, stronger and strong: incomplete factors without and with fill, and the diagonal.
const std::string gusts = R"yaml(
case: gusts
grid: {x: {cells: 90, to: 1, boundary: periodic}, y: {cells: 90, to: 1, boundary: periodic}}
parameters: {c: 2.6}
state: {T: {initial: "sin(2*pi*x)*cos(2*pi*y)"}}
equations: {dt(T): "0.001*lap(T) - c*(1.02 + sin(500*t))*dx(T) - T^3"}
time: {method: beuler, step: 0.01, to: 0.1}
objective: [final: "T^2"]
unknowns: {c: {}, initial(T): {}}
)yaml";

TEST(GridSolvers, StepsOfOtherKindsBeforeLeaveNoTrace) {
  const std::string nested =
      "-step_pc_type bjacobi -step_sub_pc_type gamg -step_sub_mg_levels_ksp_type richardson "
      "-step_sub_mg_levels_pc_type ilu";
  std::vector<std::string> texts = {alternating, gusts};
  for (const std::string& options : test::some_of<std::string>(
           {"-step_pc_type gamg", "-step_ksp_type gmres -step_pc_type bjacobi -step_sub_pc_type lu", nested}, {nested}))
    texts.push_back(alternating + "petsc: \"" + options + "\"\n");
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    Session all(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
    const Evaluation expected = all.gradient({});
    if (text == alternating) test::expect_right_gradient(all, 1e-3, 1e-10);
    for (const std::string& slots : test::some_of<std::string>({"2", "3"}, {"2"})) {
      Session few(test::text_case(text + "checkpoints: {host: " + slots + " slots}\n"), test::world(),
                  Sensitivities::adjoint);
      const Evaluation mine = few.gradient({});
      EXPECT_EQ(mine.objective, expected.objective);
      EXPECT_EQ(mine.gradient, expected.gradient);
    }
  }
}

/// Options that make factors of what would have been iterations: Newton's method is what it is with them.
TEST(GridSolvers, FactorsByOptionsAreAsExact) {
  Session session(test::text_case(alternating + "petsc: \"-step_ksp_type preonly -step_pc_type " +
                                  (test::world().size() > 1 ? "redundant\"\n" : "lu\"\n")),
                  test::world(), Sensitivities::adjoint_and_tangent);
  session.gradient({});
  EXPECT_EQ(session.simulation().stepper().solved_to(), 0.0);
  test::expect_right_gradient(session, 1e-3, 1e-13);
}

/// Within budgets of little more than working memory, other values need other solvers.
class GridSolverBudgets : public testing::Test {
 protected:
  static SessionOptions of_inversion() {
    SessionOptions options;
    options.gradients = 2;
    return options;
  }
  static std::int64_t working(const std::string& text) {
    Session session(test::text_case(text), test::world(), Sensitivities::adjoint, of_inversion());
    return session.plan_inputs().working(Tier::host);
  }
  /// The gradient at values that are the first ones, then so many times larger, then shifted.
  static void expect_room(const std::string& text, double factor, double shift) {
    const std::string budget = fmt::format("checkpoints: {{host: {} B}}\n", working(text) + 8 * 400'000);
    Session session(test::text_case(text + budget), test::world(), Sensitivities::adjoint, of_inversion());
    session.gradient({});
    UnknownValues values = session.simulation().values();
    values[0][0] = factor * values[0][0] + shift;
    session.set_values(values);
    EXPECT_NO_THROW(session.gradient({}));
  }
};

TEST_F(GridSolverBudgets, HaveRoomForMultigrid) {
  expect_room(R"yaml(
case: conducting
grid: {x: {cells: 32, to: 1}, y: {cells: 32, to: 1}, z: {cells: 32, to: 1}}
parameters: {k: 1.5}
state: {T: {initial: "cos(pi*x)*cos(pi*y)"}}
equations: {dt(T): "k*lap(T)"}
time: {method: beuler, step: 0.01, to: 0.03}
objective: [final: "T^2"]
unknowns: {k: {}}
)yaml",
              40.0, 0.0);
}

TEST_F(GridSolverBudgets, HaveRoomForFactorsThatAreNotSymmetric) {
  expect_room(R"yaml(
case: drifting
grid: {x: {cells: 120, to: 1}, y: {cells: 120, to: 1}}
parameters: {c: 0}
state: {T: {initial: "exp(-20*(x-0.3)^2)*(1+y)"}}
equations: {dt(T): "0.01*lap(T) - c*dx(T)"}
time: {method: beuler, step: 0.01, to: 0.03}
objective: [final: "(T - 0.1*x)^2"]
unknowns: {c: {}}
)yaml",
              1.0, 0.2);
}

TEST_F(GridSolverBudgets, HaveRoomForEveryShot) {
  const std::string text = R"yaml(
case: shots
grid: {x: {cells: 32, to: 1}, y: {cells: 32, to: 1}, z: {cells: 32, to: 1}}
parameters: {k: 0.5, s: 1}
state: {T: {initial: "s*cos(pi*x)*cos(pi*y)"}}
equations: {dt(T): "k*lap(T)"}
time: {method: beuler, step: 0.01, to: 0.03}
objective: [final: "T^2"]
unknowns: {s: {}}
shots: [{shot: a, parameters.k: 0.5}, {shot: b, parameters.k: 40}]
)yaml";
  expect_room(text, 1.0, 0.1);
}

/// The first systems of the warm-up are solved by zeros, and need no second look.
TEST_F(GridSolverBudgets, HaveRoomToLookAtSolutions) {
  expect_room(R"yaml(
case: doubtful
grid: {x: {cells: 60, to: 1}, y: {cells: 60, to: 1}}
parameters: {k: 1e7}
state: {T: {initial: 0}}
equations: {dt(T): "k*(1 + 0.1*sin(9*x))*lap(T) + exp(sin(7*x + y))"}
time: {method: beuler, step: 1, to: 3}
objective: [final: "T^2*(1+x)"]
unknowns: {k: {}, initial(T): {}}
)yaml",
              1.0, 0.0);
}

TEST_F(GridSolverBudgets, HaveRoomForTheBasisOfGmres) {
  expect_room(alternating + "petsc: \"-step_ksp_type gmres\"\n", 1.0, 0.0);
}

/// sqrt(u) has no derivative at 0, where some cells begin.
TEST(GridSolvers, GuessesWithoutDerivativesInSomeCellsAreLeft) {
  for (const std::string cells : {"32", "100"})
    EXPECT_EQ(
        test::failure_of("case: rise\ngrid: {x: {cells: " + cells + ", to: 1}, y: {cells: " + cells + R"yaml(, to: 1}}
state: {u: {initial: "max(x - 0.5, 0)"}}
equations: {dt(u): "0.01*lap(u) + sqrt(u) + 1"}
time: {method: beuler, step: 0.01, to: 0.03}
)yaml"),
        "")
        << cells;
}

/// Once PETSc says that it cannot go on, neither steps that are shorter nor other values are tried.
TEST(GridSolvers, AreNotUsedAfterErrorsOfPetscsOwn) {
  Session session(test::text_case("case: broken\ngrid: {x: {cells: 90, to: 1}}\nstate: {u: {initial: x}}\n"
                                  "equations: {dt(u): \"(1e-6 + 1e3*t)*lap(u)\"}\n"
                                  "time: {method: esdirk4, tolerance: 1e-4, step: 1e-6, to: 1}\n"
                                  "petsc: \"-step_ksp_type gmres -step_pc_type none -step_ksp_max_it 9 "
                                  "-step_ksp_error_if_not_converged\"\n"),
                  test::world(), Sensitivities::none);
  const auto said = [&]() -> std::string {
    try {
      session.objective({});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::numerics);
      return error.what();
    }
    return "";
  };
  const std::string first = said(), second = said();
  EXPECT_NE(first.find("KSPSolve has not converged"), std::string::npos) << first;
  EXPECT_NE(second.find("has failed before"), std::string::npos) << second;
}

TEST(GridSolvers, ComputeOnTheHostAlone) {
  const std::unique_ptr<Machine> device = test::device();
  for (const std::string method : {"beuler", "rodas4", "ark3"}) try {
      SessionOptions options;
      options.machine = {std::shared_ptr<void>(), device.get()};
      Session session(test::text_case("case: plate\ngrid: {x: {cells: 16, to: 1}}\nstate: {u: {initial: x}}\n"
                                      "equations: {dt(u): {explicit: \"-u\", implicit: \"lap(u)\"}}\ntime: {method: " +
                                      method + ", step: 0.01, to: 0.05}\n"),
                      test::world(), Sensitivities::none, options);
      FAIL() << method;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("time.method '" + method + "' computes on the host alone"),
                std::string::npos)
          << error.what();
    }
}

TEST(GridSolvers, OptionsOfPartsMayBeForOtherSteps) {
  EXPECT_EQ(test::failure_of(alternating + "petsc: \"-step_mg_levels_pc_type jacobi -step_redundant_pc_type lu\"\n",
                             Sensitivities::none),
            "");
}

TEST(GridSolvers, ToleranceThatIsGivenIsKept) {
  for (const double tolerance : {1e-12, 1e-5}) {
    Session session(test::text_case(alternating + fmt::format("petsc: \"-step_ksp_rtol {}\"\n", tolerance)),
                    test::world(), Sensitivities::adjoint);
    session.gradient({});
    EXPECT_EQ(session.simulation().stepper().solved_to(), tolerance);
  }
}

const std::string plate = R"yaml(
case: plate
grid: {x: {cells: 16, to: 1, boundary: {value: 1}}, y: {cells: 12, to: 1, boundary: {slope: 0}}}
parameters: {k: {field: "1 + x"}, v: 0.3}
state: {u: {initial: "x*y"}}
equations: {dt(u): "div(k*grad(u)) - v*dx(u)"}
time: {method: beuler, step: 0.01, to: 0.05}
objective: [final: "u^2"]
unknowns: {k: {}, v: {}}
)yaml";

std::string with(const std::string& options) {
  return plate + "petsc: \"" + options + "\"\n";
}

TEST(GridSolvers, OptionsThatWouldNotRepeatAreRefused) {
  for (const std::string option :
       {"-step_ksp_guess_type fischer", "-step_ksp_initial_guess_nonzero", "-step_snes_lag_jacobian_persists"})
    expect_failure(with(option), "cannot be given: a step is to be repeated bit for bit from its state alone");
  expect_failure(with("-step_snes_lag_jacobian -2"), "-step_snes_lag_jacobian must be at least 1, and is -2");
  expect_failure(with("-step_snes_lag_preconditioner -1"), "-step_snes_lag_preconditioner must be at least 1");
  expect_failure(with("-step_snes_type qn"), "-step_snes_type must be newtonls or newtontr, and is qn");
  expect_failure(with("-step_snes_fd"), "the derivatives are those of the equations");
  expect_failure(with("-step_ksp_diagonal_scale"), "solvers are to leave the matrix as it is");
  expect_failure(with("-step_pc_type mg"), "-step_pc_type cannot be mg");
  for (const std::string part : {"-step_pc_type gamg -step_pc", "-step_pc_type bjacobi -step_sub_pc"})
    expect_failure(with(part + "_gamg_reuse_interpolation"), "cannot be true: a step is to be repeated bit for bit");
}

TEST(GridSolvers, OptionsOfSystemsThatPetscDoesNotSolveAreRefused) {
  const std::string grid = "case: split\ngrid: {x: {cells: 16, to: 1}}\nstate: {u: {initial: x}, p: }\n";
  expect_failure(grid +
                     "equations: {dt(u): {explicit: \"lap(u)\", implicit: \"-u\"}, zero(p): \"p - u\"}\n"
                     "time: {method: ark3, step: 1e-4, to: 1e-3}\npetsc: \"-step_kps_tpye x\"\n",
                 "the options -step_... are for systems whose equations read neighbours");
  expect_failure(grid +
                     "equations: {dt(u): \"lap(u)\", zero(p): \"p - u^2\"}\n"
                     "time: {method: rk4, step: 1e-4, to: 1e-3}\npetsc: \"-constraint_foo\"\n",
                 "the options -constraint_... are for systems whose equations read neighbours");
}

/// PETSc's objects are of no use after an error of its own.
TEST(GridSolvers, PreconditionersWithoutTransposesAreNamed) {
  expect_failure(with("-step_ksp_type gmres -step_pc_type kaczmarz"),
                 "the preconditioner 'kaczmarz' has no transpose in PETSc, and gradients need that");
  for (const std::string by : {"sor", "eisenstat"})
    if (test::world().size() == 1)
      expect_failure(with("-step_ksp_type gmres -step_pc_type " + by), "Can only apply transpose of");
  EXPECT_EQ(test::failure_of(with("-step_ksp_type gmres -step_pc_type kaczmarz"), Sensitivities::none), "");
}

/// Their own transposes, so that hypre serves, which has none.
TEST(GridSolvers, SymmetricMatricesNeedNoTransposes) {
  std::string text = with("-step_ksp_type gmres -step_pc_type hypre");
  text.replace(text.find(" - v*dx(u)"), 10, " - v*u");
  Session session(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
  session.gradient({});
  test::expect_right_gradient(session, 1e-2, 1e-9);
}

/// Nor where room is kept for solvers that others would need.
TEST(GridSolvers, SymmetricMatricesNeedNoTransposesInInversions) {
  for (const std::string options : {"-step_ksp_type cg -step_pc_type sor", "-step_ksp_type gmres -step_pc_type hypre",
                                    "-step_ksp_error_if_not_converged"}) {
    SCOPED_TRACE(options);
    SessionOptions of_inversion;
    of_inversion.gradients = 3;
    Session session(test::text_case(R"yaml(
case: symmetric
grid: {x: {cells: 90, to: 1}, y: {cells: 90, to: 1}}
parameters: {k: 1}
state: {T: {initial: "cos(pi*x)"}}
equations: {dt(T): "k*lap(T)"}
time: {method: beuler, step: 0.01, to: 0.02}
objective: [final: "T^2"]
unknowns: {k: {}}
petsc: ")yaml" + options + "\"\n"),
                    test::world(), Sensitivities::adjoint, of_inversion);
    EXPECT_NO_THROW(session.gradient({}));
  }
}

TEST(GridSolvers, SayHowTheySolve) {
  const auto how = [](const std::string& text) {
    Session session(test::text_case(text), test::world(), Sensitivities::none);
    session.objective({});
    return session.simulation().stepper().solver_report().solvers;
  };
  using Solvers = std::map<std::string, std::string>;
  EXPECT_EQ(how(plate), (Solvers{{"-step_", "factors (lu)"}}));
  EXPECT_EQ(how(with("-step_ksp_type gmres -step_pc_type bjacobi")),
            (Solvers{{"-step_", "gmres, preconditioned by bjacobi of ilu, to 1e-12"}}));
  EXPECT_EQ(how(R"yaml(
case: stream
grid: {x: {cells: 16, to: 1, boundary: {value: 0}}, y: {cells: 12, to: 1, boundary: {value: 0}}}
state: {w: {initial: "x*y"}, psi: }
equations: {dt(w): "0.01*lap(w) - w^2", zero(psi): "lap(psi) + w"}
time: {method: rk4, step: 0.01, to: 0.05}
objective: [final: "psi^2"]
)yaml"),
            (Solvers{{"-constraint_", "factors (cholesky)"}}));
}

TEST(GridSolvers, BalancesThatDoNothingAreSaidTo) {
  Session session(test::text_case(R"yaml(
case: stream
grid: {x: {cells: 16, to: 1, boundary: {value: 0}}}
state: {w: {initial: "x"}, psi: }
equations: {dt(w): "0.01*lap(w)", zero(psi): {rhs: "lap(psi) + w", balance: true}}
time: {method: beuler, step: 0.01, to: 0.05}
objective: [final: "psi^2"]
)yaml"),
                  test::world(), Sensitivities::none);
  session.objective({});
  const std::vector<std::string> notes = session.simulation().stepper().solver_report().notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("balance: true of zero(psi) has no effect"), std::string::npos) << notes[0];
}

TEST(GridSolvers, FactorsThatDoNotRepeatThemselvesAreSaidTo) {
  Session session(test::text_case(with("-step_pc_type lu -step_pc_factor_mat_solver_type mumps")), test::world(),
                  Sensitivities::none);
  session.objective({});
  const std::string said = fmt::format("{}", fmt::join(session.simulation().stepper().solver_report().notes, "; "));
  EXPECT_EQ(said.find("mumps on several ranks does not repeat itself") != std::string::npos, test::world().size() > 1)
      << said;
}

/// A singular step is a step that fails, whether a constant is free beside it or not; a trial of the planner's is not.
TEST(GridSolvers, SingularStepsAreNamed) {
  const std::string grid = R"yaml(
case: singular
grid: {x: {cells: 24, to: 1, boundary: periodic}}
parameters: {c: 1}
time: {method: beuler, step: 0.25, to: 1}
objective: [final: "w^2"]
unknowns: {initial(w): {}, c: {}}
)yaml";
  const std::string said =
      "after step 1 (t = 0.25): the linear system is not solved: the matrix of the step is singular";
  expect_failure(grid + R"yaml(
state: {w: {initial: "sin(2*pi*x)"}, p: }
equations: {dt(w): "4*w", zero(p): {rhs: "lap(p) + c*w", balance: true}}
)yaml",
                 said);
  expect_failure(grid + R"yaml(
state: {w: {initial: "1"}}
equations: {dt(w): "c*lap(w) + 4*w"}
)yaml",
                 "after step 1 (t = 0.25)");
}

/// One of a million and one of 1, with a constant that is free; the adjoint's sizes are the other way around.
TEST(GridSolvers, FieldsMayDifferInSize) {
  const std::string torus = R"yaml(
case: torus
grid: {x: {cells: 16, to: 1, boundary: periodic}, y: {cells: 12, to: 1, boundary: periodic}}
parameters: {k: {field: "1 + 0.5*sin(2*pi*x)"}}
state: {s: {initial: "1e6*sin(2*pi*x)*cos(2*pi*y)"}, p: }
equations: {dt(s): "0.01*lap(s) - div(s*k*grad(p))", zero(p): "div(k*grad(p)) + s/1e6"}
time: {method: beuler, step: 0.01, to: 0.05}
objective: [final: "(s/1e6)^2 + p^2"]
unknowns: {k: {}, initial(s): {}}
)yaml";
  const std::string line = R"yaml(
case: line
grid: {x: {cells: 50, to: 1, boundary: {value: 0}}}
parameters: {S: 1e10, a: 1}
state: {u: {initial: "S*sin(pi*x)"}, v: {initial: "sin(2*pi*x)"}}
equations: {dt(u): "lap(u) + a*S*v", dt(v): "lap(v) - a*u/S"}
time: {method: beuler, step: 0.01, to: 0.1}
objective: [final: "u^2/S^2 + v^2"]
unknowns: {a: {}}
)yaml";
  for (const std::string& text : {torus, line}) {
    Session session(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
    session.gradient({});
    test::expect_right_gradient(session, 1e-2, 1e-9);
  }
}

/// What cancels in a constraint, or has decayed, leaves rounding: it is no integral that is not zero.
TEST(GridSolvers, RoundingIsNoSource) {
  const std::string torus =
      "grid: {x: {cells: 16, to: 2*pi, boundary: periodic}, y: {cells: 16, to: 2*pi, boundary: periodic}}\n";
  const std::string projection = "case: projection\n" + torus + R"yaml(
parameters: {nu: 0.05}
state: {u: {initial: "sin(x)*cos(y)"}, v: {initial: "-cos(x)*sin(y)"}, p: }
equations:
  zero(p): "lap(p) - dx(u) - dy(v)"
  dt(u): "nu*lap(u) - dx(p)"
  dt(v): "nu*lap(v) - dy(p)"
objective: [final: "u^2"]
unknowns: {nu: {}}
)yaml";
  const std::string decay = "case: decay\n" + torus + R"yaml(
parameters: {nu: 1}
state: {w: {initial: "sin(x)*cos(2*y) + 0.3*cos(x + y)"}, psi: }
equations: {dt(w): "-dy(psi)*dx(w) + dx(psi)*dy(w) + nu*lap(w)", zero(psi): "lap(psi) + w"}
objective: [integral: "w^2"]
unknowns: {nu: {}}
)yaml";
  for (const std::string method : {"rk4", "beuler"}) {
    EXPECT_EQ(
        test::failure_of(projection + "time: {method: " + method + ", step: 0.01, to: 0.05}\n", Sensitivities::adjoint),
        "");
    EXPECT_EQ(test::failure_of(decay + "time: {method: " + method + ", step: 0.04, to: 24}\n", Sensitivities::none),
              "");
  }
}

TEST(GridSolvers, ConstantsOfSeveralConstraintsTogetherAreRefused) {
  for (const std::string method : {"rk4", "beuler"})
    expect_failure(R"yaml(
case: joint
grid: {x: {cells: 24, to: 1, boundary: periodic}}
parameters: {c: 1}
state: {w: {initial: "sin(2*pi*x)"}, p: , q: }
equations: {dt(w): "0.01*lap(w) + dx(p) + dx(q)", zero(p): "lap(p) + p - q - c*w", zero(q): "lap(q) - c*w + q - p"}
objective: [final: "w^2"]
unknowns: {c: {}}
)yaml" + ("time: {method: " + method + ", step: 0.01, to: 0.1}\n"),
                   "leave a constant open that several fields have together");
}

}  // namespace
}  // namespace hindsight

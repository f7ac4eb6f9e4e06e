// Each Runge-Kutta method converges at its order; so do its adjoint gradients.
#include <cmath>

#include "solvers/steppers/explicit/runge_kutta.hpp"
#include "solvers/steppers/implicit/methods.hpp"
#include "solvers/steppers/methods.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

struct Problem {
  std::string name, text;
  double objective, slope;  ///< exact J and dJ/dk
};

/// Exact solutions: exp(-2k); cos of an oscillator with frequency k; logistic growth with rate k.
std::vector<Problem> problems() {
  const double k = 0.8, t = 1.0, u0 = 0.2;
  const double e = std::exp(k * t), logistic = u0 * e / (1 - u0 + u0 * e);
  return {
      {"decay", "state: {u: {initial: 1}}\nequations: {dt(u): {explicit: \"-0.5*k*u\", implicit: \"-0.5*k*u\"}}\n",
       std::exp(-k * t), -t * std::exp(-k * t)},
      {"oscillator",
       "state: {u: {initial: 1}, w: {initial: 0}}\nequations: {dt(u): {explicit: \"-k*w\"}, dt(w): {implicit: "
       "\"k*u\"}}\n",
       std::cos(k * t), -t * std::sin(k * t)},
      {"logistic", "state: {u: {initial: 0.2}}\nequations: {dt(u): {explicit: \"k*u\", implicit: \"-k*u^2\"}}\n",
       logistic, t * logistic * (1 - logistic)},
  };
}

Evaluation evaluate(const Problem& p, const std::string& method, double step) {
  Session session(test::text_case("case: order\nparameters: {k: 0.8}\n" + p.text + "time: {step: 1, to: 1}\n" +
                                      "objective: [{final: u}]\nunknowns: {k: {}}\n",
                                  {"time.method=" + method, "time.step=" + std::to_string(step)}),
                  test::self(), Sensitivities::adjoint);
  return session.gradient({});
}

void expect_order(const std::string& method, int expected) {
  for (const Problem& p : problems()) {
    SCOPED_TRACE(p.name + " " + method);
    const double step = method == "tsit5" ? 0.0625 : expected >= 4 ? 0.125 : 0.015625;
    const Evaluation coarse = evaluate(p, method, step), fine = evaluate(p, method, step / 2);
    const double order = std::log2(std::fabs(coarse.objective - p.objective) / std::fabs(fine.objective - p.objective));
    const double adjoint_order =
        std::log2(std::fabs(coarse.gradient[0][0] - p.slope) / std::fabs(fine.gradient[0][0] - p.slope));
    EXPECT_NEAR(order, expected, 0.3);
    EXPECT_NEAR(adjoint_order, expected, 0.45);
  }
}

TEST(Orders, MethodsAndTheirAdjoints) {
  for (const Tableau& t : tableaux()) expect_order(t.name, t.order);
  for (const Method& method : implicit_methods())  // theta's weight is 1/2 unless it is given
    expect_order(method.name, method.has_theta ? 2 : method.order);
}

TEST(Orders, AMethodKeepsATableauThatIsMadeForIt) {
  methods().add(
      {.name = "ralston3",
       .family = "explicit Runge-Kutta",
       .order = 3,
       .make = [](const Model& model, const Active& active, Stepper::Wants wants) {
         const Tableau ralston{"ralston3", 3, {{}, {0.5}, {0, 0.75}}, {2. / 9, 1. / 3, 4. / 9}, {0, 0.5, 0.75}};
         return std::make_unique<RungeKutta>(model, ralston, active, wants);
       }});
  expect_order("ralston3", 3);
}

TEST(Orders, AMethodWithoutDerivativesIsRefusedWhereTheyAreAskedFor) {
  const auto make = [](const Model& model, const Active& active, Stepper::Wants wants) {
    return std::make_unique<RungeKutta>(model, tableau("euler"), active, wants);
  };
  methods().add({.name = "no-adjoint", .family = "one-way", .has_adjoint = false, .has_tangent = false, .make = make});
  methods().add({.name = "no-tangent", .family = "one-way", .has_tangent = false, .make = make});
  const auto said = [](const std::string& method, Sensitivities wanted) -> std::string {
    try {
      Session(test::text_case("case: one-way\nparameters: {k: 0.8}\nstate: {u: {initial: 1}}\n"
                              "equations: {dt(u): \"-k*u\"}\ntime: {method: " +
                              method + ", step: 0.1, to: 1}\nobjective: [{final: u}]\nunknowns: {k: {}}\n"),
              test::self(), wanted);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(said("no-adjoint", Sensitivities::none), "");
  EXPECT_EQ(said("no-adjoint", Sensitivities::adjoint),
            "test.yaml:5:7: time.method 'no-adjoint' has no adjoint, which gradients need");
  EXPECT_EQ(said("no-tangent", Sensitivities::adjoint), "");
  EXPECT_EQ(said("no-tangent", Sensitivities::adjoint_and_tangent),
            "test.yaml:5:7: time.method 'no-tangent' has no tangent, which checks of gradients need");
}

/// Space: u(t) = exp(-D k^2 t) sin(k x) solves the heat equation, sin(k(x - c t)) advection.
double space_error(int order, int cells, bool diffusion) {
  const std::string right = diffusion ? "0.1*dxx(u)" : "-dx(u)";
  const std::string exact = diffusion ? "exp(-0.1*4*pi^2*0.1)*sin(2*pi*x)" : "sin(2*pi*(x - 0.1))";
  Session session(test::text_case("case: space\ngrid: {x: {cells: 8, to: 1}}\nstate: {u: {initial: \"sin(2*pi*x)\"}}\n"
                                  "equations: {dt(u): \"" +
                                      right +
                                      "\"}\ntime: {step: 2e-4, to: 0.1}\n"
                                      "objective: [{final: \"(u - (" +
                                      exact + "))^2\"}]\n",
                                  {"grid.x.cells=" + std::to_string(cells), "grid.order=" + std::to_string(order)}),
                  test::self(), Sensitivities::none);
  return std::sqrt(session.objective({}));
}

TEST(Orders, Space) {
  for (const bool diffusion : {true, false})
    for (const int order : {2, 4, 6, 8}) {
      const int cells = order >= 6 ? 10 : 20;
      const double measured =
          std::log2(space_error(order, cells, diffusion) / space_error(order, 2 * cells, diffusion));
      EXPECT_NEAR(measured, order, 0.35) << (diffusion ? "diffusion " : "advection ") << order;
    }
}

TEST(Orders, HeatModesBetweenWalls) {
  const auto error = [](const std::string& wall, const std::string& mode, int cells) {
    Session session(
        test::text_case("case: walls\ngrid: {x: {cells: 8, to: 1, boundary: {" + wall +
                            ": 0}}}\nstate: {u: {initial: \"" + mode +
                            "\"}}\nequations: {dt(u): \"0.1*dxx(u)\"}\ntime: {step: 2e-4, to: 0.2}\nobjective: "
                            "[{final: \"(u - exp(-0.1*pi^2*0.2)*" +
                            mode + ")^2\"}]\n",
                        {"grid.x.cells=" + std::to_string(cells)}),
        test::self(), Sensitivities::none);
    return std::sqrt(session.objective({}));
  };
  EXPECT_NEAR(std::log2(error("value", "sin(pi*x)", 16) / error("value", "sin(pi*x)", 32)), 2.0, 0.1);
  EXPECT_NEAR(std::log2(error("slope", "cos(pi*x)", 16) / error("slope", "cos(pi*x)", 32)), 2.0, 0.1);
}

}  // namespace
}  // namespace hindsight

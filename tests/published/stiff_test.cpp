// Stiff problems: published end states, and Robertson's gradient as SUNDIALS' adjoint examples have it.
#include <array>
#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

struct EndState {
  std::string text;
  std::vector<std::pair<std::string, double>> ends;  ///< of each field
};

/// Test Set for Initial Value Problem Solvers 2.4, unscaled.
const EndState van_der_pol = {R"yaml(
case: van-der-pol
state: {u: {initial: 2}, v: {initial: 0}}
equations: {dt(u): "v", dt(v): "1000*(1 - u^2)*v - u"}
time: {tolerance: {relative: 1e-9, absolute: {u: 1e-9, v: 1e-12}}, to: 2000, at most: 1000000}
)yaml",
                              {{"u", 1.706167732170469}, {"v", -0.8928097010248125e-3}}};

/// Hairer, Wanner, Solving ODEs II: ROBER.
const EndState rober = {R"yaml(
case: rober
state: {a: {initial: 1}, b: {initial: 0}, c: {initial: 0}}
equations: {dt(a): "-0.04*a + 1e4*b*c", dt(b): "0.04*a - 1e4*b*c - 3e7*b^2", dt(c): "3e7*b^2"}
time: {tolerance: {relative: 1e-9, absolute: {a: 1e-14, b: 1e-19, c: 1e-11}}, to: 1e11, at most: 1000000}
)yaml",
                        {{"a", 0.2083340149701255e-7}, {"b", 0.8333360770334713e-13}, {"c", 0.9999999791665050}}};

TEST(Published, StiffEndStates) {
  for (const EndState& problem : {van_der_pol, rober})
    for (const char* const method : {"rodas4", "esdirk4"})
      for (const auto& [field, end] : problem.ends) {
        Session session(
            test::text_case(problem.text, {"time.method=" + std::string(method), "objective=[{final: " + field + "}]"}),
            test::self(), Sensitivities::none);
        const double found = session.objective({});
        std::printf("%s, %s: %lld steps, error %.1e\n", method, field.c_str(),
                    static_cast<long long>(session.simulation().time().steps()), std::fabs(found / end - 1));
        EXPECT_NEAR(found, end, 1e-6 * std::fabs(end)) << method << ", " << field;
      }
}

/// The integral of the third species, as cvsRoberts_ASAi_dns of SUNDIALS has it. @param tolerance "1e-4", or a map.
Session robertson(const std::string& method, const std::string& tolerance, double end) {
  return Session(test::text_case(R"yaml(
case: robertson
parameters: {p1: 0.04, p2: 1e4, p3: 3e7}
state: {a: {initial: 1}, b: {initial: 0}, c: {initial: 0}, g: {initial: 0}}
equations: {dt(a): "-p1*a + p2*b*c", dt(b): "p1*a - p2*b*c - p3*b^2", dt(c): "p3*b^2", dt(g): c}
objective: [{final: g}]
unknowns: {p1: {}, p2: {}, p3: {}}
)yaml",
                                 {"time.method=" + method, "time.tolerance=" + tolerance, "time.at most=1000000",
                                  "time.to=" + std::to_string(end), "checkpoints.host=200 MiB"}),
                 test::self(), Sensitivities::adjoint);
}

/// Of each component, relative.
void expect_gradient(const UnknownValues& found, const std::array<double, 3>& expected, double error) {
  for (std::size_t i = 0; i < 3; ++i) {
    std::printf("  dG/dp%zu: %.12e, error %.1e\n", i + 1, found[i][0], std::fabs(found[i][0] / expected[i] - 1));
    EXPECT_NEAR(found[i][0], expected[i], error * std::fabs(expected[i])) << i + 1;
  }
}

// By tests/reference/robertson.py, which computes with sixty digits.
constexpr std::array<double, 3> gradient_at_50 = {173.4140891449805, -5.059191405585874e-4, 8.432346465421978e-8};
constexpr std::array<double, 3> gradient_at_4e7 = {768377.3266017384, -3.068920919998591, 5.114889978822648e-4};

/// Within a unit of the last of the five digits that are published.
TEST(Published, RobertsonsGradientAtTheExamplesTolerance) {
  const std::string tolerance = "{relative: 1e-6, absolute: {a: 1e-8, b: 1e-14, c: 1e-6, g: 1e-6}}";
  for (const char* const method : {"rodas4", "esdirk4", "bdf2"}) {
    std::printf("%s\n", method);
    const UnknownValues found = robertson(method, tolerance, 50).gradient({}).gradient;
    EXPECT_NEAR(found[0][0], 1.7341e2, 0.01);
    EXPECT_NEAR(found[1][0], -5.0591e-4, 1e-8);
    EXPECT_NEAR(found[2][0], 8.4323e-8, 1e-12);
    expect_gradient(found, gradient_at_50, 1e-6);
    expect_gradient(robertson(method, tolerance, 4e7).gradient({}).gradient, gradient_at_4e7, 1e-5);
  }
}

TEST(Published, RobertsonsGradientAtATightTolerance) {
  const std::string tolerance = "{relative: 1e-10, absolute: {a: 1e-12, b: 1e-16, c: 1e-12, g: 1e-10}}";
  for (const auto& [method, error] : {std::pair("rodas4", 1e-9), {"esdirk4", 1e-8}}) {
    std::printf("%s\n", method);
    expect_gradient(robertson(method, tolerance, 50).gradient({}).gradient, gradient_at_50, 1e-11);
    expect_gradient(robertson(method, tolerance, 4e7).gradient({}).gradient, gradient_at_4e7, error);
  }
}

/// However coarse the steps: the gradient is that of these steps.
TEST(Published, RobertsonsGradientIsThatOfTheStepsTaken) {
  for (const char* const method : {"rodas4", "esdirk4", "bdf2", "sdirk3"}) {
    Session session = robertson(method, "{relative: 1e-4, absolute: {a: 1e-6, b: 1e-10, c: 1e-6, g: 1e-4}}", 50);
    const UnknownValues start = session.simulation().values();
    const UnknownValues gradient = session.gradient({}).gradient;
    session.simulation().fix_end();
    for (std::size_t i = 0; i < 3; ++i) {
      // Central differences of fourth order.
      const double step = 1e-3 * start[i][0];
      const auto at = [&](double times) {
        UnknownValues moved = start;
        moved[i][0] += times * step;
        session.simulation().set_values(moved);
        return session.objective({});
      };
      const double slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
      std::printf("%s, p%zu: %.1e apart\n", method, i + 1, std::fabs(slope / gradient[i][0] - 1));
      EXPECT_NEAR(gradient[i][0], slope, 1e-10 * std::fabs(slope)) << method << ", p" << i + 1;
    }
    session.simulation().set_values(start);
  }
}

}  // namespace
}  // namespace hindsight

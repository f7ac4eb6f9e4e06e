// Prothero and Robinson's problem, u' = -k (u - a cos(b t)) - a b sin(b t) with u(0) = a, is a cos(b t) however large
// k. Where k h is large, errors fall with orders of their own (Hairer, Wanner, Solving ODEs II, IV.15), which are
// asserted as numbers: of the end value, and of its gradient.
#include <cmath>
#include <map>

#include "solvers/steppers/implicit/methods.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

constexpr double a = 1.0, b = 1.0, end = 2.0;

/// Of the end value, and the largest of its derivatives by a and b.
struct Errors {
  double value = 0.0, gradient = 0.0;
};

Errors errors(const std::string& method, double step) {
  Session session(test::text_case(R"yaml(
case: stiff
parameters: {k: 1e6, a: 1, b: 1}
state: {u: {initial: a}}
equations: {dt(u): {implicit: "-k*(u - a*cos(b*t)) - a*b*sin(b*t)"}}
objective: [{final: u}]
unknowns: {a: {}, b: {}}
time: {to: 2}
)yaml",
                                  {"time.method=" + method, "time.step=" + std::to_string(step)}),
                  test::self(), Sensitivities::adjoint);
  const Evaluation found = session.gradient({});
  const double by_a = std::cos(b * end), by_b = -a * end * std::sin(b * end);
  return {std::fabs(found.objective - a * by_a),
          std::max(std::fabs(found.gradient[0][0] - by_a), std::fabs(found.gradient[1][0] - by_b))};
}

/// What was measured between steps of 0.05 and 0.025, and the errors at 0.05, rounded upwards.
struct Expected {
  double value_order, gradient_order, value_error, gradient_error;
};

TEST(StiffOrders, OfValuesAndGradientsAreThoseOfEachMethod) {
  const std::map<std::string, Expected> all = {
      {"beuler", {0.97, 0.99, 1.1e-8, 6.6e-8}},  {"cn", {2.00, 2.00, 1.9e-10, 4.0e-10}},
      {"theta", {2.00, 2.00, 1.9e-10, 4.0e-10}}, {"sdirk2", {0.92, 0.97, 6.7e-9, 4.6e-8}},
      {"sdirk3", {0.90, 0.97, 3.9e-9, 2.7e-8}},  {"esdirk4", {2.02, 2.06, 6.8e-11, 1.5e-10}},
      {"bdf2", {2.01, 2.05, 7.8e-10, 1.7e-9}},   {"ros3p", {2.00, 2.01, 2.2e-10, 4.7e-10}},
      {"rodas4", {1.23, 1.10, 6.1e-10, 3.2e-9}}, {"ark3", {2.01, 2.02, 1.8e-10, 3.8e-10}},
      {"ark4", {2.02, 2.06, 6.7e-11, 1.5e-10}}};
  for (const Method& method : implicit_methods()) {
    SCOPED_TRACE(method.name);
    const Expected& expected = all.at(method.name);
    const Errors coarse = errors(method.name, 0.05), fine = errors(method.name, 0.025);
    const double value = std::log2(coarse.value / fine.value), gradient = std::log2(coarse.gradient / fine.gradient);
    std::printf("%-8s value: error %.2e, order %.3f; gradient: error %.2e, order %.3f\n", method.name.c_str(),
                coarse.value, value, coarse.gradient, gradient);
    EXPECT_NEAR(value, expected.value_order, 0.01);
    EXPECT_NEAR(gradient, expected.gradient_order, 0.01);
    EXPECT_LE(coarse.value, expected.value_error);
    EXPECT_LE(coarse.gradient, expected.gradient_error);
  }
}

}  // namespace
}  // namespace hindsight

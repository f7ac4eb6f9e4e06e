// Dense systems of a hundred coupled fields start at once, and their gradients are exact.
#include "tests/adjoint/coupled_systems.hpp"

namespace hindsight {
namespace {

TEST(Coupled, GradientsOfAHundredFieldsAreExact) {
  for (const char* method : {"rodas4", "bdf2"}) test::expect_right_gradient_of_species(100, method, 2);
}

TEST(Coupled, ExplicitStepsOfLongKernelsHaveExactGradients) {
  test::expect_right_gradient_of_species(60, "rk4", 3);
}

/// All species alike follow one logistic equation.
TEST(Coupled, ManyAlikeHaveTheGradientOfOne) {
  constexpr int count = 100;
  std::string state, equations, all;
  for (int i = 0; i < count; ++i) all += fmt::format("{}y{}", i == 0 ? "" : " + ", i);
  for (int i = 0; i < count; ++i) {
    state += fmt::format("  y{}: {{initial: 0.1}}\n", i);
    equations += fmt::format("  dt(y{0}): \"y{0}*(1 - c*({1})/{2})\"\n", i, all, count);
  }
  Session session(test::text_case("case: alike\nparameters: {c: 1.5}\nstate:\n" + state + "equations:\n" + equations +
                                  "time: {method: rodas4, step: 0.02, to: 1}\nobjective: [{final: y7}]\n"
                                  "unknowns: {c: {}}\n"),
                  test::self(), Sensitivities::adjoint);
  const Evaluation found = session.gradient({});
  const double decay = std::exp(-1.0), y = 1.0 / (1.5 + 8.5 * decay);
  EXPECT_NEAR(found.objective, y, 1e-8);
  EXPECT_NEAR(found.gradient[0][0], -(1.0 - decay) * y * y, 1e-8);
}

}  // namespace
}  // namespace hindsight

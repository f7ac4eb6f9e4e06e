// Sponges: what they leave of a wave, gradients through them, and what is refused.
// ranks: 1 2
#include <fmt/format.h>

#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

/// A pulse that runs into the ends of a line, on which layers may absorb it.
std::string pulse(const std::string& absorb) {
  return "case: pulse\ngrid: {x: {cells: 200, to: 20, boundary: {slope: 0}}, order: 4}\nparameters: {c: 1}\n"
         "state: {u: {initial: \"(1 - 4*(x - 10)^2)*exp(-2*(x - 10)^2)\", rate: 0}}\nequations: {dtt(u): "
         "\"c^2*lap(u)\"}\n" +
         absorb + "time: {method: leapfrog, step: 0.05, to: 20}\nobjective: [{final: \"u^2\"}]\nunknowns: {c: {}}\n";
}

double left_of(const std::string& absorb) {
  Session session(test::text_case(pulse(absorb)), test::world(), Sensitivities::none);
  return session.objective({});
}

TEST(Absorb, LeavesLittleOfAWave) {
  const double all = left_of("");
  EXPECT_LT(left_of("absorb: {sponge: 60, strength: 4}\n"), 1e-4 * all);
  const double one_side = left_of("absorb: {sponge: 60, strength: 4, sides: [x.upper]}\n");
  EXPECT_GT(one_side, 0.1 * all);
  EXPECT_LT(one_side, 0.6 * all);
}

/// 3 c ln(1/R)/width is what cases/README.md says of the strength that leaves R of an amplitude.
TEST(Absorb, HasTheStrengthThatIsSaid) {
  const double reflected = std::sqrt(left_of("absorb: {sponge: 80, strength: 1.5}\n") / left_of(""));
  const double said = std::exp(-1.5 * 8.0 / 3.0);
  EXPECT_NEAR(std::log(reflected), std::log(said), 0.5);
}

TEST(Absorb, HasExactGradients) {
  Session wave(test::text_case(pulse("absorb: {sponge: 30, strength: 2}\n")), test::world(),
               Sensitivities::adjoint_and_tangent);
  test::expect_right_gradient(wave, 1e-3, 1e-11);
  const std::string flow =
      "case: flow\ngrid: {x: {cells: 24, to: 1, boundary: {value: 0}}, y: {cells: 20, to: 1, boundary: periodic}}\n"
      "parameters: {a: 0.3}\nstate: {u: {initial: \"x*sin(2*pi*y)\"}}\n"
      "equations: {dt(u): {explicit: \"-a*u*dx(u)\", implicit: \"0.02*lap(u)\"}}\n"
      "absorb: {sponge: 6, strength: 9, sides: [x.upper]}\nobjective: [{final: \"u^2\"}]\nunknowns: {a: {}, "
      "initial(u): "
      "{}}\n";
  for (const std::string method : {"rk4", "cn", "ark3"}) {
    Session session(test::text_case(flow + "time: {method: " + method + ", step: 0.01, to: 0.2}\n"), test::world(),
                    Sensitivities::adjoint_and_tangent);
    SCOPED_TRACE(method);
    test::expect_right_gradient(session, 1e-2, 1e-10);
  }
}

TEST(Absorb, RefusesWhatItCannotDo) {
  const auto has = [](const std::string& absorb, const std::string& part) {
    const std::string message = test::failure_of(pulse(absorb));
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has("absorb: {sponge: 100, strength: 2}\n", "leave none of the 200 along x");
  has("absorb: {sponge: 10, strength: 2, sides: [y.lower]}\n", "x.lower, x.upper");
  has("absorb: {sponge: 10, strength: 0}\n", "must be positive");
  has("absorb: {sponge: 10}\n", "strength");
  std::string periodic = pulse("absorb: {sponge: 10, strength: 1, sides: [x.lower]}\n");
  periodic.replace(periodic.find("{slope: 0}"), 10, "periodic");
  EXPECT_NE(test::failure_of(periodic).find("is periodic"), std::string::npos);
}

}  // namespace
}  // namespace hindsight

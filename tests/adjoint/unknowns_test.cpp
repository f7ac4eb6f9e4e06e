// Every kind of unknown in an ODE and an ensemble: scalars, series, initial states, misfits with logarithms.
#include <cmath>
#include <fstream>

#include "tests/support.hpp"

namespace hindsight {
namespace {

TEST(Unknowns, SeriesAndScalarsInAnOde) {
  Session session(test::text_case(R"yaml(
case: forced
parameters: {k: 0.4, f: {series: {times: [0, 1, 2, 2.5], values: [1, 0.5, 2, 1]}}, u0: 0.3}
state: {u: {initial: "u0^2 + k"}, w: {initial: 1}}
equations: {dt(u): "-k*u*w + f*sin(t)", dt(w): "u - w + exp(-u^2)"}
time: {method: dopri5, step: 0.05, to: 3}
objective: [{final: "u*w"}, {integral: "f*u^2 + t*k"}, {penalty: "k^2"}]
unknowns: {k: {prior: {mean: 0.3, sd: 0.1}}, f: {}, u0: {}, initial(w): {}}
checkpoints: {schedule: revolve, host: 5 slots}
)yaml"),
                  test::self(), Sensitivities::adjoint_and_tangent);
  test::expect_right_gradient(session);
}

TEST(Unknowns, EnsembleOfOdes) {
  Session session(test::text_case(R"yaml(
case: ensemble
grid: {x: {cells: 37, to: 1}}
parameters: {a: 1.1, growth: {field: "0.5 + x"}}
state: {u: {initial: "0.1 + 0.1*x"}}
equations: {dt(u): "growth*u*(1 - u/a)"}
time: {step: 0.1, to: 4}
objective: [{final: "u^2"}]
unknowns: {a: {}, growth: {}, initial(u): {}}
)yaml"),
                  test::self(), Sensitivities::adjoint_and_tangent);
  EXPECT_EQ(session.simulation().stepper().record_states(), 0);
  test::expect_right_gradient(session);
}

TEST(Unknowns, MisfitsOfExpressionsWithLogarithms) {
  const std::string data = testing::TempDir() + "misfit.csv";
  std::ofstream(data) << "t,x,value\n0.5,0.21,1.4\n0.25,0.9,1.2\n1,0.02,1.5\n1,0.98,1.1\n";
  Session session(test::text_case(R"yaml(
case: observed
grid: {x: {cells: 20, to: 1, boundary: {slope: 0}}}
parameters: {D: 0.1, a: 0.5}
state: {u: {initial: "1 + 0.5*cos(pi*x)"}}
equations: {dt(u): "D*dxx(u) - a*u*(u - 1)"}
time: {step: 0.01, to: 1}
objective: [{misfit: {of: "u^2 + a", data: )yaml" +
                                  data + R"yaml(, noise: 0.1, log: true}}, {misfit: {of: u, data: )yaml" + data +
                                  R"yaml(, noise: 0.2}, weight: 0.5}]
unknowns: {D: {}, a: {}, initial(u): {}}
)yaml"),
                  test::self(), Sensitivities::adjoint_and_tangent);
  test::expect_right_gradient(session);
}

}  // namespace
}  // namespace hindsight

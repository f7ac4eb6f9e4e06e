// ranks: 1 2 3 4
// Gradients through walls: values and slopes that depend on unknowns, on time and on place; corners; parameter fields.
#include <fmt/format.h>

#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

void check_everywhere(const std::string& text, double largest_step = 1e-2) {
  Session serial(test::text_case(text), test::self(), Sensitivities::adjoint);
  const Evaluation reference = serial.gradient({});
  Session session(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
  test::expect_right_gradient(session, largest_step);
  const Evaluation mine = session.gradient({});
  test::expect_same_bits(session, mine, reference);
}

TEST(Walls, ScalarsAndSeriesInWallValues1D) {
  check_everywhere(R"yaml(
case: rod
grid: {x: {cells: 24, to: 1, boundary: {lower: {value: "a*sin(3*t) + s"}, upper: {slope: "b*t"}}}}
parameters: {a: 0.7, b: 0.4, D: 0.05, s: {series: {times: [0, 0.2, 0.5], values: [0.1, 0.5, 0.2]}}}
state: {u: {initial: "x*(1 - x)"}}
equations: {dt(u): "D*dxx(u) - u*dx(u) + 0.1*u^2"}
time: {step: 0.01, to: 0.4}
objective: [{final: "u^2"}, {integral: "u^3 + s*u"}, {integral: "0.1*grad2(u)"}]
unknowns: {a: {}, b: {}, D: {}, s: {}, initial(u): {}}
checkpoints: {schedule: revolve, host: 4 slots}
)yaml");
}

TEST(Walls, PlaceDependentValuesAndParameterField2D) {
  check_everywhere(R"yaml(
case: plate
grid:
  x: {cells: 13, to: 1, boundary: {lower: {value: "a*y + b*y^2*t"}, upper: {slope: "c*cos(y)"}}}
  y: {cells: 16, to: 2, boundary: {value: "a*x"}}
parameters: {a: 0.7, b: 0.4, c: 0.3, kappa: {field: "0.05*(1 + 0.5*sin(3*x + y))"}}
state: {u: {initial: "sin(3*x)*y"}, v: {initial: "0.1*x + a"}}
equations:
  dt(u): "div(kappa*grad(u)) - u*dx(u) + v"
  dt(v): "div((1 + v^2)*grad(u))*0.01 + 0.1*dx(dy(v))*kappa"
time: {method: ssprk3, step: 0.01, to: 0.1}
objective: [{final: "u^2 + v^2"}, {integral: "grad2(u)*0.01 + u*v"}, {penalty: "grad2(kappa) + kappa^2"}]
unknowns: {a: {}, b: {}, c: {}, kappa: {}, initial(v): {}}
checkpoints: {schedule: revolve, host: 3 slots}
)yaml",
                   1e-3);
}

TEST(Walls, MixedAxes3DWithDopri5) {
  check_everywhere(R"yaml(
case: box
grid:
  x: {cells: 8, to: 1, boundary: periodic}
  y: {cells: 9, to: 1, boundary: {value: "a*sin(2*pi*x)*z"}}
  z: {cells: 10, to: 1, boundary: {lower: {slope: "b*y"}, upper: {value: "a + t"}}}
parameters: {a: 0.7, b: 0.4}
state: {u: {initial: "sin(2*pi*x)*y*z"}}
equations: {dt(u): "0.01*lap(u) + 0.1*dy(dz(u))*u - upwind(u, u, z)"}
time: {method: dopri5, step: 0.01, to: 0.05}
objective: [{final: "u^2"}]
unknowns: {a: {}, b: {}, initial(u): {}}
)yaml");
}

TEST(Walls, FourthOrderAndFieldRules) {
  check_everywhere(R"yaml(
case: two
grid:
  order: 4
  x: {cells: 20, to: 1, boundary: {lower: {value: 0, fields: {v: {slope: "a"}}}, upper: {slope: 0}}}
parameters: {a: 0.3}
state: {u: {initial: "sin(pi*x)"}, v: {initial: "cos(pi*x)"}}
equations: {dt(u): "0.02*dxx(u) + u*v", dt(v): "0.02*dxx(v) - dx(u*v)"}
time: {method: heun, step: 0.01, to: 0.2}
objective: [{final: "u^2*v"}]
unknowns: {a: {}, initial(u): {}}
checkpoints: {schedule: uniform, host: 20 slots}
)yaml");
}

/// Beyond the wall the mirrored state is negative, and the derivatives are not finite there.
TEST(Walls, DerivativesThatEndAtTheWall1D) {
  check_everywhere(R"yaml(
case: root
grid: {x: {cells: 16, to: 1, boundary: {value: "c"}}}
parameters: {D: 0.05, a: 0.3, c: 0, kappa: {field: "1 + 0.1*sin(3*x)"}}
state: {u: {initial: "0.2 + sin(pi*x)"}}
equations: {dt(u): "D*dxx(u) - a*(u/sqrt(u) + sqrt(u)*dx(u) + u^1.5 + log(u)*kappa)"}
time: {method: heun, step: 0.002, to: 0.05}
objective: [{final: "u^2"}, {integral: "sqrt(u)*dx(u)^2"}]
unknowns: {D: {}, a: {}, c: {}, kappa: {}, initial(u): {}}
checkpoints: {schedule: revolve, host: 3 slots}
)yaml",
                   1e-3);
}

TEST(Walls, DerivativesThatEndAtTheWall2D) {
  check_everywhere(R"yaml(
case: corner
grid:
  x: {cells: 11, to: 1, boundary: {lower: {value: 0}, upper: {slope: "-5*a"}}}
  y: {cells: 13, to: 1, boundary: {lower: {slope: 0}, upper: {value: "0.1*a"}}}
parameters: {D: 0.01, a: 0.3, unused: {field: "x"}}
state: {u: {initial: "0.3 + sin(pi*x)*y"}, v: {initial: "1 + x*y"}}
equations:
  dt(u): "D*lap(u) - a*sqrt(u)*dx(u) - v*u/sqrt(u)*0.1"
  dt(v): "D*lap(v) - dx(dy(v))*D*sqrt(u)"
time: {method: heun, step: 0.002, to: 0.03}
objective: [{final: "u^2 + v^2"}, {integral: "sqrt(u)*grad2(u)"}]
unknowns: {D: {}, a: {}, unused: {}, initial(u): {}}
)yaml",
                   1e-3);
}

/// Which gathers read beside owned cells, farther than any field.
TEST(Walls, DifferencesOfCoordinatesAreFactors) {
  for (const char* sides : {"{lower: {value: a}, upper: {slope: 0}}", "periodic"}) {
    SCOPED_TRACE(sides);
    check_everywhere(fmt::format(R"yaml(
case: factors
grid:
  x: {{cells: 12, to: 1, boundary: {0}}}
  y: {{cells: 13, to: 1, boundary: {0}}}
parameters: {{a: 0.3}}
functions: {{c(x): "0.1*sin(2*pi*x)"}}
state: {{u: {{initial: "sin(2*pi*x)*(1 + cos(2*pi*y))"}}}}
equations: {{dt(u): "a*dx(c(x))*dx(u) + a*dy(c(y))*dy(u) + 0.01*dxx(c(x))*dy(c(y))*u"}}
time: {{method: rk4, step: 0.01, to: 0.1}}
objective: [{{final: "u^2"}}]
unknowns: {{a: {{}}, initial(u): {{}}}}
)yaml",
                                 sides),
                     1e-3);
  }
}

}  // namespace
}  // namespace hindsight

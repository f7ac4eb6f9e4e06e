// Every method x {ODE, ensemble, line, plane, space} x {scalar, series, field, initial state} x {fixed, adaptive
// steps}: Taylor remainders of second order, and the tangent's derivative. The suite has pairs of these (adaptive,
// implicit, events).
// label: long
// ranks: 1 2 3
#include "solvers/steppers/methods.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

struct Place {
  std::string name, grid, rate, diffusion;
};

std::vector<Place> places() {
  const std::string x = "x: {cells: 8, to: 1, boundary: periodic}", y = "y: {cells: 6, to: 1, boundary: periodic}",
                    z = "z: {cells: 4, to: 1, boundary: {slope: 0.1}}";
  return {{"ode", "", "2.5", ""},
          {"ensemble", "grid: {" + x + "}\n", "{field: \"2 + x\"}", ""},
          {"ensemble over a plane", "grid: {" + x + ", " + y + "}\n", "{field: \"2 + x*y\"}", ""},
          {"line", "grid: {" + x + "}\n", "{field: \"2 + x\"}", " + 0.004*lap(u)"},
          {"plane", "grid: {" + x + ", " + y + "}\n", "{field: \"2 + x*y\"}", " + 0.004*lap(u)"},
          {"space", "grid: {" + x + ", " + y + ", " + z + "}\n", "{field: \"2 + x*z\"}", " + 0.004*lap(u)"}};
}

std::string text_of(const Place& place, const std::string& unknown, const std::string& time) {
  const std::string start = place.grid.empty() ? "1" : "1 + 0.1*sin(2*pi*x)";
  return "case: matrix\n" + place.grid + "parameters: {a: 1.3, k: " + place.rate +
         ", q: {series: {times: [0, 0.4, 1], values: [1, 0.6, 1.2]}}}\nstate: {u: {initial: \"" + start +
         "\"}, v: {initial: 0.4}}\nequations:\n  dt(u): {explicit: \"a*u - u*v*q\", implicit: \"0" + place.diffusion +
         "\"}\n  dt(v): {explicit: \"k*u^2 + 0.1*sin(3*t)\", implicit: \"-k*v\"}\nobjective: [{final: \"u^2 + v\"}, "
         "{integral: "
         "\"u*v\"}]\nunknowns: {" +
         unknown + ": {}}\n" + time;
}

class EveryMethod : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMethod, HasExactGradients) {
  const Method& method = methods().find(GetParam());
  std::vector<std::string> times = {"time: {method: " + method.name + ", step: 0.04, to: 1}\n"};
  if (method.estimates_errors)
    times.push_back("time: {method: " + method.name + ", tolerance: 1e-4, step: 0.001, to: 1, at most: 1000}\n");
  for (const Place& place : places())
    for (const char* const unknown : {"a", "q", "k", "initial(v)"})
      for (const std::string& time : times) {
        SCOPED_TRACE(place.name + ", " + unknown + ", " + time);
        Session session(test::text_case(text_of(place, unknown, time)), test::world(),
                        Sensitivities::adjoint_and_tangent);
        session.gradient({});
        session.simulation().fix_end();
        test::expect_right_gradient(session, 1e-3, 1e-12);
      }
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod, ::testing::ValuesIn(test::first_order_methods()));

}  // namespace
}  // namespace hindsight

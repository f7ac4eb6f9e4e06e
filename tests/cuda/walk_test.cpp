// ranks: 1 2 4
// On a device (emulated where there is none) all stages of a step in one launch give the host's bits.
#include <fmt/format.h>

#include "solvers/steppers/wavefront.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

struct Plane {
  int x, y, order = 2;
  std::string method = "rk4", precision = "float64";
  bool has_two_fields = true;

  std::string text() const {
    const std::string one = "dt(u): \"D*lap(u) - 0.3*s*u^2*dx(u) + 0.1*y*t\"",
                      two = "dt(u): \"D*lap(u) - u*v^2 + k*s*dx(v)\", dt(v): \"div(D*grad(v)) + u*v - v*dy(u)\"";
    return fmt::format(
        "case: walk\nprecision: {}\ngrid: {{x: {{cells: {}, to: 1}}, y: {{cells: {}, to: 2}}, order: {}}}\n"
        "parameters: {{k: 0.3, D: {{field: \"0.002 + 0.001*sin(2*pi*x)*cos(pi*y)\"}}, s: {{series: {{times: [0, 1], "
        "values: [1, 2]}}}}}}\nstate: {{u: {{initial: \"1 + 0.3*sin(2*pi*x + pi*y)\"}}{}}}\n"
        "equations: {{{}}}\ntime: {{method: {}, step: 1e-3, to: 1e-2}}\nobjective: [{{final: \"u^2\"}}]\n"
        "unknowns: {{D: {{}}, s: {{}}, initial(u): {{}}}}\ncheckpoints: {{schedule: revolve, host: 2 slots}}\n",
        precision, x, y, order, has_two_fields ? ", v: {initial: \"0.4*cos(pi*y)\"}" : "", has_two_fields ? two : one,
        method);
  }
};

std::unique_ptr<Session> session(const std::string& text, const Communicator& comm, const walks::Asked& asked,
                                 bool is_on_device) {
  SessionOptions options;
  if (is_on_device) options.machine = test::device();
  Wavefront::ask(asked);
  auto made = std::make_unique<Session>(test::text_case(text), comm, Sensitivities::adjoint, options);
  Wavefront::ask(walks::AsItPays{});
  return made;
}

bool is_in_one_launch(const Session& session) {
  return session.simulation().stepper().describe_memory().find("in one launch") != std::string::npos;
}

TEST(DeviceWalk, GivesTheBitsOfTheHost) {
  int in_one_launch = 0;
  for (const Plane& plane : {Plane{80, 75},
                             {33, 41},
                             {16, 90, 2, "rk4", "float32"},
                             {24, 24, 2, "heun"},
                             {70, 50, 4, "rk4", "float32", false},
                             {61, 47, 2, "rk4", "float64", false},
                             {40, 36, 2, "dopri5", "float64", false},
                             {50, 60, 4, "heun", "float64", false}}) {
    const std::string text = plane.text();
    SCOPED_TRACE(text);
    const auto expected = session(text, test::self(), walks::Never{}, false);
    const Evaluation serial = expected->gradient({});
    const auto by_passes = session(text, test::world(), walks::Never{}, true);
    EXPECT_FALSE(is_in_one_launch(*by_passes));
    test::expect_same_bits(*by_passes, by_passes->gradient({}), serial);
    const auto walked = session(text, test::world(), walks::Rows{1}, true);
    in_one_launch += is_in_one_launch(*walked) ? 1 : 0;
    test::expect_same_bits(*walked, walked->gradient({}), serial);
  }
  EXPECT_GE(in_one_launch, 5);
}

/// Found out by the first steps; all ranks go one way.
TEST(DeviceWalk, IsTakenWhereItIsFaster) {
  const std::string text = Plane{128, 128, 2, "rk4", "float64", false}.text();
  const auto expected = session(text, test::self(), walks::Never{}, false);
  const auto here = session(text, test::world(), walks::AsItPays{}, true);
  EXPECT_TRUE(is_in_one_launch(*here));
  for (int i = 0; i < 2; ++i) test::expect_same_bits(*here, here->gradient({}), expected->gradient({}));
}

/// Between walls, and where tiles would be small beside what is computed around them.
TEST(DeviceWalk, IsNotThereEverywhere) {
  std::string walls = Plane{80, 75}.text();
  walls.replace(walls.find("to: 2}"), 6, "to: 2, boundary: {value: 0}}");
  for (const std::string& text : {walls, Plane{80, 75, 8}.text()}) {
    const auto here = session(text, test::world(), walks::Rows{1}, true);
    EXPECT_FALSE(is_in_one_launch(*here)) << text;
    const auto expected = session(text, test::self(), walks::Never{}, false);
    test::expect_same_bits(*here, here->gradient({}), expected->gradient({}));
  }
}

}  // namespace
}  // namespace hindsight

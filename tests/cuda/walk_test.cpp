// ranks: 1 2 4
// On a device (emulated where there is none) all stages of a step in one launch give the host's bits.
#include <fmt/format.h>

#include "solvers/steppers/faster_way.hpp"
#include "solvers/steppers/wavefront.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

struct Plane {
  int x, y, order = 2;
  std::string method = "rk4", precision = "float64";
  bool has_two_fields = true;
  std::string x_walls = "periodic", y_walls = "periodic";

  std::string text() const {
    const std::string
        one = "dt(u): \"D*lap(u) - 0.3*s*u^2*dx(u) + 0.1*y*t\"",
        two = "dt(u): \"D*lap(u) - u*v^2 + k*s*dx(v)\", dt(v): \"div(D*grad(v)) + u*v - v*dy(u) + 1e-3*dx(dy(v))\"";
    return fmt::format(
        "case: walk\nprecision: {}\ngrid: {{x: {{cells: {}, to: 1, boundary: {}}}, y: {{cells: {}, to: 2, boundary: "
        "{}}}, order: {}}}\n"
        "parameters: {{k: 0.3, D: {{field: \"0.002 + 0.001*sin(2*pi*x)*cos(pi*y)\"}}, s: {{series: {{times: [0, 1], "
        "values: [1, 2]}}}}}}\nstate: {{u: {{initial: \"1 + 0.3*sin(2*pi*x + pi*y)\"}}{}}}\n"
        "equations: {{{}}}\ntime: {{method: {}, step: 1e-3, to: 1e-2}}\nobjective: [{{final: \"u^2\"}}]\n"
        "unknowns: {{k: {{}}, D: {{}}, s: {{}}, initial(u): {{}}}}\ncheckpoints: {{schedule: revolve, host: 2 "
        "slots}}\n",
        precision, x, x_walls, y, y_walls, order, has_two_fields ? ", v: {initial: \"0.4*cos(pi*y)\"}" : "",
        has_two_fields ? two : one, method);
  }
};

std::unique_ptr<Session> session(const std::string& text, const Communicator& comm, const walks::Asked& asked,
                                 bool is_on_device, Sensitivities wanted = Sensitivities::adjoint) {
  SessionOptions options;
  if (is_on_device) options.machine = test::device();
  Wavefront::ask(asked);
  auto made = std::make_unique<Session>(test::text_case(text), comm, wanted, options);
  Wavefront::ask(walks::AsItPays{});
  return made;
}

std::string how_steps_are_taken(const Session& session) {
  return session.simulation().stepper().describe_memory();
}

bool is_in_one_launch(const Session& session) {
  return how_steps_are_taken(session).find("in one launch") != std::string::npos;
}

std::array<int, 3> halo(const Session& session) {
  return session.simulation().grid().layout().halo;
}

void expect_bits_of_the_host(const Plane& plane) {
  const std::string text = plane.text();
  SCOPED_TRACE(text);
  const auto expected = session(text, test::self(), walks::Never{}, false);
  const Evaluation serial = expected->gradient({});
  const auto by_passes = session(text, test::world(), walks::Never{}, true);
  EXPECT_FALSE(is_in_one_launch(*by_passes));
  test::expect_same_bits(*by_passes, by_passes->gradient({}), serial);
  const auto walked = session(text, test::world(), walks::Rows{1}, true);
  EXPECT_TRUE(is_in_one_launch(*walked));
  test::expect_same_bits(*walked, walked->gradient({}), serial);
  for (Session* const one : {expected.get(), walked.get()}) {
    UnknownValues moved = one->simulation().values();
    moved[0][0] *= 1.5;  // k, which walls may depend on
    one->set_values(moved);
  }
  test::expect_same_bits(*walked, walked->gradient({}), expected->gradient({}));
}

TEST(DeviceWalk, GivesTheBitsOfTheHost) {
  for (const Plane& plane : {Plane{80, 75},
                             {33, 41},
                             {16, 90, 2, "rk4", "float32"},
                             {24, 24, 2, "heun"},
                             {70, 50, 4, "rk4", "float32", false},
                             {61, 47, 2, "rk4", "float64", false},
                             {40, 36, 2, "dopri5", "float64", false},
                             {50, 60, 4, "heun", "float64", false}})
    expect_bits_of_the_host(plane);
}

/// Values and slopes; constant, along a wall, in time, and by parameters; between walls of one axis and of both, some
/// as near as a step reads. Without functions, of which devices compute other bits.
TEST(DeviceWalk, GivesTheBitsOfTheHostBetweenWalls) {
  const std::string value = "{value: \"1 + 0.2*t*x*y\"}", slope = "{slope: \"k*(x + 2*y)/(1 + t)\"}",
                    both = "{lower: {value: 0.9}, upper: {slope: \"-0.3*s\"}}",
                    of_fields = "{lower: {slope: 0.5, fields: {v: {value: \"x*(1 - x)\"}}}, upper: " + value + "}",
                    at_rest = "{lower: {slope: \"k*y\"}, upper: {value: \"x + k\"}}";
  for (const Plane& plane : {Plane{80, 75, 2, "rk4", "float64", true, value, slope},
                             {33, 41, 2, "rk4", "float64", true, both, "periodic"},
                             {26, 90, 2, "rk4", "float32", true, "periodic", of_fields},
                             {24, 24, 2, "heun", "float64", true, of_fields, both},
                             {4, 49, 2, "rk4", "float32", true, at_rest, at_rest},
                             {70, 50, 4, "rk4", "float32", false, slope, value},
                             {61, 47, 2, "rk4", "float64", false, both, both},
                             {40, 36, 2, "dopri5", "float64", false, "{value: 0}", "{slope: 0}"},
                             {50, 60, 4, "heun", "float64", false, value, both}})
    expect_bits_of_the_host(plane);
}

/// A large plane's first steps find out which way is faster, and all ranks go it; a small one's take one launch.
TEST(DeviceWalk, IsChosenByTheFirstSteps) {
  for (const Plane& plane :
       {Plane{256, 256, 2, "rk4", "float64", false},
        {528, 528, 2, "rk4", "float64", false},
        {528, 528, 2, "rk4", "float64", false, "{value: \"x + t*y\"}", "{lower: {slope: 0.1}, upper: {value: t}}"}}) {
    const bool is_small = plane.x < 528;
    const std::string text = plane.text();
    const auto expected = session(text, test::self(), walks::Never{}, false, Sensitivities::none);
    const auto here = session(text, test::world(), walks::AsItPays{}, true, Sensitivities::none);
    const Stepper& stepper = here->simulation().stepper();
    EXPECT_TRUE(is_in_one_launch(*here));
    EXPECT_EQ(stepper.tries_ways(false), !is_small || test::world().size() > 1);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(here->objective({}), expected->objective({}));
    EXPECT_FALSE(stepper.tries_ways(false));
    EXPECT_EQ(how_steps_are_taken(*here).find("if the first steps"), std::string::npos);
    EXPECT_EQ(test::world().any(is_in_one_launch(*here)), is_in_one_launch(*here));
  }
}

/// Where tiles would be small beside what is computed around them, and where stages are read after a step; ghosts are
/// no deeper there.
TEST(DeviceWalk, IsNotThereEverywhere) {
  std::string adaptive = Plane{80, 75, 2, "dopri5", "float64", false}.text();
  adaptive.replace(adaptive.find("step: 1e-3"), 10, "tolerance: 1e-6");
  adaptive.replace(adaptive.find("schedule: revolve, "), 19, "");
  for (const std::string& text : {adaptive, Plane{160, 150, 8}.text(), Plane{96, 96, 4}.text()}) {
    SCOPED_TRACE(text);
    const auto here = session(text, test::world(), walks::Rows{1}, true);
    const auto by_passes = session(text, test::world(), walks::Never{}, true);
    EXPECT_FALSE(is_in_one_launch(*here));
    EXPECT_EQ(halo(*here), halo(*by_passes));
    test::expect_same_bits(*here, here->gradient({}), session(text, test::self(), walks::Never{}, false)->gradient({}));
  }
}

TEST(FasterWay, IsTheOneThatTookLeastOnce) {
  FasterWay ways(2);
  for (const double seconds : {9.0, 2.0, 1.0, 2.0, 3.0}) {
    EXPECT_FALSE(ways.is_chosen());
    ways.took(seconds);
  }
  EXPECT_EQ(ways.now(), 1U);
  ways.took(1.5);
  EXPECT_TRUE(ways.is_chosen());
  EXPECT_EQ(ways.now(), 0U);
  ways.took(100.0);  // changes nothing
  EXPECT_EQ(ways.now(), 0U);
  EXPECT_TRUE(FasterWay(1).is_chosen());
}

}  // namespace
}  // namespace hindsight

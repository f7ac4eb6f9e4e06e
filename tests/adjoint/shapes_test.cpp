// Sensors and sources of some size: the weights of cells, gradients, bits, and that each is the transpose of the other.
// ranks: 1 2 3
#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "solvers/grid/point_stencils.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

constexpr auto box = PointWeights::Kind::box, gaussian = PointWeights::Kind::gaussian;

/// Of each cell of an axis of ten cells of length 1, from 0 on.
std::vector<double> weights_on(bool is_periodic, double place, PointWeights::Kind kind, double size) {
  const Grid grid({{"x", 10, 0.0, 10.0, is_periodic}}, test::self(), {1, 0, 0});
  const PointStencils stencils(grid, {{place, 0.0, 0.0}}, {kind, {size, 0.0, 0.0}});
  std::vector<double> all(10, 0.0);
  for (const PointStencils::Cell& cell : stencils.cells(0)) all[static_cast<std::size_t>(cell.row)] += cell.weight;
  return all;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-15) << i;
}

TEST(Shapes, ShareCellsByWhatLiesInThem) {
  expect_near(weights_on(false, 3.5, box, 2.5), {0, 0, 0.3, 0.4, 0.3, 0, 0, 0, 0, 0});
  expect_near(weights_on(false, 3.25, box, 1.0), {0, 0, 0.25, 0.75, 0, 0, 0, 0, 0, 0});
  expect_near(weights_on(false, 3.2, box, 0.1), {0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
  expect_near(weights_on(false, 0.5, box, 3.0), {0.5, 0.5, 0, 0, 0, 0, 0, 0, 0, 0});            // cut at the wall
  expect_near(weights_on(true, 0.5, box, 3.0), {1 / 3., 1 / 3., 0, 0, 0, 0, 0, 0, 0, 1 / 3.});  // goes on beyond
  expect_near(weights_on(true, 2.0, box, 10.0), std::vector<double>(10, 0.1));
  const auto within = [](double from, double to) {
    return 0.5 * (std::erf((to - 4.3) / (0.7 * M_SQRT2)) - std::erf((from - 4.3) / (0.7 * M_SQRT2)));
  };
  const double all = within(4.3 - 2.8, 4.3 + 2.8);
  const std::vector<double> found = weights_on(false, 4.3, gaussian, 0.7);
  EXPECT_NEAR(found[1], within(1.5, 2.0) / all, 1e-15);
  EXPECT_NEAR(found[4], within(4.0, 5.0) / all, 1e-15);
  EXPECT_NEAR(found[7], within(7.0, 7.1) / all, 1e-15);
  EXPECT_EQ(found[0], 0.0);
  EXPECT_EQ(found[8], 0.0);
}

std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "shapes-" + std::to_string(test::world().size()) + "-" + name;
  const bool is_there = !test::world().any(false);  // nobody reads what was there before
  test::world().on_root([&] { std::ofstream(path) << text; });
  return is_there && !test::world().any(false) ? path : "";
}

std::string plane(const std::string& order, const std::string& time) {
  const std::string data = written("data.csv",
                                   "time,x,y,value,sd\n0.11,0.5,0.5,0.3,0.1\n0.2,0.21,0.77,-0.2,0.2\n"
                                   "0.3,0.98,0.5,0.1,0.1\n0.3,0.4,0.49,0.1,0.3\n");
  return fmt::format(
      "case: shapes\ngrid:\n  x: {{cells: 13, to: 1, boundary: {{lower: {{value: 0}}, upper: {{slope: 0.1}}}}}}\n"
      "  y: {{cells: 16, to: 1, boundary: periodic}}\n  order: 4\n"
      "parameters: {{a: 0.3, c: {{field: \"0.4 + 0.1*x*y\"}}, q: {{series: {{times: [0, 0.1, 0.5], values: [1, 2, "
      "0.5]}}}}}}\n"
      "state: {{u: {{initial: \"x*sin(2*pi*y)\"}}, v: {{initial: \"0.2*x\"}}}}\n"
      "equations: {{{0}(u): \"div(c*grad(u)) - a*v\", {0}(v): \"0.2*lap(v) - u*v\"}}\n"
      "sources: [{{to: u, signal: q, at: [0.52, 0.48], factor: 2, shape: {{gaussian: [0.1, 0.05]}}}}]\n"
      "objective: [{{misfit: {{of: u, data: {1}, noise: sd, shape: {{box: [0.3, 0.2]}}}}}}, {{misfit: {{of: \"u*v + "
      "a\", "
      "data: {1}, shape: {{gaussian: 0.12}}}}}}]\n"
      "unknowns: {{a: {{}}, c: {{}}, q: {{}}, initial(u): {{}}}}\ntime: {{to: 0.5, {2}}}\n",
      order, data, time);
}

const std::vector<std::array<std::string, 2>> ways{{"dtt", "method: leapfrog, step: 0.03"},
                                                   {"dt", "method: rk4, step: 0.0021"}};

TEST(Shapes, HaveExactGradients) {
  for (const auto& [order, time] : ways) {
    SCOPED_TRACE(time);
    Session session(test::text_case(plane(order, time)), test::world(), Sensitivities::adjoint_and_tangent);
    test::expect_right_gradient(session, 1e-2, 1e-12);
  }
}

TEST(Shapes, HaveTheSameBitsOnEverySchedule) {
  for (const auto& [order, time] : ways)
    for (const std::string checkpoints : {"{host: 5 slots}", "{host: 1 GiB}"}) {
      const std::string text = plane(order, time);
      Session serial(test::text_case(text), test::self(), Sensitivities::adjoint);
      Session session(test::text_case(text + "checkpoints: " + checkpoints + "\n"), test::world(),
                      Sensitivities::adjoint);
      SCOPED_TRACE(time + checkpoints);
      test::expect_same_bits(session, session.gradient({}), serial.gradient({}));
    }
}

/// What a sensor at B hears of a source at A is what one at A hears of one at B.
TEST(Shapes, OfSourcesAreTheTransposeOfThoseOfSensors) {
  for (const std::string shape : {"{box: [0.3, 0.11]}", "{gaussian: 0.07}", "{box: [0.2, 0]}"}) {
    const auto heard = [&](const std::string& from, const std::string& to) {
      const std::string data = written("heard.csv", "time,x,y,value\n1.1," + to + ",0\n");
      Session session(
          test::text_case(fmt::format(
              "case: there-and-back\ngrid:\n  x: {{cells: 20, to: 1, boundary: {{value: 0}}}}\n"
              "  y: {{cells: 24, to: 1.2, boundary: {{slope: 0}}}}\n  order: 8\n"
              "parameters: {{q: {{series: {{times: [0, 0.2, 0.4, 9], values: [0, 1, 0, 0]}}}}}}\nstate: {{u: "
              "{{initial: 0}}}}\nequations: {{dtt(u): \"lap(u)\"}}\n"
              "sources: [{{to: u, signal: q, at: [{}], shape: {}}}]\nobjective: [{{misfit: {{of: u, data: {}, shape: "
              "{}}}}}]\ntime: {{method: leapfrog, step: 0.02, to: 1.1}}\n",
              from, shape, data, shape)),
          test::world(), Sensitivities::none);
      session.objective({});
      return session.simulation().objective().terms().front()->observed()[0];
    };
    const double there = heard("0.23, 0.05", "0.64,0.97"), back = heard("0.64, 0.97", "0.23,0.05");
    EXPECT_GT(std::fabs(there), 1e-3);
    EXPECT_NEAR(there, back, 1e-14) << shape;
  }
}

TEST(Shapes, AreRefusedWhereTheyCannotBe) {
  const auto refusal = [](const std::string& with) {
    std::string text = plane("dtt", "method: leapfrog, step: 0.03");
    const std::string what = "shape: {box: [0.3, 0.2]}";
    return test::failure_of(text.replace(text.find(what), what.size(), with));
  };
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("test.yaml:10:"), std::string::npos) << message;
  };
  has(refusal("shape: {box: [0.3, 1.2]}"), "is larger than the grid allows: 1.2, and along y at most 1");
  has(refusal("shape: {gaussian: 0.6}"), "is larger than the grid allows: 0.6, and along x at most 0.5");
  has(refusal("shape: {box: [0.3]}"), "needs one number, or one for each axis, 2");
  has(refusal("shape: {box: 0}"), "must be positive along one axis at least");
  has(refusal("shape: {box: [0.1, -1]}"), "cannot be negative");
  has(refusal("shape: {boxes: 1}"), "unknown key 'boxes'");
  has(refusal("shape: {box: 0.1, gaussian: 0.1}"), "needs either box or gaussian");
  has(refusal("shape: {box: 0.1}, weights: sinc"), "excludes weights");
}

}  // namespace
}  // namespace hindsight

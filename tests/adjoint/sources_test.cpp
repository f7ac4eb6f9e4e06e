// Sources and receivers at points: gradients, bits, and that each is the transpose of the other.
// ranks: 1 2 3
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "solvers/grid/point_stencils.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "sources-" + std::to_string(test::world().size()) + "-" + name;
  const bool is_there = !test::world().any(false);  // nobody reads what was there before
  test::world().on_root([&] { std::ofstream(path) << text; });
  return is_there && !test::world().any(false) ? path : "";
}

/// Two fields, several sources of one signal, one of another, with values at points that lie across ranks.
std::string plane(const std::string& order, const std::string& time, const std::string& weights,
                  const std::string& damping = "0.3") {
  const bool is_wave = order == "dtt";
  const std::string table = written("table.csv", "x,y,factor\n0.31,0.52,1.5\n0.33,0.61,-0.5\n0.99,0.02,0.7\n");
  const std::string data = written("data.csv",
                                   "time,x,y,value,sd\n0.11,0.5,0.5,0.3,0.1\n0.2,0.21,0.77,-0.2,0.2\n"
                                   "0.3,0.98,0.5,0.1,0.1\n0.3,0.4,0.49,0.1,0.3\n");
  return fmt::format(
      "case: points\ngrid:\n  x: {{cells: 13, to: 1, boundary: {{lower: {{value: 0}}, upper: {{slope: 0}}}}}}\n"
      "  y: {{cells: 16, to: 1, boundary: periodic}}\n  order: 4\n"
      "parameters: {{a: 0.3, c: {{field: \"0.4 + 0.1*x*y\"}}, q: {{series: {{times: [0, 0.1, 0.5], values: [1, 2, "
      "0.5]}}}}, r: {{series: {{times: [0, 0.5], values: [1, -1]}}}}}}\n"
      "state: {{u: {{initial: \"x*sin(2*pi*y)\"}}, v: {{initial: \"0.2*x\"}}}}\n"
      "equations: {{{0}(u): \"div(c*grad(u)) - a*v\", {0}(v): \"0.2*lap(v) - u*v{1}\"}}\n"
      "sources:\n  - {{to: u, signal: q, table: {2}, weights: {3}}}\n"
      "  - {{to: v, signal: r, at: [0.52, 0.48], factor: 2, weights: {3}}}\n"
      "  - {{to: v, signal: q, at: {{x: 0.05, y: 0.98}}}}\n"
      "objective: [{{misfit: {{of: u, data: {4}, noise: sd, weights: {3}}}}}, {{misfit: {{of: \"u*v + a\", data: "
      "{4}}}}}]\n"
      "unknowns: {{a: {{}}, c: {{}}, q: {{}}, r: {{}}, initial(u): {{}}}}\ntime: {{to: 0.5, {5}}}\n",
      order, is_wave ? " - " + damping + "*dt(v)" : "", table, weights, data, time);
}

const std::vector<std::array<std::string, 2>> ways{{"dtt", "method: leapfrog, step: 0.03"},
                                                   {"dt", "method: rk4, step: 0.0021"},
                                                   {"dt", "method: dopri5, step: 0.0021"}};

TEST(Sources, HaveExactGradients) {
  for (const auto& [order, time] : ways)
    for (const std::string weights : {"linear", "sinc"}) {
      SCOPED_TRACE(time + ", " + weights);
      Session session(test::text_case(plane(order, time, weights)), test::world(), Sensitivities::adjoint_and_tangent);
      test::expect_right_gradient(session, 1e-2, 1e-12);
    }
}

/// What damps divides what sources add, so that derivatives by it read them.
TEST(Sources, HaveExactGradientsBesideWhatDamps) {
  for (const std::string damping : {"a", "c^2", "(u^2 + a*v^2)"}) {
    SCOPED_TRACE(damping);
    const std::string text = plane("dtt", "method: leapfrog, step: 0.03", "sinc", damping);
    Session session(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
    test::expect_right_gradient(session, 1e-2, 1e-12);
    Session serial(test::text_case(text + "checkpoints: {host: 5 slots}\n"), test::self(), Sensitivities::adjoint);
    test::expect_same_bits(session, session.gradient({}), serial.gradient({}));
  }
}

/// Shots with sources at other places, of two states whose sources lie beside each other.
TEST(Sources, LeaveNothingToTheNextShot) {
  const auto objective = [](const std::string& shots) {
    Session session(
        test::text_case(
            "case: two\ngrid: {x: {cells: 12, to: 1, boundary: {value: 0}}, y: {cells: 10, to: 1, boundary: "
            "{slope: 0}}}\nparameters: {q: {series: {times: [0, 1], values: [1, -2]}}}\n"
            "state: {u: {initial: 0}, v: {initial: 0}}\n"
            "equations: {dtt(u): \"lap(u) + v\", dtt(v): \"lap(v) - u\"}\n"
            "sources: [{to: u, signal: q, at: {x: 0.3, y: 0.5}}, {to: v, signal: q, at: {x: 0.7, y: 0.5}}]\n"
            "shots: [" +
            shots +
            "]\ntime: {method: leapfrog, step: 0.02, to: 1}\n"
            "objective: [{final: \"u^2 + v^2\"}]\nunknowns: {q: {}}\n"),
        test::self(), Sensitivities::adjoint);
    return session.gradient({}).objective;
  };
  const std::string a = "{shot: a, sources.0.at.x: 0.3, sources.1.at.x: 0.7}",
                    b = "{shot: b, sources.0.at.x: 0.7, sources.1.at.x: 0.2}",
                    c = "{shot: c, sources.0.at.x: 0.45, sources.1.at.x: 0.9}";
  const double apart = objective(a) + objective(b) + objective(c);
  EXPECT_NEAR(objective(a + ", " + b + ", " + c), apart, 1e-14 * apart);
}

TEST(Sources, HaveTheSameBitsOnEverySchedule) {
  for (const auto& [order, time] : ways)
    for (const std::string checkpoints : {"{host: 5 slots}", "{host: 1 GiB}"}) {
      const std::string text = plane(order, time, "sinc");
      Session serial(test::text_case(text), test::self(), Sensitivities::adjoint);
      Session session(test::text_case(text + "checkpoints: " + checkpoints + "\n"), test::world(),
                      Sensitivities::adjoint);
      SCOPED_TRACE(time + checkpoints);
      test::expect_same_bits(session, session.gradient({}), serial.gradient({}));
    }
}

/// On a device, which an emulated one stands for.
TEST(Sources, HaveTheSameBitsOnADevice) {
  const std::string text = plane("dtt", "method: leapfrog, step: 0.03", "sinc");
  Session host(test::text_case(text), test::world(), Sensitivities::adjoint);
  SessionOptions options;
  options.machine = test::device();
  Session there(test::text_case(text), test::world(), Sensitivities::adjoint, options);
  const Evaluation a = host.gradient({}), b = there.gradient({});
  EXPECT_NEAR(a.objective, b.objective, 1e-12 * a.objective);
  for (std::size_t i = 0; i < a.gradient.size(); ++i)
    for (std::size_t k = 0; k < a.gradient[i].size(); ++k) EXPECT_NEAR(a.gradient[i][k], b.gradient[i][k], 1e-10);
}

/// What a receiver at B hears of a source at A is what one at A hears of one at B.
TEST(Sources, AreTheTransposeOfReceivers) {
  for (const std::string weights : {"linear", "sinc"}) {
    const auto heard = [&](const std::string& from, const std::string& to) {
      const std::string data = written("heard.csv", "time,x,y,value\n1.1," + to + ",0\n");
      Session session(
          test::text_case(fmt::format(
              "case: there-and-back\ngrid:\n  x: {{cells: 20, to: 1, boundary: {{value: 0}}}}\n"
              "  y: {{cells: 24, to: 1.2, boundary: {{slope: 0}}}}\n  order: 8\n"
              "parameters: {{q: {{series: {{times: [0, 0.2, 0.4, 9], values: [0, 1, 0, 0]}}}}}}\nstate: {{u: "
              "{{initial: "
              "0}}}}\nequations: {{dtt(u): \"lap(u)\"}}\nsources: [{{to: u, signal: q, at: [{}], weights: {}}}]\n"
              "objective: [{{misfit: {{of: u, data: {}, weights: {}}}}}]\ntime: {{method: leapfrog, step: 0.02, to: "
              "1.1}}\n",
              from, weights, data, weights)),
          test::world(), Sensitivities::none);
      session.objective({});
      return session.simulation().objective().terms().front()->observed()[0];
    };
    const double there = heard("0.23, 0.31", "0.64,0.97"), back = heard("0.64, 0.97", "0.23,0.31");
    EXPECT_GT(std::fabs(there), 1e-3);
    EXPECT_NEAR(there, back, 1e-13) << weights;
  }
}

/// A sinc knows waves of four cells to a part in a thousand, where linear weights are off by much more.
TEST(Sources, SincWeightsFollowShortWaves) {
  const Grid grid({{"x", 40, 0.0, 40.0, true}, {"y", 32, 0.0, 32.0, true}}, test::world(), {4, 4, 0});
  const std::array<double, 3> point{17.3, 15.8, 0.0};
  const auto wave = [](double x, double y) { return std::cos(2 * M_PI * x / 5) * std::cos(2 * M_PI * y / 4); };
  const auto error = [&](PointWeights weights) {
    const PointStencils stencils(grid, {point}, weights);
    double value = 0.0, sum = 0.0;
    for (const PointStencils::Cell& cell : stencils.cells(0)) {
      const std::int64_t j = cell.row % grid.cells()[1], i = cell.cell - grid.layout().stride_y * j;
      value += cell.weight *
               wave(static_cast<double>(i + grid.first()[0]) + 0.5, static_cast<double>(j + grid.first()[1]) + 0.5);
      sum += cell.weight;
    }
    EXPECT_NEAR(test::world().size() == 1 ? sum : 1.0, 1.0, 1e-2);
    return std::fabs(value - wave(point[0], point[1]));
  };
  if (test::world().size() > 1) return;
  EXPECT_LT(error(PointWeights::sinc), 2e-3);
  EXPECT_GT(error(PointWeights::linear), 0.1);
}

TEST(Sources, AreRefusedWhereTheyCannotBe) {
  const auto refusal = [](std::string text, const std::string& what, const std::string& with) {
    text.replace(text.find(what), what.size(), with);
    return test::failure_of(text);
  };
  const std::string text = plane("dtt", "method: leapfrog, step: 0.03", "linear");
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(refusal(text, "at: [0.52, 0.48]", "at: [0.52, 1.48]"), "the source's y lies outside the grid");
  has(refusal(text, "at: [0.52, 0.48]", "at: [0.52]"), "needs a number for each axis");
  has(refusal(text, "signal: r", "signal: s"), "'s' is not a series");
  has(refusal(text, "{times: [0, 0.5], values: [1, -1]}", "{times: [0, 0.4], values: [1, -1]}"),
      "the signal 'r' is shorter than the run");
  has(refusal(text, "to: v, signal: r", "to: w, signal: r"), "sources.1.to");
  has(test::failure_of(plane("dt", "method: cn, step: 0.01", "linear")), "takes no sources");
}

}  // namespace
}  // namespace hindsight

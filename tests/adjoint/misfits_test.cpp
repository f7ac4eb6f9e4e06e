// Filters, windows and weights of misfits: gradients, bits, values by hand, and what is refused.
// ranks: 1 2 3
#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "tests/support.hpp"

namespace hindsight {
namespace {

std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "misfits-" + std::to_string(test::world().size()) + "-" + name;
  const bool is_there = !test::world().any(false);  // nobody reads what was there before
  test::world().on_root([&] { std::ofstream(path) << text; });
  return is_there && !test::world().any(false) ? path : "";
}

/// Ten times, 0.05 apart, of three places that lie across ranks.
std::string traces() {
  std::string table = "time,x,y,value,sd,w\n";
  for (int t = 1; t <= 10; ++t)
    for (const auto& [x, y, sd, w] : {std::array{0.5, 0.5, 0.1, 1.0}, {0.21, 0.77, 0.2, 0.5}, {0.98, 0.49, 0.3, 2.0}})
      table += fmt::format("{},{},{},{},{},{}\n", 0.05 * t, x, y, std::sin(3.0 * t + 7.0 * x), sd, w);
  return written("traces.csv", table);
}

std::string plane(const std::string& order, const std::string& time, const std::string& misfits) {
  return fmt::format(
      "case: misfits\ngrid:\n  x: {{cells: 13, to: 1, boundary: {{lower: {{value: 0}}, upper: {{slope: 0}}}}}}\n"
      "  y: {{cells: 16, to: 1, boundary: periodic}}\n  order: 4\n"
      "parameters: {{a: 0.3, c: {{field: \"0.4 + 0.1*x*y\"}}, q: {{series: {{times: [0, 0.1, 0.5], values: [1, 2, "
      "0.5]}}}}}}\n"
      "state: {{u: {{initial: \"x*sin(2*pi*y)\"}}, v: {{initial: \"0.2*x\"}}}}\n"
      "equations: {{{0}(u): \"div(c*grad(u)) - a*v\", {0}(v): \"0.2*lap(v) - u*v\"}}\n"
      "sources: [{{to: u, signal: q, at: [0.52, 0.48], factor: 2}}]\n"
      "objective: [{1}]\n"
      "unknowns: {{a: {{}}, c: {{}}, q: {{}}, initial(u): {{}}}}\ntime: {{to: 0.5, {2}}}\n",
      order, misfits, time);
}

/// Two, with all that there is.
std::string two_misfits() {
  const std::string data = traces();
  return fmt::format(
      "{{misfit: {{of: u, data: {0}, noise: sd, weights: sinc, weight: w, window: {{from: 0.1, to: 0.46, taper: 0.1}}, "
      "filter: {{lowpass: 3}}}}}}, {{misfit: {{of: \"u*v + a\", data: {0}, noise: 0.2, weight: \"1 + x*exp(-t)\", "
      "filter: {{bandpass: [1, 6], order: 3, phase: zero}}}}, weight: 0.7}}, {{misfit: {{of: \"c^2*u + x*y*a*v\", "
      "data: "
      "{0}, noise: sd}}}}",
      data);
}

const std::vector<std::array<std::string, 2>> ways{{"dtt", "method: leapfrog, step: 0.03"},
                                                   {"dt", "method: rk4, step: 0.0021"}};

TEST(Misfits, HaveExactGradients) {
  for (const auto& [order, time] : ways) {
    SCOPED_TRACE(time);
    Session session(test::text_case(plane(order, time, two_misfits())), test::world(),
                    Sensitivities::adjoint_and_tangent);
    test::expect_right_gradient(session, 1e-2, 1e-12);
  }
}

TEST(Misfits, HaveTheSameBitsOnEverySchedule) {
  for (const auto& [order, time] : ways)
    for (const std::string checkpoints : {"{host: 5 slots}", "{host: 1 GiB}"}) {
      const std::string text = plane(order, time, two_misfits());
      Session serial(test::text_case(text), test::self(), Sensitivities::adjoint);
      Session session(test::text_case(text + "checkpoints: " + checkpoints + "\n"), test::world(),
                      Sensitivities::adjoint);
      SCOPED_TRACE(time + checkpoints);
      test::expect_same_bits(session, session.gradient({}), serial.gradient({}));
    }
}

/// With the published coefficients of order 2 and a corner at a fifth of the Nyquist frequency.
TEST(Misfits, AreWhatTheFormulaSays) {
  const std::string text = plane("dtt", "method: leapfrog, step: 0.03",
                                 "{misfit: {of: u, data: " + traces() +
                                     ", noise: sd, weight: w, window: {from: 0.1, to: 0.5, taper: 0.2}, filter: "
                                     "{lowpass: 2, order: 2}}, weight: 3}");
  const Case c = test::text_case(text);
  Session session(c, test::world(), Sensitivities::none);
  const double objective = session.objective({});
  const std::vector<double> simulated = session.simulation().objective().observed();
  double sum = 0.0, squares = 0.0;
  for (std::size_t place = 0; place < 3; ++place) {
    std::array<double, 2> in{}, out{};  // one and two times ago
    for (std::size_t t = 0; t < 10; ++t) {
      const PointObservation& o = c.objective[0].observations[3 * t + place];
      const double difference = simulated[3 * t + place] - o.value;
      const double filtered =
          0.06745527 * (difference + in[1]) + 0.13491055 * in[0] + 1.14298050 * out[0] - 0.41280160 * out[1];
      in = {difference, in[0]};
      out = {filtered, out[0]};
      const double inside = std::min(o.time - 0.1, 0.5 - o.time);
      const double window = inside < -1e-12 ? 0.0 : 0.5 - 0.5 * std::cos(M_PI * std::min(1.0, inside / 0.2));
      const std::array<double, 3> w{1.0, 0.5, 2.0}, sd{0.1, 0.2, 0.3};
      sum += 1.5 * w[place] * std::pow(window * filtered / sd[place], 2);
      if (window > 1e-9) squares += filtered * filtered;
    }
  }
  EXPECT_NEAR(objective, sum, 1e-6 * sum);
  EXPECT_NEAR(session.residuals()[0].sum_of_squares, squares, 1e-6 * squares);
}

/// Parameter fields and coordinates in what is observed: of functions that are linear between cells their values.
TEST(Misfits, SeeParameterFieldsAndCoordinates) {
  std::string text =
      plane("dtt", "method: leapfrog, step: 0.03", "{misfit: {of: \"c*x + 2*y\", data: " + traces() + "}}");
  const std::string field = "0.4 + 0.1*x*y";
  text.replace(text.find(field), field.size(), "3");
  Session session(test::text_case(text), test::world(), Sensitivities::adjoint);
  const UnknownValues gradient = session.gradient({}).gradient;
  const std::vector<double> simulated = session.simulation().objective().observed();
  double slope = 0.0;
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    const PointObservation& o = (*session.simulation().objective().observations()[0])[i];
    EXPECT_NEAR(simulated[i], 3 * o.at[0] + 2 * o.at[1], 1e-13);
    slope += (simulated[i] - o.value) * o.at[0];
  }
  UnknownValues ones = session.simulation().values();
  for (std::vector<double>& values : ones) values.assign(values.size(), 0.0);
  ones[1].assign(ones[1].size(), 1.0);
  EXPECT_NEAR(session.dot(gradient, ones), slope, 1e-12 * std::fabs(slope));
}

/// A filter in place of the misfit's own, as stages of inversions set it, and back again.
TEST(Misfits, TakeOtherFiltersForAWhile) {
  const auto with = [](const std::string& filter) {
    return plane("dtt", "method: leapfrog, step: 0.03", "{misfit: {of: u, data: " + traces() + filter + "}}");
  };
  const auto value = [&](const std::string& filter) {
    Session session(test::text_case(with(filter)), test::world(), Sensitivities::none);
    return session.objective({});
  };
  Case c = test::text_case(with(", filter: {lowpass: 5}"));
  c.objective[0].may_be_filtered = true;
  Session session(c, test::world(), Sensitivities::none);
  const double own = session.objective({});
  EXPECT_EQ(own, value(", filter: {lowpass: 5}"));
  session.simulation().set_filters({FilterSpec{.high = 3.0}});
  EXPECT_EQ(session.objective({}), value(", filter: {lowpass: 3}"));
  session.simulation().set_filters({std::nullopt});
  EXPECT_EQ(session.objective({}), own);
  EXPECT_NE(own, value(""));
}

TEST(Misfits, AreRefusedWhereTheyCannotBe) {
  const auto refusal = [](const std::string& more) {
    return test::failure_of(
        plane("dtt", "method: leapfrog, step: 0.03", "{misfit: {of: u, data: " + traces() + ", " + more + "}}"));
  };
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("test.yaml:10:"), std::string::npos) << message;
  };
  has(refusal("filter: {lowpass: 12}"), "12 is not below the Nyquist frequency 10 of observations that are 0.05 apart");
  has(refusal("filter: {bandpass: [3, 10]}"), "10 is not below the Nyquist frequency 10");
  has(refusal("filter: {bandpass: [3, 2]}"), "the first frequency must be below the second");
  has(refusal("filter: {lowpas: 3}"), "did you mean 'lowpass'");
  has(refusal("filter: {lowpass: 3, highpass: 1}"), "needs one of lowpass, highpass, bandpass");
  has(refusal("filter: {lowpass: 3, order: 30}"), "order must lie between 1 and 16");
  has(refusal("filter: {lowpass: 3}, log: true, value: sd"), "filter and log: true exclude each other");
  has(refusal("window: {from: 0.2, to: 0.9}"), "window.to lies outside the run: 0.9 is not between 0 and 0.5");
  has(refusal("window: {from: 0.3, to: 0.2}"), "from must be before to");
  has(refusal("window: {from: 0.3, to: 0.4, taper: 0.1}"), "taper must lie between 0 and half of the window, 0.05");
  has(refusal("window: {from: 0.31, to: 0.34}"), "window leaves no observation");
  has(refusal("window: {taper: 0.1}"), "needs from, to or both");
  has(refusal("weight: \"x - 0.6\""), "a weight must be 0 or positive");
  has(refusal("weight: \"u\""), "unknown name 'u'");
  const std::string rows = written("rows.csv", "time,x,y,value\n0.1,0.5,0.5,1\n0.3,0.5,0.5,1\n0.4,0.5,0.5,1\n");
  has(test::failure_of(
          plane("dtt", "method: leapfrog, step: 0.03", "{misfit: {of: u, data: " + rows + ", filter: {lowpass: 1}}}")),
      "filters need the same places at times that are equally far apart");
}

}  // namespace
}  // namespace hindsight

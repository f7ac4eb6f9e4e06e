// Leapfrog: its order, exact gradients, the same bits on every schedule and number of ranks, and what is refused.
// ranks: 1 2 3
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tests/support.hpp"

namespace hindsight {
namespace {

/// A wave in an unknown medium, damped towards two sides by an unknown factor, driven at a wall by a series.
const std::string plane = R"yaml(
case: plane
grid:
  x: {cells: 17, to: 1.7, boundary: {lower: {value: "0.3*q"}, upper: {slope: "g*t"}}}
  y: {cells: 12, to: 1.2, boundary: periodic}
  order: 4
parameters: {g: 0.2, s: 0.7, c: {field: "1 + 0.3*sin(2*x)*y"}, q: {series: {times: [0, 0.3, 1], values: [0, 1, -0.5]}}}
state: {u: {initial: "exp(-8*((x - 0.8)^2 + (y - 0.5)^2))", rate: "0.3*x"}}
equations: {dtt(u): "c^2*lap(u) - s*x*dt(u) - 0.2*u^3 + q*sin(t)*x"}
objective: [{final: "u^2"}, {integral: "u^4"}]
unknowns: {g: {}, s: {}, c: {}, q: {}, initial(u): {}, rate(u): {}}
)yaml";

/// Two fields that drive each other, on three axes; what damps depends on the state.
const std::string space = R"yaml(
case: space
grid: {x: {cells: 6, to: 1, boundary: {value: 0.1}}, y: {cells: 5, to: 1, boundary: periodic}, z: {cells: 7, to: 1, boundary: {slope: 0.2}}}
parameters: {a: 0.4, k: {field: "0.1 + 0.05*x*z"}}
state: {u: {initial: "x*z", rate: "a*y"}, v: {initial: "a*x", rate: 0.1}}
equations:
  dtt(u): "div(k*grad(u)) - a*u*v - v^2*dt(u)"
  dtt(v): "0.1*lap(v) + dx(u) - k*dt(v)"
objective: [{final: "u^2 + v"}, {integral: "u*v"}]
unknowns: {a: {}, k: {}, initial(v): {}, rate(u): {}}
)yaml";

/// Linear and not damped: a record is the first level.
const std::string line = R"yaml(
case: line
grid: {x: {cells: 24, to: 1, boundary: {lower: {value: 0}, upper: {slope: 0}}}, order: 8}
parameters: {c: {field: "1 + 0.2*x"}}
state: {u: {initial: "sin(3*x)^4", rate: 0}}
equations: {dtt(u): "c^2*lap(u)"}
objective: [{final: "u^2"}]
unknowns: {c: {}, initial(u): {}, rate(u): {}}
)yaml";

const std::string pendulum = R"yaml(
case: pendulum
parameters: {g: 9.81, b: 0.3}
state: {u: {initial: 0.6, rate: "0.1*g"}}
equations: {dtt(u): "-g*sin(u) - b*dt(u)"}
objective: [{final: "u^2"}, {integral: "u^2"}]
unknowns: {g: {}, b: {}, initial(u): {}, rate(u): {}}
)yaml";

std::string time_of(double step, double to) {
  return fmt::format("time: {{method: leapfrog, step: {}, to: {}}}\n", step, to);
}

TEST(Leapfrog, HasExactGradients) {
  for (const std::string& text : {plane + time_of(0.03, 0.9), space + time_of(0.05, 0.8), line + time_of(0.02, 0.6),
                                  pendulum + time_of(0.02, 1.0)}) {
    Session session(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
    SCOPED_TRACE(session.source().name);
    test::expect_right_gradient(session, 1e-2, 1e-13);
  }
}

/// Of x'' = -w^2 x - 2 d x', whose solution is known, and of its derivatives.
TEST(Leapfrog, IsOfSecondOrder) {
  const auto run = [](double step) {
    Session session(test::text_case("case: oscillator\nparameters: {w: 3, d: 0.4}\n"
                                    "state: {u: {initial: 1, rate: 0.5}}\n"
                                    "equations: {dtt(u): \"-w^2*u - 2*d*dt(u)\"}\nobjective: [{final: u}]\n"
                                    "unknowns: {w: {}, d: {}, initial(u): {}, rate(u): {}}\n" +
                                    time_of(step, 2.0)),
                    test::self(), Sensitivities::adjoint);
    return session.gradient({});
  };
  const auto exact = [](double w, double d, double x, double v) {
    const double f = std::sqrt(w * w - d * d), t = 2.0;
    return std::exp(-d * t) * (x * std::cos(f * t) + (v + d * x) / f * std::sin(f * t));
  };
  const double e = 1e-6;
  const std::array<double, 5> known{exact(3, 0.4, 1, 0.5),
                                    (exact(3 + e, 0.4, 1, 0.5) - exact(3 - e, 0.4, 1, 0.5)) / (2 * e),
                                    (exact(3, 0.4 + e, 1, 0.5) - exact(3, 0.4 - e, 1, 0.5)) / (2 * e),
                                    exact(3, 0.4, 1.5, 0.5) - exact(3, 0.4, 0.5, 0.5),
                                    exact(3, 0.4, 1, 1) - exact(3, 0.4, 1, 0)};  // linear in these two
  const auto errors = [&](double step) {
    const Evaluation found = run(step);
    std::array<double, 5> all{std::fabs(found.objective - known[0])};
    for (std::size_t i = 1; i < 5; ++i) all[i] = std::fabs(found.gradient[i - 1][0] - known[i]);
    return all;
  };
  const auto coarse = errors(0.02), fine = errors(0.01);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(std::log2(coarse[i] / fine[i]), 2.0, 0.1) << i;
}

/// A standing wave between a wall where it is zero and one where its slope is.
TEST(Leapfrog, SolvesTheWaveEquation) {
  const auto error = [](int cells) {
    const double k = 1.5 * std::numbers::pi;
    Session session(
        test::text_case(fmt::format("case: standing\ngrid: {{x: {{cells: {}, to: 1, boundary: {{lower: {{value: 0}}, "
                                    "upper: {{slope: 0}}}}}}}}\nstate: {{u: {{initial: \"sin(1.5*pi*x)\"}}}}\n"
                                    "equations: {{dtt(u): \"lap(u)\"}}\n"
                                    "objective: [{{final: \"(u - cos({}*0.7)*sin(1.5*pi*x))^2\"}}]\n",
                                    cells, k) +
                        time_of(0.7 / cells, 0.7)),
        test::world(), Sensitivities::none);
    return std::sqrt(session.objective({}));
  };
  const double coarse = error(20), middle = error(40), fine = error(80);
  EXPECT_NEAR(std::log2(coarse / middle), 2.0, 0.1);
  EXPECT_NEAR(std::log2(middle / fine), 2.0, 0.1);
}

TEST(Leapfrog, HasTheSameBitsOnEverySchedule) {
  for (const std::string& text : {plane + time_of(0.03, 0.9), line + time_of(0.02, 0.6)}) {
    Session serial(test::text_case(text), test::self(), Sensitivities::adjoint);
    SCOPED_TRACE(serial.source().name);
    const Evaluation expected = serial.gradient({});
    for (const auto& [schedule, tiers] : std::vector<std::pair<std::string, std::string>>{
             {"revolve", "host: 5 slots"},
             {"store-all", "host: 1 GiB"},
             {"store-all", "host: 40 slots"},
             {"hrevolve", "host: 3 slots, disk: 120 slots"},
             {"hrevolve", "host: 3 slots, disk: {size: 120 slots, codec: lz4}"},
             {"online", "host: 6 slots"}}) {
      SCOPED_TRACE(schedule + ", " + tiers);
      SessionOptions options;
      options.disk.scratch = testing::TempDir() + "leapfrog";
      Session session(test::text_case(text + "checkpoints: {schedule: " + schedule + ", " + tiers + "}\n"),
                      test::world(), Sensitivities::adjoint, options);
      const Evaluation mine = session.gradient({});
      EXPECT_EQ(session.plan().kind->name, schedule);
      test::expect_same_bits(session, mine, expected);
      test::expect_same_bits(session, session.gradient({}), expected);
    }
  }
}

/// Records of all steps take half a state each where nothing that damps is differentiated.
TEST(Leapfrog, KeepsOneLevelOfEveryStep) {
  for (const auto& [text, is_one] : {std::pair(line + time_of(0.02, 0.6), true), {plane + time_of(0.03, 0.9), false}}) {
    Session session(test::text_case(text), test::world(), Sensitivities::adjoint);
    session.gradient({});
    EXPECT_EQ(session.plan().kind->name, "store-all");
    EXPECT_EQ(session.plan_inputs().are_first_levels, is_one) << session.source().name;
    const std::int64_t state = session.simulation().state_bytes(), record = session.simulation().record_bytes();
    EXPECT_EQ(record, is_one ? state / 2 : state);
    EXPECT_EQ(session.plan_inputs().state_bytes, record);
  }
}

std::string with_sensors(const std::string& text, const std::string& name) {
  const std::string file = testing::TempDir() + name;
  test::world().on_root([&] {
    std::FILE* const out = std::fopen(file.c_str(), "w");
    std::fputs("time,x,y,value\n", out);
    for (int i = 0; i <= 20; ++i) std::fprintf(out, "%.17g,%g,0.5,%g\n", 0.9 * i / 20, 0.3 + 0.05 * i, 0.1 * i);
    std::fclose(out);
  });
  const std::size_t at = text.find("objective: [");
  return text.substr(0, at + 12) + "{misfit: {of: u^2, data: " + file + ", noise: 0.1}}, " + text.substr(at + 12);
}

/// Sensors' times lie between states: fields are interpolated, and steps do not change for them.
TEST(Leapfrog, ReadsSensorsBetweenItsStates) {
  const std::string text = with_sensors(plane, "sensors.csv") + time_of(0.037, 0.9);
  Session session(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
  const TimeLine& time = session.simulation().time();
  EXPECT_EQ(time.steps(), 25);
  EXPECT_EQ(time.stretches(), 1U);
  EXPECT_EQ(time.landing_of(0.45), 13);
  EXPECT_NEAR(time.share_at(0.45), 0.5, 1e-12);
  EXPECT_EQ(time.landing_of(0.9), 25);
  EXPECT_EQ(time.share_at(0.9), 1.0);
  test::expect_right_gradient(session, 1e-2, 1e-13);
}

std::string refusal(const std::string& text) {
  return test::failure_of(text);
}

/// Multipliers are as small as the weight.
TEST(Leapfrog, DifferentiatesObjectivesOfTinyWeights) {
  std::string text = line + time_of(0.02, 0.6);
  Session whole(test::text_case(text), test::world(), Sensitivities::adjoint);
  text.replace(text.find("\"u^2\""), 5, "\"1e-150*u^2\"");
  Session tiny(test::text_case(text), test::world(), Sensitivities::adjoint);
  const Evaluation a = whole.gradient({}), b = tiny.gradient({});
  for (std::size_t q = 0; q < a.gradient.size(); ++q)
    for (std::size_t i = 0; i < a.gradient[q].size(); ++i)
      EXPECT_NEAR(1e150 * b.gradient[q][i], a.gradient[q][i], 1e-13 + 1e-12 * std::abs(a.gradient[q][i]));
}

TEST(Leapfrog, RefusesWhatItCannotTake) {
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(refusal(line + "time: {method: rk4, step: 0.02, to: 0.6}\n"), "takes equations dt(...), and dtt(u)");
  std::string first = line;
  first.replace(first.find("dtt(u)"), 6, "dt(u)");
  first.replace(first.find(", rate: 0"), 9, "");
  first.replace(first.find(", rate(u): {}"), 13, "");
  has(refusal(first + time_of(0.02, 0.6)), "takes equations dtt(...), and dt(u)");
  has(refusal(line + time_of(0.06, 0.6)), "unstable: the longest stable one is 0.0");
  has(refusal(line + "time: {method: leapfrog, step: 0.02, to: 0.6, tolerance: 1e-3}\n"), "all steps of one length");
  has(refusal(line + "events: [{at: 0.3, set: {u: 0}}]\n" + time_of(0.02, 0.6)), "takes no events");
  for (const char* const damping : {"lap(dt(u))", "dt(u)^2", "u*dx(c)*dt(u)"}) {
    std::string text = line;
    text.replace(text.find("c^2*lap(u)"), 10, std::string("c^2*lap(u) - ") + damping);
    has(refusal(text + time_of(0.02, 0.6)), "may damp dtt(u)");
  }
  std::string other = space;
  other.replace(other.find("k*dt(v)"), 7, "k*dt(u)");
  has(refusal(other + time_of(0.05, 0.8)), "dt(...) takes the state whose equation this is");
}

/// The bound is that of the highest frequency that differences know, and a little below it a run stays bounded:
/// 2 over the frequency of the shortest waves, c = 2, along both axes: c^2 (k_x^2 + k_y^2), where differences of an
/// order see k^2 h^2 as what is named beside it.
TEST(Leapfrog, KnowsTheLongestStableStep) {
  const double of_8 = 205.0 / 72 + 16.0 / 5 + 2.0 / 5 + 16.0 / 315 + 1.0 / 280;
  for (const auto& [order, seen] : {std::pair{2, 4.0}, {4, 16.0 / 3}, {8, of_8}}) {
    const std::string text = fmt::format(
        "case: edge\ngrid: {{x: {{cells: 16, to: 1, boundary: periodic}}, y: {{cells: 16, to: 1, boundary: periodic}}, "
        "order: {}}}\nstate: {{u: {{initial: \"noise(1, 0)\"}}}}\nequations: {{dtt(u): \"4*lap(u)\"}}\n"
        "objective: [{{final: \"u^2\"}}]\n",
        order);
    const auto session = [&](double step) {
      return std::make_unique<Session>(test::text_case(text + time_of(step, 400 * step)), test::world(),
                                       Sensitivities::none);
    };
    const double most = session(1e-4)->simulation().largest_step();
    EXPECT_NEAR(most, 2 / (2 * 16 * std::sqrt(2 * seen)), 1e-12 * most) << order;
    EXPECT_LT(session(0.999 * most)->objective({}), 1e4) << order;
    EXPECT_THROW(session(1.0001 * most), InputError) << order;
  }
}

}  // namespace
}  // namespace hindsight

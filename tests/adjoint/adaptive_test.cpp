// Steps as long as tolerances allow: errors at the end, exact gradients of the steps taken, and their bits.
// ranks: 1 2 3
#include <cmath>
#include <fstream>
#include <iomanip>

#include "tests/adjoint/known_end.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// Coupled, not autonomous, with a rate that is a series.
const std::string ode = R"yaml(
case: adaptive
parameters: {a: 1.3, b: 0.7, q: {series: {times: [0, 1, 3], values: [1, 0.6, 1.2]}}}
state: {u: {initial: "1"}, v: {initial: "0.4"}}
equations: {dt(u): "a*u - u*v*q", dt(v): "b*u*v - v + 0.1*sin(3*t)"}
objective: [{final: "u^2 + v"}, {integral: "u*v"}]
unknowns: {a: {}, b: {}, q: {}, initial(u): {}}
)yaml";

/// With walls that change with time, which the last slope of a trial reads too.
const std::string waves = R"yaml(
case: adaptive
grid: {x: {cells: 18, to: 1, boundary: {lower: {value: "c*sin(4*t)"}, upper: {slope: 0}}}, y: {cells: 12, to: 1, boundary: periodic}}
parameters: {c: 0.5, k: {field: "0.02 + 0.01*x"}}
state: {u: {initial: "exp(-20*((x-0.5)^2 + (y-0.4)^2))"}, w: {initial: "0"}}
equations: {dt(u): "div(k*grad(u)) - u*w", dt(w): "u - w - c*w^2"}
objective: [{final: "(u - 0.2)^2"}, {integral: "w^2"}]
unknowns: {c: {}, k: {}, initial(w): {}}
)yaml";

/// Checkpoints are allocated for as many steps as are allowed, and zeroing those of a hundred thousand takes most of a
/// test.
std::string time_of(const std::string& method, double tolerance, double to) {
  return "time: {method: " + method + ", tolerance: " + std::to_string(tolerance) + ", to: " + std::to_string(to) +
         ", at most: 2000}\n";
}

std::vector<std::string> methods_of_pairs() {
  return {"bs3", "dopri5", "tsit5"};
}

TEST(Adaptive, EndsWithinTenTimesItsTolerance) {
  for (const std::string& method : methods_of_pairs()) test::expect_end_within_ten_tolerances(method, 10, 100000);
}

TEST(Adaptive, GradientsAreThoseOfTheStepsTaken) {
  for (const std::string& text : {ode, waves})
    for (const std::string& method : methods_of_pairs())
      for (const double tolerance : {1e-2, 1e-5}) {
        Session session(test::text_case(text + time_of(method, tolerance, text == ode ? 3 : 0.5)), test::world(),
                        Sensitivities::adjoint_and_tangent);
        session.gradient({});
        session.simulation().fix_end();
        SCOPED_TRACE(method);
        test::expect_right_gradient(session, 2.5e-4, 1e-10);  // sums over cells of much larger numbers
      }
}

/// A trial is the step, bit for bit: the gradient is that of a run with a table of the same times.
TEST(Adaptive, IsARunWithATableOfTheSameTimes) {
  for (const std::string& text : {ode, waves})
    for (const std::string& method : methods_of_pairs()) {
      SCOPED_TRACE(method);
      Session adaptive(test::text_case(text + time_of(method, 1e-4, text == ode ? 3 : 0.5)), test::self(),
                       Sensitivities::adjoint);
      const Evaluation expected = adaptive.gradient({});
      const TimeLine& time = adaptive.simulation().time();
      const std::string path = testing::TempDir() + "times-" + std::to_string(test::world().rank()) + ".csv";
      {
        std::ofstream file(path);
        file << "time\n" << std::setprecision(17);
        for (std::int64_t k = 0; k <= time.steps(); ++k) file << time.time(k) << "\n";
      }
      Session table(test::text_case(text + "time: {method: " + method + ", times: " + path +
                                    ", to: " + std::to_string(text == ode ? 3 : 0.5) + "}\n"),
                    test::self(), Sensitivities::adjoint);
      EXPECT_TRUE(table.simulation().time().is_known());
      test::expect_same_bits(table, table.gradient({}), expected);
    }
}

TEST(Adaptive, HaveOneHashWhateverTheCheckpointsAndTheRanks) {
  for (const std::string& text : {ode, waves})
    for (const std::string& method : methods_of_pairs()) {
      SCOPED_TRACE(method);
      const std::string all = text + time_of(method, 1e-4, text == ode ? 3 : 0.5);
      Session serial(test::text_case(all), test::self(), Sensitivities::adjoint);
      const Evaluation expected = serial.gradient({});
      const std::int64_t n = serial.simulation().time().steps();
      EXPECT_GT(n, 8);
      for (const char* tiers : {"host: 1 GiB", "host: 7 slots", "host: 2 slots",
                                "schedule: twolevel, host: 3 slots, period: 6, disk: 400 slots"}) {
        SCOPED_TRACE(tiers);
        SessionOptions options;
        options.disk.scratch = testing::TempDir() + "adaptive";
        Session session(test::text_case(all + "checkpoints: {" + tiers + "}\n"), test::world(), Sensitivities::adjoint,
                        options);
        const Evaluation mine = session.gradient({});
        EXPECT_EQ(session.simulation().time().steps(), n);
        test::expect_same_bits(session, mine, expected);
        test::expect_same_bits(session, session.gradient({}), expected);
        EXPECT_EQ(session.objective({}), expected.objective);
      }
    }
}

/// As in an inversion: the number of steps of the evaluation before is a forecast, which may be too small by far.
TEST(Adaptive, RunsMayOutgrowTheirForecast) {
  for (const char* host : {"1 GiB", "64 KiB", "12 slots"}) {
    SCOPED_TRACE(host);
    const std::string all = ode + time_of("dopri5", 1e-6, 3) + "checkpoints: {host: " + host + "}\n";
    Session session(test::text_case(all), test::self(), Sensitivities::adjoint);
    const UnknownValues slow = session.simulation().values();
    UnknownValues fast = slow;
    fast[0][0] *= 6;
    session.gradient({});
    const std::int64_t few = session.simulation().time().steps();
    for (const UnknownValues& values : {fast, slow, fast}) {
      session.simulation().set_values(values);
      const Evaluation mine = session.gradient({});
      const std::int64_t steps = session.simulation().time().steps();
      if (values == fast) {
        EXPECT_GT(steps, 2 * few);
      }
      Session alone(test::text_case(all), test::self(), Sensitivities::adjoint);
      alone.simulation().set_values(values);
      test::expect_same_bits(session, mine, alone.gradient({}));
      EXPECT_EQ(mine.counts.reversed, steps);
    }
  }
}

TEST(Adaptive, StepsFollowTheParametersAndOutputs) {
  Session session(test::text_case(ode + time_of("dopri5", 1e-6, 3)), test::self(), Sensitivities::none);
  session.objective({});
  const std::int64_t n = session.simulation().time().steps();
  EXPECT_GT(session.simulation().time().longest().step, 3 * session.simulation().time().shortest().step);
  UnknownValues faster = session.simulation().values();
  faster[0][0] *= 4;
  session.simulation().set_values(faster);
  session.objective({});
  EXPECT_GT(session.simulation().time().steps(), n);
  Session landing(test::text_case(ode + time_of("dopri5", 1e-6, 3) + "output: {every: 0.125}\n"), test::self(),
                  Sensitivities::none);
  landing.objective({});
  const TimeLine& time = landing.simulation().time();
  int landed = 0;
  for (std::int64_t k = 0; k <= time.steps(); ++k) landed += time.landing_at(k) >= 0 ? 1 : 0;
  EXPECT_EQ(landed, 25);
}

/// Of initial values and parameter fields: each cell has one number, whatever the steps.
TEST(Adaptive, StartsFromRandomNumbers) {
  Session session(
      test::text_case(waves + time_of("dopri5", 1e-5, 0.5),
                      {"state.w.initial=0.1*noise(1, 0)", "parameters.k={field: \"0.02 + 0.01*uniform(2, 0)\"}",
                       "unknowns={c: {}, k: {}, initial(u): {}}"}),
      test::world(), Sensitivities::adjoint_and_tangent);
  session.gradient({});
  session.simulation().fix_end();
  test::expect_right_gradient(session, 2.5e-4, 1e-10);
}

std::string refusal(const std::string& checkpoints, const std::string& time) {
  try {
    Session session(test::text_case(ode + "time: {method: dopri5, tolerance: 1e-4, to: 3" + time + "}\n" +
                                    "checkpoints: {" + checkpoints + "}\n"),
                    test::world(), Sensitivities::adjoint);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// What decides the number of steps, and what it costs that it may be large.
TEST(Adaptive, RefusalsNameTheCause) {
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(refusal("schedule: store-all", ""), "the number of steps, and it follows from time.tolerance: use 'online'");
  expect(refusal("host: 1 MiB", ""), "of it for the times of as many steps as time.at most allows, 100000)");
  EXPECT_EQ(refusal("host: 1 MiB", ", at most: 100"), "no error");
  EXPECT_EQ(refusal("host: 100 B", ", at most: 100").find("time.at most"), std::string::npos);
  expect(refusal("host: 1 MiB", ", at most: 1000000000000"), "time.at most: the times of 1000000000000 steps take");
}

TEST(Adaptive, BadInputIsNamed) {
  const auto message = [](const std::string& time, const std::string& text = ode) {
    try {
      Session session(test::text_case(text + "time: {" + time + "}\n"), test::self(), Sensitivities::none);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto expect = [&](const std::string& time, const std::string& part) {
    EXPECT_NE(message(time).find(part), std::string::npos) << message(time);
  };
  expect("method: rk4, tolerance: 1e-3, to: 1",
         "bs3, dopri5, tsit5, sdirk2, sdirk3, esdirk4, bdf2, ark3, ark4, ros3p, rodas4 do");
  expect("method: dopri5, tolerance: 0, to: 1", "at least 1e-14");
  expect("method: dopri5, tolerance: 1e-16, to: 1", "round-off");
  expect("method: dopri5, tolerance: {relative: 1e-3, absolute: {uu: 1e-3}}, to: 1", "did you mean 'u'");
  expect("method: dopri5, tolerance: {relative: 1e-3, absolute: {u: 1e-3}}, to: 1", "'v'");
  expect("method: dopri5, tolerance: {relative: 1e-3, absolute: -1}, to: 1", "must be positive");
  expect("method: dopri5, steps: fixed, tolerance: 1e-3, step: 0.1, to: 1", "for steps that errors decide");
  expect("method: dopri5, steps: adaptive, to: 1", "needs time.tolerance");
  expect("method: dopri5, tolerance: 1e-3, most: 0.1, least: 0.2, to: 1", "time.least is larger");
  expect("method: dopri5, step: 0.1, most: 0.1, to: 1", "time.tolerance is missing");
  expect("method: dopri5, to: 1", "step");
  const std::string noisy = R"yaml(
case: noisy
state: {u: {initial: "1"}}
equations: {dt(u): "-u + 0.1*noise(1, 0)"}
objective: [{final: "u"}]
)yaml";
  const std::string term = R"yaml(
case: noisy
state: {u: {initial: "noise(1, 0)"}}
equations: {dt(u): "-u"}
objective: [{integral: "u*noise(1, 0)"}]
)yaml";
  for (const std::string& text : {noisy, term})
    EXPECT_NE(message("method: dopri5, tolerance: 1e-3, to: 1", text).find("steps of a fixed length"),
              std::string::npos)
        << message("method: dopri5, tolerance: 1e-3, to: 1", text);
}

}  // namespace
}  // namespace hindsight

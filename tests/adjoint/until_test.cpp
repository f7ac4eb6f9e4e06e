// Runs that end by a condition: the same bits as with the number of steps known.
// ranks: 1 2 3
#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

const std::string heat = R"yaml(
case: until
grid: {x: {cells: 24, to: 1, boundary: {value: 0}}, y: {cells: 20, to: 1, boundary: {slope: 0}}}
parameters: {k: 0.05}
state: {u: {initial: "sin(pi*x) + 0.3*sin(3*pi*x)*cos(pi*y)"}}
equations: {dt(u): "k*lap(u) - 0.1*u^3"}
objective: [{final: "u^2"}, {integral: "u^4"}]
unknowns: {k: {}, initial(u): {}}
)yaml";

Evaluation known_run(std::int64_t steps) {
  Session session(
      test::text_case(heat + "time: {step: 0.004, to: " + std::to_string(0.004 * static_cast<double>(steps)) +
                      "}\ncheckpoints: {schedule: store-all, host: 1 GiB}\n"),
      test::self(), Sensitivities::adjoint);
  EXPECT_EQ(session.simulation().time().steps(), steps);
  return session.gradient({});
}

TEST(Until, GivesTheBitsOfTheKnownRun) {
  for (const char* condition : {"norm(u) < 0.55", "norm(dt(u)) < 0.25", "norm( u - 0.5*(u + 0) ) < 0.3"})
    for (const char* host : {"1 GiB", "40 slots", "5 slots", "1 slots"}) {
      Session session(test::text_case(heat + "time: {step: 0.004, until: \"" + condition + "\", at most: 5000}\n" +
                                      "checkpoints: {host: " + host + "}\n"),
                      test::world(), Sensitivities::adjoint);
      EXPECT_EQ(session.plan().kind->name, "online");
      const Evaluation mine = session.gradient({});
      const std::int64_t n = session.simulation().time().steps();
      EXPECT_GT(n, 20);
      EXPECT_LT(n, 2000);
      EXPECT_EQ(mine.counts.reversed, n);
      test::expect_same_bits(session, mine, known_run(n));
      const Evaluation again = session.gradient({});
      EXPECT_EQ(again.gradient, mine.gradient);
      EXPECT_EQ(again.objective, mine.objective);
    }
}

TEST(Until, TwoLevelDoesNotNeedTheNumberOfSteps) {
  SessionOptions options;
  options.disk.emulated = {0.0, 0.0};
  Session session(
      test::text_case(heat + "time: {step: 0.004, until: \"norm(u) < 0.6\", at most: 1000}\n"
                             "checkpoints: {schedule: twolevel, period: 12, host: 3 slots, disk: 200 slots}\n"),
      test::world(), Sensitivities::adjoint, options);
  const Evaluation mine = session.gradient({});
  test::expect_same_bits(session, mine, known_run(session.simulation().time().steps()));
}

TEST(Until, EndsAtTheLatestAndFollowsTheParameters) {
  const std::string text = heat + "time: {step: 0.004, until: \"norm(u) < 0.5\", at most: 3000}\n";
  Session session(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
  session.objective({});
  const std::int64_t n = session.simulation().time().steps();
  UnknownValues faster = session.simulation().values();
  faster[0][0] *= 2;
  session.simulation().set_values(faster);
  session.objective({});
  EXPECT_LT(session.simulation().time().steps(), n);
  Session bounded(test::text_case(text, {"time.at most=17"}), test::world(), Sensitivities::none);
  bounded.objective({});
  EXPECT_EQ(bounded.simulation().time().steps(), 17);
}

/// The end is seen before a step is tried that follows it: no bound on steps, and no event there, matters any more.
TEST(Until, EndsBeforeTheNextStepIsTried) {
  const std::string text = heat + "events: [{at: 0.3, set: {u: \"log(u - 5)\"}}]\n" +
                           "time: {method: dopri5, tolerance: 1e-5, to: 10, until: \"norm(t + 0*u) > 0.29999\"}\n";
  const auto run = [](const Case& c) {
    Session session(c, test::world(), Sensitivities::adjoint);
    const Evaluation evaluation = session.gradient({});
    return std::pair(session.simulation().time().steps(), evaluation.gradient);
  };
  const auto [steps, gradient] = run(test::text_case(text));
  EXPECT_GT(steps, 5);
  const auto [bounded, same] = run(test::text_case(text, {"time.at most=" + std::to_string(steps)}));
  EXPECT_EQ(bounded, steps);
  EXPECT_EQ(same, gradient);
}

/// Of a run that comes to its latest end; a condition that its last state meets is met.
TEST(Until, ThatIsNeverMetIsNoted) {
  const auto noted = [](const std::string& time) {
    Session session(test::text_case(heat + "time: {" + time + "}\n"), test::world(), Sensitivities::none);
    session.objective({});
    session.look_at_end();
    for (const std::string& note : session.notes())
      if (note.find("time.until") != std::string::npos) return note;
    return std::string();
  };
  const std::string condition = "step: 0.004, until: \"norm(u) < 0.5\", at most: ";
  Session session(test::text_case(heat + "time: {" + condition + "3000}\n"), test::world(), Sensitivities::none);
  session.objective({});
  const std::int64_t n = session.simulation().time().steps();
  EXPECT_EQ(noted(condition + "3000"), "");
  EXPECT_EQ(noted(condition + std::to_string(n)), "");
  EXPECT_EQ(noted(condition + "17"),
            "the condition of time.until was not met: the run ended at t = 0.068, after 17 steps (time.at most)");
  const std::string adaptive = "method: dopri5, tolerance: 1e-4, until: \"norm(u) < 0.5\", at most: 3000, to: ";
  EXPECT_EQ(noted(adaptive + "0.1"),
            "the condition of time.until was not met: the run ended at t = 0.1, its latest end (time.to)");
  EXPECT_EQ(noted(adaptive + "10"), "");
}

/// However many steps there may be: all slots are touched before the first one.
TEST(Until, TakesLittleMemoryUnlessTold) {
  const std::string time = "time: {step: 0.004, until: \"norm(u) < 0.5\", at most: 100000000}\n";
  SessionOptions options;
  options.only_plan = true;
  Session session(test::text_case(heat + time), test::self(), Sensitivities::adjoint, options);
  EXPECT_LE(session.budget(Tier::host) - session.plan_inputs().working(Tier::host), std::int64_t{1} << 30);
  Session told(test::text_case(heat + time + "checkpoints: {host: 2 MiB}\n"), test::self(), Sensitivities::adjoint);
  EXPECT_EQ(told.budget(Tier::host), 2 << 20);
}

TEST(Until, SchedulesThatNeedTheNumberOfStepsAreRefused) {
  try {
    Session session(test::text_case(heat + "time: {step: 0.004, until: \"norm(u) < 0.5\", at most: 3000}\n"
                                           "checkpoints: {schedule: revolve}\n"),
                    test::world(), Sensitivities::adjoint);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("needs to know the number of steps, and the run ends by a condition"),
              std::string::npos)
        << error.what();
  }
}

TEST(Until, BadConditionsAreNamed) {
  const auto message = [](const std::string& time) {
    try {
      Session session(test::text_case(heat + "time: {step: 0.004, " + time + "}\n"), test::self(), Sensitivities::none);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  for (const char* bad : {"u < 1", "norm(u < 1", "norm(u)", "norm(u) = 1", "norm(u) < k", "norm(u) < -1", "norm u < 1"})
    EXPECT_NE(message(std::string("until: \"") + bad + "\", at most: 10").find("is not of the form"), std::string::npos)
        << bad;
  EXPECT_NE(message("until: \"norm(w) < 1\", at most: 10").find("'w'"), std::string::npos);
  EXPECT_NE(message("until: \"norm(u) < 1\"").find("at most"), std::string::npos);
  EXPECT_NE(message("until: \"norm(u) < 1\", at most: 0").find("at least 1"), std::string::npos);
  EXPECT_NE(message("until: \"norm(u) < 1\", at most: 10, to: 3").find("cannot both"), std::string::npos);
  EXPECT_NE(message("to: 3, at most: 10").find("belongs to time.until"), std::string::npos);
}

}  // namespace
}  // namespace hindsight

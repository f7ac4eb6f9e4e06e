// Steps of small ODEs that are taken several in a call: the same bits as one by one, in the same order of events.
// ranks: 1 2
#include "solvers/time/fixed_steps.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

using namespace test;

/// Stretches of 37, 13, 307 and 644 steps and one of a step: no number of steps divides all.
const std::string lotka_volterra = R"yaml(
case: lotka-volterra
parameters: {alpha: 0.54, beta: 0.027, gamma: 0.8, delta: 0.024, u0: 34}
state: {u: {initial: "u0"}, v: {initial: 5.8}}
equations: {dt(u): "(alpha - beta*v)*u", dt(v): "(-gamma + delta*u)*v"}
time: {method: rk4, step: 0.02, to: 20, switches: [0.74, 1, 7.123, 19.99]}
objective: [{final: "u^2 + v^2"}]
unknowns: {alpha: {}, beta: {}, gamma: {}, delta: {}, u0: {}, initial(v): {}}
)yaml";

std::int64_t spans_of(const Session& session) {
  return session.plan_inputs().are_spans ? session.plan_inputs().steps : 0;
}

Session in_spans(const std::vector<std::string>& set = {}) {
  return Session(text_case(lotka_volterra, set), world(), Sensitivities::adjoint);
}

Session one_by_one(std::vector<std::string> set = {}) {
  set.emplace_back("checkpoints.schedule=revolve");
  set.emplace_back("checkpoints.host=20 slots");
  return Session(text_case(lotka_volterra, set), self(), Sensitivities::adjoint);
}

TEST(Spans, BeginAtLandingsAndAreEquallyLong) {
  TimeLine line({0.0, 10.0, 0.1, {3.7, 5.0}}, fixed_steps());
  const Spans spans(line, 16);
  std::int64_t next = 0, of_second = 0;
  for (std::int64_t i = 0; i < spans.count(); ++i) {
    const Spans::Span span = spans.at(i);
    EXPECT_EQ(span.first, next);
    EXPECT_LE(span.count, 16);
    EXPECT_LE(span.count, spans.longest());
    EXPECT_FALSE(span.first < 37 && span.first + span.count > 37);
    EXPECT_FALSE(span.first < 50 && span.first + span.count > 50);
    if (span.first >= 37 && span.first < 50) of_second += span.count;
    next = span.first + span.count;
  }
  EXPECT_EQ(next, 100);
  EXPECT_EQ(of_second, 13);
  EXPECT_EQ(spans.count(), 3 + 1 + 4);
}

/// As many steps as a case may have, whose products with numbers of spans are more than can be counted.
TEST(Spans, MayBeMany) {
  for (const double steps : {3e10, 1e15}) {
    TimeLine line({0.0, steps, 1.0, {}}, fixed_steps());
    const Spans spans(line, 64);
    std::int64_t next = 0;
    for (const std::int64_t i : {std::int64_t{0}, spans.count() / 2, spans.count() - 2}) {
      const Spans::Span span = spans.at(i), after = spans.at(i + 1);
      EXPECT_GE(span.first, next);
      EXPECT_GE(span.count, spans.longest() - 1);
      EXPECT_LE(span.count, spans.longest());
      EXPECT_EQ(after.first, span.first + span.count);
      next = after.first + after.count;
    }
    EXPECT_EQ(next, line.steps());
  }
}

TEST(Spans, HaveTheBitsOfSingleSteps) {
  for (const char* method : {"euler", "rk4", "tsit5"}) {
    const std::vector<std::string> set = {std::string("time.method=") + method};
    Session spans = in_spans(set), single = one_by_one(set);
    ASSERT_GT(spans_of(spans), 0) << method;
    EXPECT_EQ(spans_of(single), 0);
    const Evaluation evaluation = spans.gradient({});
    expect_same_bits(spans, evaluation, single.gradient({}));
    const std::int64_t steps = spans.simulation().time().steps();
    EXPECT_EQ(evaluation.counts.recorded, steps);
    EXPECT_EQ(evaluation.counts.reversed, steps);
    EXPECT_EQ(evaluation.counts.plain, 0);
  }
}

TEST(Spans, OfRunsShowStatesAtLandings) {
  std::vector<std::pair<double, double>> seen, seen_in_gradient;
  const auto watch = [](auto& all) {
    return [&all](std::int64_t, double t, double* state) { all.emplace_back(t, state[0]); };
  };
  Session session = in_spans();
  const double objective = session.objective(watch(seen));
  EXPECT_EQ(session.gradient(watch(seen_in_gradient)).objective, objective);
  EXPECT_EQ(seen, seen_in_gradient);
  EXPECT_LT(seen.size(), 40U);
  for (const double t : {0.0, 0.74, 1.0, 7.123, 19.99, 20.0})
    EXPECT_TRUE(std::ranges::any_of(seen, [t](const auto& s) { return std::fabs(s.first - t) < 1e-12; })) << t;
  std::vector<std::pair<double, double>> single;
  one_by_one().gradient(watch(single));
  for (const auto& state : seen) EXPECT_TRUE(std::ranges::find(single, state) != single.end()) << state.first;
}

/// Where every state counts, time does, memory is asked for in another way, or it does not suffice.
TEST(Spans, AreNotTakenWhereStatesBetweenMatter) {
  EXPECT_GT(spans_of(in_spans()), 0);
  EXPECT_EQ(spans_of(in_spans({"objective=[{integral: u}]"})), 0);
  EXPECT_EQ(spans_of(in_spans({"equations.dt(u)=sin(t) - u"})), 0);
  EXPECT_EQ(spans_of(in_spans({"time.tolerance=1e-6", "time.method=tsit5"})), 0);
  EXPECT_EQ(spans_of(in_spans({"checkpoints.schedule=revolve"})), 0);
  EXPECT_EQ(spans_of(in_spans({"checkpoints.host=20 slots"})), 0);
  Session tight = in_spans({"checkpoints.host=20 KiB", "time.step=1e-3"});
  EXPECT_EQ(spans_of(tight), 0);
  EXPECT_LE(tight.gradient({}).counts.peak[static_cast<std::size_t>(Tier::host)] * 16, 20 << 10);
}

/// Kernels too long to be compiled take one step at a time.
TEST(Spans, AreNotTakenByTapes) {
  std::string more = "u";
  for (int i = 2; i < 900; ++i) more += " + sin(" + std::to_string(i) + "*u)*v";
  EXPECT_EQ(spans_of(in_spans({"equations.dt(u)=1e-3*(" + more + ")", "time.to=1", "time.switches=[0.5]"})), 0);
}

/// Whatever the budget, a gradient is made within it, or it is said what one needs.
TEST(Spans, OfManyFieldsAreTakenOnlyWhereTheyFit) {
  std::string text = "case: many\nparameters: {k: 0.1}\nstate: {";
  for (int i = 0; i < 60; ++i) text += "u" + std::to_string(i) + ": {initial: 1}, ";
  text += "v: {initial: 2}}\nequations: {";
  for (int i = 0; i < 60; ++i) text += "dt(u" + std::to_string(i) + "): \"-k*v\", ";
  text += "dt(v): \"-k*v\"}\ntime: {method: euler, step: 0.01, to: 20}\nobjective: [{final: v}]\nunknowns: {k: {}}\n";
  int made = 0, in_spans = 0;
  for (std::int64_t bytes = 4000; bytes < 4'000'000; bytes += bytes / 3) {
    try {
      Session session(text_case(text, {"checkpoints.host=" + std::to_string(bytes)}), self(), Sensitivities::adjoint);
      session.gradient({});
      EXPECT_LE(session.peak_bytes(Tier::host), bytes);
      in_spans += spans_of(session) > 0 ? 1 : 0;
      ++made;
    } catch (const InputError& error) {
      EXPECT_EQ(made, 0) << bytes;
      EXPECT_NE(std::string(error.what()).find("of working memory"), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(made, in_spans);
  EXPECT_GT(in_spans, 0);
}

TEST(Spans, KeepWithinTheirBudget) {
  Session session = in_spans({"checkpoints.host=200 KiB", "time.step=0.005"});
  ASSERT_GT(spans_of(session), 0);
  session.gradient({});
  EXPECT_LE(session.peak_bytes(Tier::host), 200 << 10);
}

TEST(Spans, AreTangentsSteps) {
  Session session(text_case(lotka_volterra), self(), Sensitivities::adjoint_and_tangent);
  ASSERT_GT(spans_of(session), 0);
  const Evaluation base = session.gradient({});
  const UnknownValues direction = some_direction(session, 0.3);
  const double adjoint = session.dot(base.gradient, direction);
  EXPECT_NEAR(session.tangent(direction).second, adjoint, 1e-12 * std::fabs(adjoint));
  expect_same_bits(session, session.gradient({}), base);
}

TEST(Spans, NameTheStepThatDiverges) {
  const auto message = [](const std::vector<std::string>& set) -> std::string {
    std::vector<std::string> all = {"equations.dt(u)=u^2", "equations.dt(v)=1", "time.step=1e-3"};
    all.insert(all.end(), set.begin(), set.end());
    try {
      Session session(text_case(lotka_volterra, all), self(), Sensitivities::adjoint);
      session.gradient({});
    } catch (const NumericsError& error) {
      return error.what();
    }
    return "it ran";
  };
  const std::string spans = message({}), single = message({"checkpoints.schedule=revolve"});
  EXPECT_NE(spans.find("field 'u' is not finite after step"), std::string::npos) << spans;
  EXPECT_EQ(spans, single);
}

}  // namespace
}  // namespace hindsight

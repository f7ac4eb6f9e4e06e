// Runs that fail: every rank throws what can be caught, the error says where, and the session can be used again.
// ranks: 1 2
#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

const std::string growth = R"yaml(
case: growth
parameters: {a: 0.5}
state: {u: {initial: 1}}
equations: {dt(u): "a*u^3"}
time: {step: 0.01, to: 0.9}
objective: [{final: "u^2"}]
unknowns: {a: {}}
)yaml";

const std::string plate = R"yaml(
case: plate
grid: {x: {cells: 12, to: 1, boundary: {value: 0}}, y: {cells: 10, to: 1}}
parameters: {a: 0.5, k: 0.01}
state: {u: {initial: "1 + 0.1*x"}}
equations: {dt(u): "a*u^3 + k*lap(u)"}
time: {step: 0.01, to: 0.9}
objective: [{integral: "u^2"}, {final: "log(2 - u)"}]
unknowns: {a: {}, k: {}}
)yaml";

template <class Work>
std::string numerics_message(Work work) {
  try {
    work();
  } catch (const NumericsError& error) {
    EXPECT_EQ(error.code(), ExitCode::numerics);
    return error.what();
  }
  return "no NumericsError";
}

UnknownValues with_growth(const Session& session, double a) {
  UnknownValues values = session.simulation().values();
  values[0][0] = a;
  return values;
}

TEST(Failures, DivergenceCanBeCaughtAndLeftBehind) {
  for (const std::string& text : {growth, plate}) {
    Session session(test::text_case(text, {"parameters.a=0.1", "objective=[{final: u}]"}), test::world(),
                    Sensitivities::adjoint_and_tangent);
    const UnknownValues start = session.simulation().values();
    const Evaluation before = session.gradient({});
    session.simulation().set_values(with_growth(session, 5));
    bool is_watched = false;
    const StateObserver observer = [&](std::int64_t, double, StateBlocks) { is_watched = true; };
    for (int i = 0; i < 2; ++i) {
      EXPECT_NE(numerics_message([&] { session.gradient(observer); }).find("field 'u' is not finite after step"),
                std::string::npos);
      EXPECT_NE(numerics_message([&] { session.objective(observer); }).find("diverged"), std::string::npos);
    }
    session.simulation().set_values(start);
    is_watched = false;
    session.tangent(before.gradient);
    EXPECT_FALSE(is_watched);
    const Evaluation after = session.gradient({});
    EXPECT_EQ(after.objective, before.objective);
    EXPECT_EQ(after.gradient, before.gradient);
  }
}

TEST(Failures, AnObjectiveThatIsNotFiniteNamesItsTerm) {
  Session session(test::text_case(plate), test::world(), Sensitivities::adjoint);
  const std::string wanted = "the objective is not finite: the term 'final: log(2 - u)' is";
  EXPECT_NE(numerics_message([&] { session.objective({}); }).find(wanted), std::string::npos);
  EXPECT_NE(numerics_message([&] { session.gradient({}); }).find(wanted), std::string::npos);
}

/// The value is 0 and finite, its derivative is not: nothing has overflowed.
TEST(Failures, AGradientThatIsNotFiniteNamesItsUnknowns) {
  for (const std::string& text : {growth, plate}) {
    Session session(test::text_case(text, {"parameters.b=0.5", "objective=[{final: u + sqrt(b - 0.5)}]",
                                           "unknowns={a: {}, b: {}}"}),
                    test::world(), Sensitivities::adjoint);
    const std::string message = numerics_message([&] { session.gradient({}); });
    EXPECT_EQ(message.find("the gradient is not finite in 'b': at these values the objective has no derivative"), 0U)
        << message;
    EXPECT_EQ(message.find("overflowed"), std::string::npos) << message;
  }
}

/// One rank's error has its class on all of them.
TEST(Failures, RanksAgreeOnTheClassOfAnError) {
  const Communicator world = test::world();
  const std::string mine = world.rank() == world.size() - 1 ? "here" : "";
  EXPECT_THROW(world.agree(mine, static_cast<int>(ExitCode::numerics)), NumericsError);
  EXPECT_THROW(world.agree(mine, static_cast<int>(ExitCode::resource)), ResourceError);
  EXPECT_THROW(world.agree(mine, static_cast<int>(ExitCode::bad_input)), InputError);
  EXPECT_THROW(world.on_root([] { throw InputError("here"); }), InputError);
  EXPECT_THROW(world.on_root([] { throw std::runtime_error("here"); }), ResourceError);
  EXPECT_NO_THROW(world.on_root([] {}));
}

}  // namespace
}  // namespace hindsight

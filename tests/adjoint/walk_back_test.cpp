// Walking back without checkpoints: gradients within what is accepted, when it is taken, given up and refused.
// ranks: 1 2 3
#include <fmt/format.h>

#include "tests/support.hpp"

namespace hindsight {
namespace {

/// A wave in an unknown medium with a nonlinear term, driven at a wall and by sources through series.
const std::string plane = R"yaml(
case: plane
grid:
  x: {cells: 17, to: 1.7, boundary: {lower: {value: "0.3*q"}, upper: {slope: "g*t"}}}
  y: {cells: 12, to: 1.2, boundary: periodic}
  order: 4
parameters: {g: 0.2, c: {field: "1 + 0.3*sin(2*x)*y"}, q: {series: {times: [0, 0.3, 1], values: [0, 1, -0.5]}}}
state: {u: {initial: "exp(-8*((x - 0.8)^2 + (y - 0.5)^2))", rate: "0.3*x"}}
equations: {dtt(u): "c^2*lap(u) - 0.2*u^3 + q*sin(t)*x"}
sources: [{to: u, signal: q, at: [0.83, 0.51], factor: 0.1}]
objective: [{final: "u^2"}, {integral: "u^4"}]
unknowns: {g: {}, c: {}, q: {}, initial(u): {}, rate(u): {}}
)yaml";

/// Two fields that drive each other.
const std::string line = R"yaml(
case: line
grid: {x: {cells: 24, to: 1, boundary: {lower: {value: 0}, upper: {slope: 0}}}, order: 8}
parameters: {c: {field: "1 + 0.2*x"}, a: 0.4}
state: {u: {initial: "sin(3*x)^4", rate: 0}, v: {initial: "a*x"}}
equations: {dtt(u): "c^2*lap(u) - a*v", dtt(v): "0.1*lap(v) - a*u"}
objective: [{final: "u^2"}, {integral: "v^2"}]
unknowns: {c: {}, a: {}, initial(u): {}, rate(u): {}}
)yaml";

const std::string pendulum = R"yaml(
case: pendulum
parameters: {g: 9.81}
state: {u: {initial: 0.6, rate: "0.1*g"}}
equations: {dtt(u): "-g*sin(u)"}
objective: [{final: "u^2"}, {integral: "u^2"}]
unknowns: {g: {}, initial(u): {}, rate(u): {}}
)yaml";

/// Two fields in a layer on three sides of a medium whose stiffness is unknown.
const std::string open = R"yaml(
case: open
grid:
  x: {cells: 21, to: 2.1, boundary: {value: 0}}
  y: {cells: 30, to: 3, boundary: {lower: {value: "0.3*q"}, upper: {slope: 0}}}
  order: 4
parameters: {a: 0.4, c: {field: "1 + 0.3*sin(2*x)*y"}, k: {field: "0.8 + 0.1*x"}, q: {series: {times: [0, 0.3, 1], values: [0, 1, -0.5]}}}
state: {u: {initial: "exp(-8*((x - 0.8)^2 + (y - 0.5)^2))", rate: "0.3*x"}, v: {initial: "a*x*y"}}
equations: {dtt(u): "c^2*lap(u) - a*v", dtt(v): "a*div(k*grad(v)) - u"}
absorb: {pml: 5, sides: [x.lower, x.upper, y.upper]}
sources: [{to: u, signal: q, at: [0.93, 0.51], factor: 0.1}]
objective: [{final: "u^2"}, {integral: "u^4 + v^2"}]
unknowns: {a: {}, c: {}, k: {}, q: {}, initial(u): {}, rate(u): {}}
)yaml";

std::string time_of(double step, double to, const std::string& method = "leapfrog") {
  return fmt::format("time: {{method: {}, step: {}, to: {}}}\n", method, step, to);
}

const std::vector<std::string> undamped{plane + time_of(0.03, 0.9), line + time_of(0.02, 0.6),
                                        pendulum + time_of(0.02, 1.0), open + time_of(0.03, 0.9)};

std::string checkpoints(const std::string& keys) {
  return "checkpoints: {" + keys + "}\n";
}

const std::string walking = checkpoints("schedule: walk-back, accept: 1e-9, host: 3 slots");

TEST(WalkBack, GivesTheGradientOfCheckpoints) {
  for (const std::string& text : undamped) {
    Session exact(test::text_case(text), test::world(), Sensitivities::adjoint);
    Session walked(test::text_case(text + walking), test::world(), Sensitivities::adjoint);
    SCOPED_TRACE(exact.source().name);
    const Evaluation expected = exact.gradient({}), mine = walked.gradient({});
    EXPECT_FALSE(exact.drift());
    EXPECT_EQ(walked.plan().kind->name, "walk-back");
    EXPECT_EQ(mine.objective, expected.objective);
    EXPECT_LT(walked.relative_difference(mine.gradient, expected.gradient), 1e-11);
    EXPECT_EQ(mine.counts.plain, walked.steps() - 1);
    EXPECT_EQ(mine.counts.retreated, walked.steps() - 1);
    EXPECT_EQ(mine.counts.peak[index_of(Tier::host)], 3);
    ASSERT_TRUE(walked.drift());
    EXPECT_GT(*walked.drift(), 0.0);
    EXPECT_LT(*walked.drift(), 1e-12);
    EXPECT_LE(walked.peak_bytes(Tier::host), walked.budget(Tier::host));
  }
}

TEST(WalkBack, HasExactGradientsAsFarAsThatIsAccepted) {
  for (const std::string& text : undamped) {
    Session session(test::text_case(text + walking), test::world(), Sensitivities::adjoint_and_tangent);
    SCOPED_TRACE(session.source().name);
    test::expect_right_gradient(session, 1e-2, 1e-11);
    EXPECT_EQ(session.plan().kind->name, "walk-back");
  }
}

/// Of gradients and of drifts, with the same states kept.
TEST(WalkBack, HasTheSameBitsOnEveryNumberOfRanksAndOnADevice) {
  for (const std::string& text : undamped) {
    const std::string keys = "schedule: walk-back, accept: 1e-9, period: 10, ";
    Session serial(test::text_case(text + checkpoints(keys + "host: 8 slots")), test::self(), Sensitivities::adjoint);
    SCOPED_TRACE(serial.source().name);
    const Evaluation expected = serial.gradient({});
    const auto expect_same = [&](SessionOptions options, const std::string& tiers, bool with_bits) {
      Session session(test::text_case(text + checkpoints(keys + tiers)), test::world(), Sensitivities::adjoint,
                      std::move(options));
      const Evaluation mine = session.gradient({});
      EXPECT_EQ(session.plan().kind->name, "walk-back");
      if (with_bits) {
        test::expect_same_bits(session, mine, expected);
        EXPECT_EQ(session.drift(), serial.drift());
        test::expect_same_bits(session, session.gradient({}), expected);
      }
      EXPECT_LT(session.drift().value_or(1.0), 1e-12);
    };
    expect_same({}, "host: 8 slots", true);
    expect_same({}, "host: {size: 8 slots, codec: lz4}", true);
    if (text.find("absorb") != std::string::npos) continue;  // on the host alone
    SessionOptions options;
    options.machine = test::device();
    expect_same(std::move(options), "device: 8 slots", false);
  }
}

/// It is a choice of the plan where its error is accepted.
TEST(WalkBack, IsChosenWhereItIsFasterAndAccepted) {
  const auto chosen = [](const std::string& text) {
    SessionOptions options;
    options.costs = "forward=1e-3,reverse=3e-3";
    return Session(test::text_case(text), test::world(), Sensitivities::adjoint, options).plan().kind->name;
  };
  for (const std::string& text : undamped) {
    EXPECT_EQ(chosen(text + checkpoints("host: 4 slots, accept: 1e-9")), "walk-back");
    EXPECT_EQ(chosen(text + checkpoints("host: 4 slots")), "revolve");
    EXPECT_EQ(chosen(text + checkpoints("host: 100 slots, accept: 1e-9")), "store-all");
  }
  std::string damped = plane;
  damped.replace(damped.find("- 0.2*u^3"), 9, "- 0.2*dt(u)");
  EXPECT_EQ(chosen(damped + time_of(0.03, 0.9) + checkpoints("host: 4 slots, accept: 1e-9")), "revolve");
}

/// States drift by rounding; where that is more than is accepted, the gradient is made again and stays exact.
TEST(WalkBack, IsGivenUpWhereStatesDrift) {
  for (const char* const keys : {"schedule: walk-back, accept: 1e-18, host: 3 slots", "accept: 1e-18, host: 3 slots"}) {
    const std::string text = undamped[0];
    Session exact(test::text_case(text), test::self(), Sensitivities::adjoint);
    const Evaluation expected = exact.gradient({});
    SessionOptions options;
    options.costs = "forward=1e-3,reverse=3e-3";
    Session session(test::text_case(text + checkpoints(keys)), test::world(), Sensitivities::adjoint, options);
    EXPECT_EQ(session.plan().kind->name, "walk-back");
    test::expect_same_bits(session, session.gradient({}), expected);
    EXPECT_EQ(session.plan().kind->name, "revolve");
    EXPECT_FALSE(session.drift());
    ASSERT_EQ(session.warnings().size(), 1U);
    const std::string warning = session.warnings()[0];
    EXPECT_NE(warning.find("1e-18 is accepted (checkpoints.accept); beginning again without walking back"),
              std::string::npos)
        << warning;
    test::expect_same_bits(session, session.gradient({}), expected);
    EXPECT_EQ(session.warnings().size(), 1U);
  }
}

TEST(WalkBack, IsRefusedWhereStepsHaveNoWayBack) {
  const auto expect = [](const std::string& text, const std::string& part) {
    const std::string message = test::failure_of(text, Sensitivities::adjoint);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  const std::string accepted = checkpoints("schedule: walk-back, accept: 1e-6");
  expect(undamped[0] + checkpoints("schedule: walk-back"),
         "schedule walk-back: rounding makes it inexact, and no error "
         "is accepted; write `accept: 1e-6` beside it");
  std::string damped = plane;
  damped.replace(damped.find("- 0.2*u^3"), 9, "- 0.2*dt(u)");
  expect(damped + time_of(0.03, 0.9) + accepted, "which cannot be done here: its equations are damped");
  expect("absorb: {sponge: 4, strength: 10, sides: [x.upper]}\n" + undamped[0] + accepted,
         "its equations are damped, by dt(...) or by a sponge");
  SessionOptions on_device;
  on_device.machine = test::device();
  try {
    Session(test::text_case(open + time_of(0.03, 0.9) + accepted), test::world(), Sensitivities::adjoint, on_device);
    ADD_FAILURE() << "layers are walked back on a device";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("layers of a pml are walked back on the host alone"), std::string::npos);
  }
  expect(
      "case: decay\nparameters: {k: 1}\nstate: {u: {initial: 1}}\nequations: {dt(u): \"-k*u\"}\n"
      "objective: [{final: u}]\nunknowns: {k: {}}\n" +
          time_of(0.1, 1.0, "rk4") + accepted,
      "its steps cannot be taken backwards");
  expect(undamped[0] + checkpoints("schedule: walk-back, accept: 1e-6, host: {size: 3 slots, codec: float32}"),
         "which codec float32 (checkpoints.host) changes; choose a lossless one");
  expect(undamped[0] + checkpoints("accept: 0"), "checkpoints.accept must be positive");
  expect(undamped[0] + checkpoints("schedule: walk-back, accept: 1e-6, period: 4, host: 5 slots"),
         "30 steps need at least 8 slots");
}

/// What is accepted of lossy codecs is theirs: the gradient that they are compared with is exact.
TEST(WalkBack, IsNotTakenBesideLossyCodecs) {
  SessionOptions options;
  options.costs = "forward=1e-3,reverse=3e-3";
  Session session(test::text_case(undamped[0] + checkpoints("accept: 1e-9, host: {size: 4 slots, codec: zfp, accept: "
                                                            "1e-4}")),
                  test::world(), Sensitivities::adjoint, options);
  session.gradient({});
  EXPECT_NE(session.plan().kind->name, "walk-back");
  ASSERT_TRUE(session.gradients().lossy_error());
  EXPECT_LT(session.gradients().lossy_error()->measured, 1e-4);
}

}  // namespace
}  // namespace hindsight

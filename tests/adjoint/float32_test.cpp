// precision: float32: half the bytes, gradients that are right as far as singles tell, the same bits on every schedule,
// codec, number of ranks and machine, and what is refused.
// ranks: 1 2 3 4
#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "runtime/emulated/emulated_device.hpp"
#include "src/checked_session.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

const std::string single = "precision: float32\n";

/// A wave in an unknown medium, damped by an unknown factor, driven at a wall by a series.
const std::string wave = R"yaml(
case: wave
grid:
  x: {cells: 37, to: 3.7, boundary: {lower: {value: "0.3*q"}, upper: {slope: "g*t"}}}
  y: {cells: 28, to: 2.8, boundary: periodic}
  order: 4
parameters: {g: 0.2, s: 0.7, c: {field: "1 + 0.3*sin(2*x)*y"}, q: {series: {times: [0, 0.3, 1], values: [0, 1, -0.5]}}}
state: {u: {initial: "exp(-8*((x - 1.8)^2 + (y - 1.5)^2))", rate: "0.3*x"}}
equations: {dtt(u): "c^2*lap(u) - s*x*dt(u) - 0.2*u^3 + q*sin(t)*x"}
objective: [{final: "u^2"}, {integral: "u^4"}]
unknowns: {g: {}, s: {}, c: {}, q: {}, initial(u): {}, rate(u): {}}
time: {method: leapfrog, step: 0.03, to: 0.9}
)yaml";

/// Linear: records are one level of each step.
const std::string line = R"yaml(
case: line
grid: {x: {cells: 96, to: 1, boundary: {lower: {value: 0}, upper: {slope: 0}}}, order: 8}
parameters: {c: {field: "1 + 0.2*x"}}
state: {u: {initial: "sin(3*x)^4", rate: 0}}
equations: {dtt(u): "c^2*lap(u)"}
objective: [{final: "u^2"}]
unknowns: {c: {}, initial(u): {}, rate(u): {}}
time: {method: leapfrog, step: 0.005, to: 0.6}
)yaml";

/// Two fields on three axes, of first order, with numbers at random, an event and a term of neighbours.
const std::string reaction = R"yaml(
case: reaction
grid: {x: {cells: 11, to: 1, boundary: {value: "0.1*g"}}, y: {cells: 13, to: 1, boundary: periodic}, z: {cells: 12, to: 1, boundary: {slope: 0.2}}}
parameters: {a: 0.4, g: 0.8, k: {field: "0.1 + 0.05*x*z"}}
state: {u: {initial: "x*z + a"}, v: {initial: "a*x"}}
equations:
  dt(u): "div(k*grad(u)) - a*u*v + 0.1*noise(1, 0)"
  dt(v): "0.1*lap(v) + dx(u) - k*v"
events: [{at: 0.02, set: {v: "v + a*u"}}]
objective: [{final: "u^2 + v"}, {integral: "u*v + grad2(u)"}, {penalty: "0.1*grad2(k)"}]
unknowns: {a: {}, g: {}, k: {}, initial(v): {}}
time: {method: rk4, step: 0.002, to: 0.05}
)yaml";

std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "float32-" + std::to_string(test::world().size()) + "-" + name;
  test::world().on_root([&] { std::ofstream(path) << text; });
  return path;
}

/// A survey: layers that absorb, a source of an unknown signal below a free surface, sensors between cells and steps.
const std::string sponge = "{sponge: 8, strength: 60, sides: [x.lower, x.upper, y.upper]}",
                  layers = "{pml: 8, sides: [x.lower, x.upper, y.upper]}";

std::string survey(const std::string& absorb = sponge, const std::string& unknowns = "{c: {}, q: {}}") {
  std::string rows = "time,x,y,value\n";
  for (int i = 1; i <= 12; ++i) rows += fmt::format("{:.6g},{},0.06,{}\n", 0.05 * i, 0.4 + 0.12 * i, 0.01 * i);
  return fmt::format(
      "case: survey\ngrid:\n  x: {{cells: 60, to: 2.4, boundary: {{slope: 0}}}}\n"
      "  y: {{cells: 33, to: 1.32, boundary: {{lower: {{value: 0}}, upper: {{slope: 0}}}}}}\n  order: 8\n"
      "parameters: {{c: {{field: \"1.5 + 0.5*y + 0.2*(y > 0.7)\"}}, q: {{series: {{times: [0, 0.1, 0.2, 0.3, 0.6], "
      "values: [0, 1, -1, 0, 0]}}}}}}\n"
      "state: {{u: {{initial: 0, rate: 0}}}}\nequations: {{dtt(u): \"c^2*lap(u)\"}}\n"
      "absorb: {}\n"
      "sources: [{{to: u, signal: q, at: {{x: 0.9, y: 0.05}}, weights: sinc}}]\n"
      "time: {{method: leapfrog, step: 0.006, to: 0.6}}\n"
      "objective: [{{misfit: {{of: u, data: {}, noise: 0.1, weights: sinc}}}}]\nunknowns: {}\n",
      absorb, written("survey.csv", rows), unknowns);
}

const std::string with_a_fast_disk = "forward=1,reverse=3,disk.write=0.1,disk.read=0.1";

std::vector<std::string> cases() {
  return {wave, line, reaction, survey(), survey(layers)};
}

/// As `hindsight check` looks at it: bounds follow from the epsilon of singles and from what runs round off.
TEST(Float32, HasGradientsThatAreRight) {
  for (const std::string& text : cases()) {
    Session session(test::text_case(single + text), test::world(), Sensitivities::adjoint_and_tangent);
    SCOPED_TRACE(session.source().name);
    const CheckedPoint point{session.simulation().values(), session.gradient({})};
    const double epsilon = epsilon_of(Element::float32);
    const double few = (2.0 * static_cast<double>(session.simulation().time().steps()) + 32.0) * epsilon;
    for (const CheckedUnknown& row : check_gradient(session, point)) {
      const DirectionCheck& c = row.check;
      if (test::world().is_root())
        fmt::print("{}, {}: tangent {:.1e} of {:.1e}, differences {:.1e} of {:.1e}, order {:.2f} over {} halvings\n",
                   session.source().name, row.label, c.with_tangent.seen, c.with_tangent.allowed,
                   c.with_differences.seen, c.with_differences.allowed, c.remainders.order, c.remainders.halvings);
      EXPECT_EQ(c.verdict(), Verdict::right) << row.label;
      EXPECT_LT(c.with_tangent.seen, few) << row.label;
      // Of remainders that are far above rounding, which is less far than with doubles.
      if (c.remainders.halvings > 0) {
        EXPECT_GT(c.remainders.order, 1.6) << row.label;
      }
    }
  }
}

/// What a step rounds is a kick, of which steps that are 25 times shorter than is stable make more.
TEST(Float32, ChecksKnowWhatShortStepsLose) {
  std::string brief = wave;
  brief.replace(brief.find("step: 0.03"), 10, "step: 0.002");
  brief.replace(brief.find(" - 0.2*u^3"), 10, "");  // of linear waves it is known what is stable
  Session session(test::text_case(single + brief), test::world(), Sensitivities::adjoint_and_tangent);
  EXPECT_GT(session.simulation().stability_ratio(), 10.0);
  const CheckedPoint point{session.simulation().values(), session.gradient({})};
  for (const CheckedUnknown& row : check_gradient(session, point)) {
    EXPECT_NE(row.check.verdict(), Verdict::wrong) << row.label;
    EXPECT_LT(row.check.with_tangent.allowed, 0.05) << row.label;
  }
}

/// Of coordinates alone: as of a map, whose sums take more digits than a single has.
TEST(Float32, TakesInitialValuesFromDoubles) {
  const std::string map =
      "case: map\ngrid: {x: {cells: 32, from: 500000, to: 500064}, y: {cells: 16, from: 5100000, to: 5100032}}\n"
      "state: {u: {initial: \"sin((x + y)/7)\"}}\nequations: {dt(u): \"0*u\"}\ntime: {method: euler, step: 1, to: 1}\n"
      "objective: [{final: \"u^2\"}]\n";
  Session singles(test::text_case(single + map), test::self(), Sensitivities::none);
  Session doubles(test::text_case(map), test::self(), Sensitivities::none);
  const double exact = doubles.objective({});
  EXPECT_NEAR(singles.objective({}), exact, 1e-6 * exact);
}

/// Below 1.2e-38, on hosts and devices: what processors compute slowly.
TEST(Float32, TakesSubnormalsForZeros) {
  const std::string falling =
      "case: falling\ngrid: {x: {cells: 32, to: 1}, y: {cells: 16, to: 1}}\nstate: {u: {initial: 1e-36}}\n"
      "equations: {dt(u): \"-u + 0*dxx(u)\"}\ntime: {method: euler, step: 0.5, to: 5}\nobjective: [{final: "
      "\"1e36*u\"}]\n";
  Session doubles(test::text_case(falling), test::self(), Sensitivities::none);
  EXPECT_NEAR(doubles.objective({}), 1.0 / 1024, 1e-9);
  for (const bool is_emulated : {false, true}) {
    SessionOptions options;
    if (is_emulated) options.machine = emulated::open_machine({.order = emulated::Order::forwards});
    Session singles(test::text_case(single + falling), test::self(), Sensitivities::none, options);
    EXPECT_EQ(singles.objective({}), 0.0) << (is_emulated ? "emulated device" : "host");
  }
}

/// A mistake of a thousandth is none of rounding.
TEST(Float32, ChecksFindWrongGradients) {
  Session session(test::text_case(single + survey()), test::world(), Sensitivities::adjoint_and_tangent);
  session.break_gradient("steps", 1e-3);
  const CheckedPoint point{session.simulation().values(), session.gradient({})};
  EXPECT_EQ(check_gradient(session, point).front().check.verdict(), Verdict::wrong);
}

TEST(Float32, TakesHalfTheBytes) {
  std::string plane = wave;
  plane.replace(plane.find("cells: 37"), 9, "cells: 370");
  plane.replace(plane.find("cells: 28"), 9, "cells: 280");
  for (const std::string& text : {plane, line, survey(layers)}) {
    Session singles(test::text_case(single + text), test::self(), Sensitivities::adjoint);
    Session doubles(test::text_case(text), test::self(), Sensitivities::adjoint);
    SCOPED_TRACE(singles.source().name);
    const Simulation &few = singles.simulation(), &many = doubles.simulation();
    const auto filled_up = 8 * std::ssize(few.shape().arrays);
    EXPECT_LE(2 * few.shape().bytes(), many.shape().bytes() + filled_up);
    // With ghosts, in rows of whole lines of a cache.
    const double part = text == plane ? 0.53 : 0.65;
    EXPECT_LT(few.state_bytes(), part * static_cast<double>(many.state_bytes()));
    EXPECT_LT(few.record_bytes(), part * static_cast<double>(many.record_bytes()));
    EXPECT_LT(singles.plan_inputs().state_bytes, part * static_cast<double>(doubles.plan_inputs().state_bytes));
  }
}

/// Relative to the largest derivative of the unknown. What a leapfrog step rounds is a kick, which goes on in all steps
/// that follow: a random walk of those grows as steps^1.5.
TEST(Float32, HasGradientsNearThoseOfDoubles) {
  for (const std::string& text : cases()) {
    Session singles(test::text_case(single + text), test::world(), Sensitivities::adjoint);
    Session doubles(test::text_case(text), test::world(), Sensitivities::adjoint);
    const Evaluation a = singles.gradient({}), b = doubles.gradient({});
    const double steps = static_cast<double>(singles.simulation().time().steps());
    const double allowed = 4.0 * std::pow(steps, 1.5) * epsilon_of(Element::float32);
    EXPECT_NEAR(a.objective, b.objective, allowed * std::fabs(b.objective));
    EXPECT_NE(a.objective, b.objective);
    for (std::size_t i = 0; i < a.gradient.size(); ++i) {
      double largest = 0.0, apart = 0.0;
      for (std::size_t k = 0; k < a.gradient[i].size(); ++k) {
        largest = std::max(largest, std::fabs(b.gradient[i][k]));
        apart = std::max(apart, std::fabs(a.gradient[i][k] - b.gradient[i][k]));
      }
      largest = test::world().max(largest);
      if (test::world().is_root())
        fmt::print("{}, {}: {:.1e} of {:.1e}\n", singles.source().name, singles.source().unknowns[i].label(),
                   apart / largest, allowed);
      EXPECT_LT(apart, allowed * largest) << singles.source().unknowns[i].label();
    }
  }
}

TEST(Float32, HasTheSameBitsOnEveryScheduleAndCodec) {
  for (const std::string& text : cases()) {
    Session serial(test::text_case(single + text), test::self(), Sensitivities::adjoint);
    SCOPED_TRACE(serial.source().name);
    const Evaluation expected = serial.gradient({});
    for (const auto& [schedule, tiers] : std::vector<std::pair<std::string, std::string>>{
             {"revolve", "host: 5 slots"},
             {"store-all", "host: 1 GiB"},
             {"hrevolve", "host: 3 slots, disk: 120 slots"},
             {"hrevolve", "host: 3 slots, disk: {size: 120 slots, codec: lz4}"},
             {"hrevolve", "host: 3 slots, disk: {size: 120 slots, codec: zstd, difference: neighbour}"}}) {
      SCOPED_TRACE(schedule + ", " + tiers);
      SessionOptions options;
      options.disk.scratch = testing::TempDir() + "float32";
      options.costs = with_a_fast_disk;
      Session session(test::text_case(single + text + "checkpoints: {schedule: " + schedule + ", " + tiers + "}\n"),
                      test::world(), Sensitivities::adjoint, options);
      test::expect_same_bits(session, session.gradient({}), expected);
    }
  }
}

/// Whatever the order of blocks and threads, and with checkpoints in every tier; those of the host where equations are
/// made of + - * / alone.
TEST(Float32, HasTheSameBitsOnADevice) {
  for (const std::string& text : cases()) {
    Session host(test::text_case(single + text), test::world(), Sensitivities::adjoint_and_tangent);
    SCOPED_TRACE(host.source().name);
    const Evaluation expected = host.gradient({});
    const UnknownValues direction = test::some_direction(host, 0.3);
    const auto tangent = host.simulation().tangent(direction);
    for (const emulated::Traits& traits :
         {emulated::Traits{.order = emulated::Order::backwards}, emulated::Traits{.is_open_to_mpi = true}})
      for (const std::string tiers : {"{device: 1 GiB}", "{schedule: hrevolve, device: 3 slots, host: 60 slots}"}) {
        SCOPED_TRACE(tiers);
        SessionOptions options;
        options.machine = emulated::open_machine(traits);
        Session device(test::text_case(single + text + "checkpoints: " + tiers + "\n"), test::world(),
                       Sensitivities::adjoint_and_tangent, options);
        const Evaluation found = device.gradient({});
        EXPECT_EQ(found.objective, expected.objective);
        EXPECT_EQ(found.gradient, expected.gradient);
        EXPECT_EQ(device.simulation().tangent(direction), tangent);
      }
  }
}

/// Codecs that lose something work on singles as on doubles.
TEST(Float32, TakesLossyCodecs) {
  for (const char* const codec : {"float32", "bfloat16", "quantised, tolerance: 1e-4", "zfp, tolerance: 1e-4"}) {
    SCOPED_TRACE(codec);
    SessionOptions options;
    options.disk.scratch = testing::TempDir() + "float32";
    options.costs = with_a_fast_disk;
    const std::string tiers =
        fmt::format("checkpoints: {{schedule: hrevolve, host: 3 slots, disk: {{size: 60 slots, codec: {}}}}}\n", codec);
    Session lossy(test::text_case(single + survey() + tiers), test::world(), Sensitivities::adjoint, options);
    Session exact(test::text_case(single + survey()), test::world(), Sensitivities::adjoint);
    const Evaluation a = lossy.gradient({}), b = exact.gradient({});
    const bool keeps_all = codec == std::string("float32");
    if (keeps_all) {
      EXPECT_EQ(a.gradient, b.gradient);
    } else {
      UnknownValues apart = a.gradient;
      for (std::size_t i = 0; i < apart.size(); ++i)
        for (std::size_t k = 0; k < apart[i].size(); ++k) apart[i][k] -= b.gradient[i][k];
      const double relative = std::sqrt(lossy.dot(apart, apart) / exact.dot(b.gradient, b.gradient));
      EXPECT_GT(relative, 0.0);
      EXPECT_LT(relative, codec == std::string("bfloat16") ? 0.05 : 5e-3);
      const TierTraffic& t = lossy.tiers()[Tier::disk]->traffic();
      EXPECT_LT(1.5 * static_cast<double>(t.bytes_written),
                static_cast<double>(t.writes * lossy.simulation().shape().bytes()));
    }
  }
}

/// As far as rounding lets it; through layers too.
TEST(Float32, WalksBack) {
  for (const std::string& text : {line, survey(layers)}) {
    Session exact(test::text_case(single + text), test::world(), Sensitivities::adjoint);
    Session walked(test::text_case(single + text + "checkpoints: {schedule: walk-back, accept: 1e-4, host: 5 slots}\n"),
                   test::world(), Sensitivities::adjoint);
    SCOPED_TRACE(exact.source().name);
    const Evaluation expected = exact.gradient({}), mine = walked.gradient({});
    EXPECT_EQ(walked.plan().kind->name, "walk-back");
    EXPECT_EQ(mine.objective, expected.objective);
    EXPECT_LT(walked.relative_difference(mine.gradient, expected.gradient), 1e-4);
    EXPECT_GT(walked.drift().value_or(0.0), 0.0);
  }
}

void expect_in(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Float32, NamesWhatOverflows) {
  const std::string growth =
      "case: growth\ngrid: {x: {cells: 16, to: 1}}\nstate: {p: {initial: 1}, u: {initial: \"1e30*(1 + x)\"}}\n"
      "equations: {dt(p): \"0\", dt(u): \"100*u\"}\ntime: {method: euler, step: 0.1, to: 2}\n"
      "objective: [{final: \"p\"}]\n";
  EXPECT_EQ(test::failure_of(growth), "");
  expect_in(test::failure_of(single + growth), {"field 'u' is not finite after step 7 (t = 0.7)", "float32", "3.4e38"});
  std::string start = growth;
  start.replace(start.find("1e30"), 4, "1e39");
  expect_in(test::failure_of(single + start), {"initial state is not finite: field 'u'", "float32"});
}

TEST(Float32, RefusesWhatComputesInDoubles) {
  const std::string heat =
      "case: heat\ngrid: {x: {cells: 16, to: 1}}\nstate: {u: {initial: x}}\nequations: {dt(u): \"lap(u)\"}\n"
      "objective: [{final: u}]\n";
  const auto time = [](const std::string& how) { return "time: {" + how + ", to: 0.01}\n"; };
  expect_in(test::failure_of(single + heat + time("method: bdf2, step: 1e-3")),
            {"test.yaml:1:12", "precision: float32 has steps of the methods", "rk4", "leapfrog",
             "not of time.method 'bdf2'"});
  expect_in(test::failure_of(single + heat + time("method: dopri5, tolerance: 1e-3")), {"steps of a fixed length"});
  expect_in(test::failure_of(single + "case: decay\nstate: {u: {initial: 1}}\nequations: {dt(u): \"-u\"}\n" +
                             time("step: 1e-3")),
            {"is for fields on a grid"});
  std::string constrained = heat;
  constrained.replace(constrained.find("state: {u"), 9, "state: {w: , u");
  constrained.replace(constrained.find("equations: {"), 12, "equations: {zero(w): \"lap(w) - w + u\", ");
  expect_in(test::failure_of(single + constrained + time("step: 1e-4")), {"has no equations zero(...)"});
  expect_in(test::failure_of("precision: single\n" + heat + time("step: 1e-4")), {"float64", "float32"});
}

}  // namespace
}  // namespace hindsight

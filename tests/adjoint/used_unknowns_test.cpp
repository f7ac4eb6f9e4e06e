// Unknowns that the objective does not depend on are found by the graph, and times that make steps shorter are told.
#include "adjoint/problem/used_unknowns.hpp"

#include <fstream>

#include "src/notes.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

using namespace test;

/// The unknowns that are not used, by name.
std::string unused(const std::string& text, const std::vector<std::string>& set = {}) {
  const Case c = text_case(text, set);
  const SimulationSpec spec = read_problem(c);
  const std::vector<bool> used = used_unknowns(c, spec);
  std::string names;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i]) names += (names.empty() ? "" : " ") + c.unknowns[i].label();
  return names;
}

const std::string chain = R"yaml(
case: chain
grid: {x: {cells: 8, to: 1, boundary: {value: wall}}, y: {cells: 8, to: 1, boundary: {value: far}}}
parameters:
  a: 1
  b: 1
  wall: 1
  far: 1
  start: 1
  other: 1
  nothing: 1
  q: {series: {times: [0, 1], values: [1, 2]}}
  r: {series: {times: [0, 1], values: [1, 2]}}
  kappa: {field: "x"}
  mu: {field: "y"}
state: {u: {initial: start}, v: {initial: other}, w: {initial: nothing}}
equations: {dt(u): "a*v + 0*r", dt(v): "b*dx(v) + kappa*q", dt(w): "u + mu"}
time: {step: 0.01, to: 1}
objective: [{final: "u^2"}, {final: "w", weight: 0}, {penalty: "1e-3*b^2"}]
unknowns: {a: {}, b: {}, wall: {}, far: {}, start: {}, other: {}, nothing: {}, q: {}, r: {},
           kappa: {}, mu: {}, initial(u): {}, initial(w): {}}
)yaml";

TEST(UsedUnknowns, FollowEquationsInitialStatesWallsAndTerms) {
  // u is reached by the term, v by u's equation and its walls along x by its derivative; w by nothing that counts.
  // start gives the initial value of u, but that is an unknown of its own.
  EXPECT_EQ(unused(chain), "far start nothing r mu initial(w)");
  EXPECT_EQ(unused(chain, {"objective.1.weight=1"}), "far start nothing r");
  EXPECT_EQ(unused(chain, {"unknowns.nothing.prior={mean: 0, sd: 1}", "unknowns.mu.prior={mean: 0, sd: 1}"}),
            "far start r initial(w)");
  EXPECT_EQ(unused(chain, {"objective=[{final: w}]"}), "far start nothing r");
  EXPECT_EQ(unused(chain, {"objective=[{final: lap(w)}]"}), "start nothing r");
}

TEST(UsedUnknowns, FollowEvents) {
  EXPECT_EQ(unused(chain, {"events=[{at: 0.5, set: {u: \"u + far*w\"}}]"}), "start nothing r");
}

/// What is told unused has a derivative of zero, and the other way round here.
TEST(UsedUnknowns, AreThoseWithADerivative) {
  Session session(text_case(chain), self(), Sensitivities::adjoint);
  const Evaluation evaluation = session.gradient({});
  const std::vector<bool> used = used_unknowns(session.simulation().spec());
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::vector<double>& g = evaluation.gradient[i];
    EXPECT_EQ(std::any_of(g.begin(), g.end(), [](double value) { return value != 0; }), used[i])
        << session.source().unknowns[i].label();
  }
}

std::vector<std::string> notes(const std::string& text, const std::vector<std::string>& set = {}) {
  return Session(text_case(text, set), self(), Sensitivities::none).notes();
}

const std::string decay = R"yaml(
case: decay
parameters: {a: 1, b: 1, c: 1}
state: {u: {initial: 1}}
equations: {dt(u): "-a*u"}
time: {step: 0.1, to: 1}
objective: [{final: "u^2"}]
unknowns: {a: {}}
)yaml";

TEST(Notes, NameTheUnknownsThatNothingUses) {
  EXPECT_TRUE(notes(decay).empty());
  EXPECT_EQ(notes(decay, {"unknowns.b={}"})[0].find("the objective does not depend on b: "), 0U);
  EXPECT_EQ(notes(decay, {"unknowns.b={}", "unknowns.c={}"})[0].find("the objective does not depend on b, c: "), 0U);
}

/// A session's simulation keeps its observations elsewhere.
TEST(Notes, KnowWhatMisfitsDependOn) {
  const std::string data = testing::TempDir() + "misfit.csv";
  world().on_root([&] { std::ofstream(data) << "time,value\n0.5,1\n"; });
  EXPECT_TRUE(notes(decay, {"objective=[{misfit: {of: u, data: " + data + "}}]"}).empty());
}

TEST(Notes, NameTheTimesThatMakeStepsShorter) {
  const std::string data = testing::TempDir() + "times.csv";
  world().on_root([&] { std::ofstream(data) << "time,value\n0.37,1\n0.38,1\n"; });
  EXPECT_TRUE(notes(decay, {"output.every=0.2"}).empty());
  EXPECT_TRUE(notes(decay, {"time.step=0.1001", "time.to=1"}).empty());  // by less than 1 %
  EXPECT_EQ(notes(decay, {"output.every=0.25"})[0],
            "steps are 0.0833333 long where time.step asks for 0.1, because they land on the times of observations and "
            "outputs and on the end; the shortest lead from t = 0 (the begin) to t = 0.25 (an output)");
  EXPECT_EQ(notes(decay, {"objective=[{misfit: {of: u, data: " + data + "}}]"})[0],
            "steps are between 0.01 and 0.0925 long where time.step asks for 0.1, because they land on the times of "
            "observations and outputs and on the end; the shortest lead from t = 0.37 (an observation) to t = 0.38 (an "
            "observation)");
  EXPECT_NE(notes(decay, {"time.step=0.3"})[0].find("steps are 0.25 long"), std::string::npos);
}

}  // namespace
}  // namespace hindsight

// Objectives over several shots: their gradients are those of the shots alone, added up in one tree, whatever is shared
// between their simulations.
// ranks: 1 2 3 4
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "adjoint/shots/tree_sum.hpp"
#include "runtime/ordered_sum.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

using test::world;

/// Of each rank on its own: ranks read at different times.
std::string folder() {
  static const std::string path = [] {
    const std::string p = testing::TempDir() + "sums-of-shots-" + std::to_string(world().rank());
    std::filesystem::create_directories(p);
    for (int shot = 0; shot < 5; ++shot) {
      std::ofstream file(p + "/s" + std::to_string(shot) + ".csv");
      file << "time,x,value\n";
      for (int i = 0; i < 4 + shot; ++i) file << 0.05 * (1 + i % 2) << ',' << 0.1 + 0.1 * i << ',' << 0.1 * i << '\n';
    }
    return p;
  }();
  return path;
}

/// Sensors see heat that sources of some strength bring, through an unknown conductivity.
std::string heat(const std::string& shots) {
  return R"yaml(
case: heat
grid: {x: {cells: 24, to: 1, boundary: {value: 0}}}
parameters:
  kappa: {field: "0.5 + 0.3*sin(2*pi*x)"}
  a: 0.4
  strength: 1
  lamp: {series: {times: [0, 0.05, 0.1], values: [1, 2, 0.5]}}
state: {T: {initial: "a*sin(pi*x)"}}
equations: {dt(T): "div(kappa*grad(T)) + a*strength*lamp*x"}
time: {method: rk4, step: 0.0005, to: 0.1}
objective:
  - misfit: {of: T, data: "{shot}.csv"}
  - penalty: "0.01*(kappa - 0.5)^2 + a^2"
unknowns: {kappa: {}, a: {prior: {mean: 0.5, sd: 0.3}}}
checkpoints: {host: 4 MB}
shots:)yaml" +
         shots;
}

const std::string alike =
    "\n  - {shot: s0}\n  - {shot: s1, parameters.strength: 2}\n  - {shot: s2, weight: 0.7}\n"
    "  - {shot: s3, parameters.lamp.series.values: [0, 1, 3]}\n  - {shot: s4}\n";
/// Of three kinds: other steps, another initial state.
const std::string unlike =
    "\n  - {shot: s0}\n  - {shot: s1, time.step: 0.0004, weight: 3}\n  - {shot: s2, state.T.initial: 0.1*x}\n"
    "  - {shot: s3, time.step: 0.0004}\n  - {shot: s4}\n";

Case read(const std::string& text, const std::string& shot = "") {
  Case c = parse_case(folder() + "/case.yaml", text, {}, shot);
  if (shot.empty()) return c;
  std::erase_if(c.objective, [](const TermText& term) { return term.kind == "penalty"; });
  for (Assumptions& assumed : c.assumptions) assumed.prior.reset();
  return c;
}

struct Part {
  double objective;
  UnknownValues gradient;
  Part& operator+=(const Part& other) {
    objective += other.objective;
    for (std::size_t i = 0; i < gradient.size(); ++i)
      for (std::size_t k = 0; k < gradient[i].size(); ++k) gradient[i][k] += other.gradient[i][k];
    return *this;
  }
};

/// Each shot by a session of its own, without what shots share.
Part one_by_one(const std::string& text) {
  const Case all = read(text);
  TreeSum<Part> sum(all.shots.size());
  for (std::size_t i = 0; i < all.shots.size(); ++i) {
    Session session(read(text, all.shots[i].name), world(), Sensitivities::adjoint);
    const Evaluation e = session.gradient({});
    Part part{all.shots[i].weight * e.objective, e.gradient};
    for (std::vector<double>& values : part.gradient)
      for (double& value : values) value *= all.shots[i].weight;
    sum.add(i, part);
  }
  return *sum.take();
}

/// What shots share: a case of one step that sees nothing.
Part shared(const std::string& text) {
  Case c = read(text);
  c.shots.clear();
  std::erase_if(c.objective, [](const TermText& term) { return term.kind != "penalty"; });
  Session session(c, world(), Sensitivities::adjoint);
  const Evaluation e = session.gradient({});
  return {e.objective, e.gradient};
}

class Sums : public testing::TestWithParam<const char*> {
 protected:
  std::string text() const { return heat(std::string(GetParam()) == "alike" ? alike : unlike); }
};

TEST_P(Sums, AreThoseOfTheShotsAlone) {
  const Part shots = one_by_one(text()), common = shared(text());
  Case without = read(text());
  for (Assumptions& assumed : without.assumptions) assumed.prior.reset();
  for (Shot& shot : without.shots)
    std::erase_if(shot.problem.objective, [](const TermText& term) { return term.kind == "penalty"; });
  Session alone(without, world(), Sensitivities::adjoint);
  EXPECT_EQ(alone.experiments().kinds(), std::string(GetParam()) == "alike" ? 1U : 3U);
  for (int again = 0; again < 2; ++again) {
    const Evaluation e = alone.gradient({});
    EXPECT_EQ(e.objective, shots.objective) << "the same bits";
    EXPECT_EQ(e.gradient, shots.gradient);
    EXPECT_EQ(alone.objective({}), shots.objective);
  }
  Session session(read(text()), world(), Sensitivities::adjoint);
  const Evaluation e = session.gradient({});
  EXPECT_NEAR(e.objective, shots.objective + common.objective, 1e-14 * std::fabs(e.objective));
  for (std::size_t i = 0; i < e.gradient.size(); ++i)
    for (std::size_t k = 0; k < e.gradient[i].size(); ++k)
      EXPECT_NEAR(e.gradient[i][k], shots.gradient[i][k] + common.gradient[i][k],
                  1e-14 * (std::fabs(shots.gradient[i][k]) + std::fabs(common.gradient[i][k])));
}

TEST_P(Sums, HaveRightGradients) {
  Session session(read(text()), world(), Sensitivities::adjoint_and_tangent);
  test::expect_right_gradient(session);
}

TEST_P(Sums, DoNotShowRanks) {
  Session here(read(text()), world(), Sensitivities::adjoint),
      serial(read(text()), test::self(), Sensitivities::adjoint);
  test::expect_same_bits(here, here.gradient({}), serial.gradient({}));
}

TEST_P(Sums, DoNotShowGroups) {
  Session serial(read(text()), test::self(), Sensitivities::adjoint);
  const Evaluation expected = serial.gradient({});
  const double objective = serial.objective({});
  for (int count = 1; count <= world().size(); ++count) {
    if (world().size() % count != 0) continue;
    const ShotGroups groups(world(), count);
    SessionOptions options;
    options.groups = &groups;
    Session session(read(text()), groups.group(), Sensitivities::adjoint, options);
    for (int again = 0; again < 3; ++again) {
      const Evaluation mine = session.gradient({});
      test::expect_same_bits(session, mine, expected);
      EXPECT_EQ(mine.counts.reversed, expected.counts.reversed);
      EXPECT_EQ(session.objective({}), objective);
    }
    ASSERT_EQ(session.shot_results().size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(session.shot_results()[i].name, serial.shot_results()[i].name);
      EXPECT_EQ(session.shot_results()[i].objective, serial.shot_results()[i].objective);
      EXPECT_EQ(session.shot_results()[i].steps, serial.shot_results()[i].steps);
      EXPECT_EQ(session.shot_results()[i].residuals.at(0).sum_of_squares,
                serial.shot_results()[i].residuals.at(0).sum_of_squares);
    }
  }
}

/// Steps beyond the limit of stability in one shot.
TEST_P(Sums, FailWhereAShotFails) {
  std::string failing = text();
  failing.replace(failing.find("shot: s1,"), 9, "shot: s1, functions.f(): 1e4*T^2,");
  failing.replace(failing.find("equations:"), 10, "functions: {\"f()\": \"0\"}\nequations:");
  failing.replace(failing.find("a*strength*lamp*x"), 17, "a*strength*lamp*x + f()");
  std::string excluding = failing;
  excluding.replace(excluding.find("shots:"), 6, "shots:\n  failing: exclude\n  table:");
  std::string kept = text();
  const std::size_t line = kept.find("  - {shot: s1");
  kept.erase(line, kept.find('\n', line) - line + 1);
  for (int count = 1; count <= world().size(); ++count) {
    if (world().size() % count != 0) continue;
    const ShotGroups groups(world(), count);
    SessionOptions options;
    options.groups = &groups;
    Session stops(read(failing), groups.group(), Sensitivities::adjoint, options);
    for (int again = 0; again < 2; ++again) try {
        stops.gradient({});
        FAIL();
      } catch (const NumericsError& error) {
        EXPECT_NE(std::string(error.what()).find("shot 's1': diverged"), std::string::npos) << error.what();
      }
    Session excludes(read(excluding), groups.group(), Sensitivities::adjoint, options);
    Session without(read(kept), groups.group(), Sensitivities::adjoint, options);
    EXPECT_NEAR(excludes.gradient({}).objective, without.gradient({}).objective, 1e-14);
    ASSERT_EQ(excludes.excluded_shots().size(), 1U);
    EXPECT_EQ(excludes.excluded_shots()[0].name, "s1");
    EXPECT_EQ(excludes.shot_results().size(), 4U);
    EXPECT_NEAR(excludes.objective({}), without.objective({}), 1e-14);
    for (int again = 0; again < 8; ++again) excludes.objective({});
    UnknownValues steep = excludes.simulation().values();
    for (double& kappa : steep[0]) kappa *= 1e3;
    excludes.set_values(steep);
    EXPECT_THROW(excludes.gradient({}), NumericsError) << "later, no shot is left out";
  }
}

TEST(Shots, OfWhichNoneIsLeftAreRefused) {
  std::string text = heat(alike);
  text.replace(text.find("shots:"), 6, "shots:\n  failing: exclude\n  table:");
  text.replace(text.find("a*strength*lamp*x"), 17, "a*strength*lamp*x + 1e4*T^2");
  Session session(read(text), world(), Sensitivities::adjoint);
  try {
    session.gradient({});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("none is left, all 5 are excluded"), std::string::npos) << error.what();
  }
}

TEST_P(Sums, FollowTheUnknowns) {
  Session once(read(text()), world(), Sensitivities::adjoint), again(read(text()), world(), Sensitivities::adjoint);
  UnknownValues moved = once.simulation().values();
  for (std::vector<double>& values : moved)
    for (double& value : values) value *= 1.1;
  once.set_values(moved);
  again.gradient({});
  again.set_values(moved);
  const Evaluation a = once.gradient({}), b = again.gradient({});
  EXPECT_EQ(a.objective, b.objective);
  EXPECT_EQ(a.gradient, b.gradient);
}

TEST_P(Sums, TellWhatEachShotGave) {
  Session session(read(text()), world(), Sensitivities::none);
  session.objective({});
  ASSERT_EQ(session.shot_results().size(), 5U);
  for (const ShotResult& shot : session.shot_results()) {
    Session alone(read(text(), shot.name), world(), Sensitivities::none);
    EXPECT_EQ(alone.objective({}), shot.objective) << shot.name;
    EXPECT_EQ(alone.residuals().at(0).sum_of_squares, shot.residuals.at(0).sum_of_squares);
    EXPECT_EQ(alone.residuals().at(0).count, 4 + shot.name.back() - '0');
    EXPECT_EQ(alone.simulation().time().steps(), shot.steps);
  }
}

INSTANTIATE_TEST_SUITE_P(OfShots, Sums, testing::Values("alike", "unlike"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace hindsight

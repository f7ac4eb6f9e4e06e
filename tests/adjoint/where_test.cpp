// ranks: 1 2
// Fields that are unknown in some cells only: gradients are exact there and exactly zero elsewhere, on every machine
// and number of ranks.
#include "runtime/emulated/emulated_device.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

const char* const waves = R"yaml(
case: waves
grid: {x: {cells: 12, to: 1}, y: {cells: 16, to: 1}}
parameters: {D: 1e-3, edge: 0.4, m: {field: "x - 0.5"}, a: {field: "1 + 0.3*sin(2*pi*x)"}}
state: {u: {initial: "0.5 + 0.4*sin(2*pi*x)*cos(2*pi*y)"}}
functions: {below(z): "z < edge"}
equations: {dt(u): "D*lap(u) + a*u*(1 - u)*(u - 0.3)"}
time: {method: rk4, step: 0.1, to: 3}
objective: [{final: "u^2"}, {integral: "u^4"}, {penalty: "1e-2*a^2"}]
unknowns:
  edge: {}
  a: {where: "not below(y) and m > 0", prior: {mean: 2, sd: 0.5}}
  initial(u): {where: "x < 0.3 or a > 1.2"}
checkpoints: {host: 10 slots}
)yaml";

enum : std::size_t { edge, a, initial, unknowns };

Session session_of(const std::string& text, const Communicator& comm, const SessionOptions& options = {}) {
  return {test::text_case(text), comm, Sensitivities::adjoint_and_tangent, options};
}

/// The case with all cells unknown.
std::string without_conditions(std::string text) {
  for (const char* condition : {"where: \"not below(y) and m > 0\", ", "where: \"x < 0.3 or a > 1.2\""})
    text.erase(text.find(condition), std::string(condition).size());
  return text;
}

std::int64_t moving(const Session& session, std::size_t unknown) {
  std::int64_t count = 0;
  for (std::size_t k = 0; k < session.simulation().values()[unknown].size(); ++k)
    count += session.simulation().moving(unknown)[k] ? 1 : 0;
  std::vector<double> all{static_cast<double>(count)};
  session.communicator().sum(all);
  return static_cast<std::int64_t>(all[0]);
}

TEST(Where, TellsTheCellsThatMove) {
  Session session = session_of(waves, test::world());
  EXPECT_EQ(moving(session, a), 6 * 10);
  const Grid& grid = session.simulation().grid();
  for (std::size_t k = 0; k < session.simulation().values()[initial].size(); ++k) {
    const double x = grid.coordinates(0)[static_cast<std::int64_t>(k) % 12];
    EXPECT_EQ(session.simulation().moving(initial)[k], x < 0.3 || 1 + 0.3 * std::sin(2 * M_PI * x) > 1.2) << x;
  }
}

TEST(Where, GradientsAreThoseOfTheCellsThatMove) {
  Session some = session_of(waves, test::world()), all = session_of(without_conditions(waves), test::world());
  const UnknownValues here = some.gradient({}).gradient, whole = all.gradient({}).gradient;
  const double sd = 0.5, mean = 2.0;
  for (const std::size_t i : {a, initial})
    for (std::size_t k = 0; k < here[i].size(); ++k) {
      EXPECT_EQ(here[i][k], some.simulation().moving(i)[k] ? whole[i][k] : 0.0);
      EXPECT_NE(whole[i][k], 0.0);
    }
  double rests = 0.0;  // what the prior does not count any more
  for (std::size_t k = 0; k < here[a].size(); ++k) {
    const double away = (some.simulation().values()[a][k] - mean) / sd;
    rests += some.simulation().moving(a)[k] ? 0.0 : 0.5 * away * away;
  }
  std::vector<double> sum{rests};
  some.communicator().sum(sum);
  EXPECT_NEAR(all.objective({}) - some.objective({}), sum[0], 1e-10 * sum[0]);
}

/// Tangent against adjoint in any direction, of which what rests does not count; and Taylor remainders of order 2.
TEST(Where, DerivativesAreExact) {
  Session session = session_of(waves, test::world());
  const Evaluation base = session.gradient({});
  const UnknownValues start = session.simulation().values();
  UnknownValues v = test::some_direction(session, 0.3);
  const double slope = session.dot(base.gradient, v);
  EXPECT_NEAR(session.tangent(v).second, slope, 1e-12 * std::fabs(slope));
  for (std::size_t i = 0; i < unknowns; ++i) v[i] = session.simulation().moving(i).only(v[i]);
  std::vector<double> remainder;
  for (double e = 1e-2; e > 2e-4; e /= 2) {
    UnknownValues moved = start;
    for (std::size_t i = 0; i < unknowns; ++i)
      for (std::size_t k = 0; k < moved[i].size(); ++k) moved[i][k] += e * v[i][k];
    session.set_values(moved);
    remainder.push_back(std::fabs(session.objective({}) - base.objective - e * slope));
  }
  for (std::size_t i = 0; i + 1 < remainder.size(); ++i)
    EXPECT_NEAR(std::log2(remainder[i] / remainder[i + 1]), 2.0, 0.1) << "halving " << i << ": " << remainder[i];
}

TEST(Where, BitsAreThoseOfOneRankAndOfADevice) {
  Session serial = session_of(waves, test::self()), here = session_of(waves, test::world());
  test::expect_same_bits(here, here.gradient({}), serial.gradient({}));
  SessionOptions options;
  options.machine = emulated::open_machine();
  Session on_device = session_of(waves, test::world(), options);
  const UnknownValues host = here.gradient({}).gradient, device = on_device.gradient({}).gradient;
  EXPECT_EQ(device, host);
  const UnknownValues v = test::some_direction(here, 0.7);
  EXPECT_EQ(on_device.tangent(v).second, here.tangent(v).second);
}

/// What a program of one's own adds to the objective has no derivatives by cells that rest, either.
TEST(Where, PenaltiesOfProgramsDoNotMoveWhatRests) {
  GradientOptions options;
  options.checkpoints.host = TierBudget{TierBudget::Unit::slots, 10};
  options.penalty = [](UnknownValues& gradient) {
    for (std::vector<double>& block : gradient)
      for (double& derivative : block) derivative += 1.0;
    return 0.0;
  };
  Gradients gradients(read_problem(test::text_case(waves)), test::world(), options);
  const UnknownValues gradient = gradients.evaluate().gradient;
  for (std::size_t k = 0; k < gradient[a].size(); ++k)
    EXPECT_EQ(gradient[a][k] == 0.0, !gradients.simulation().moving(a)[k]) << k;
}

/// It is decided by the first values, once.
TEST(Where, StaysWhenValuesChange) {
  Session session = session_of(waves, test::world());
  const std::int64_t before = moving(session, a);
  UnknownValues values = session.simulation().values();
  values[edge][0] = 0.9;
  for (double& value : values[a]) value = 0.5;
  session.set_values(values);
  session.gradient({});
  EXPECT_EQ(moving(session, a), before);
}

TEST(Where, HoldsSomewhere) {
  std::string text = waves;
  text.replace(text.find("x < 0.3 or a > 1.2"), 18, "x < 0");
  EXPECT_EQ(test::failure_of(text),
            "test.yaml:13:24: where: it holds in no cell, so that nothing of 'initial(u)' is unknown");
}

TEST(Where, IsANumber) {
  std::string text = waves;
  text.replace(text.find("x < 0.3 or a > 1.2"), 18, "sqrt(x - 0.3)");
  EXPECT_EQ(test::failure_of(text), "test.yaml:13:24: where: it is not a number in some cell");
}

}  // namespace
}  // namespace hindsight

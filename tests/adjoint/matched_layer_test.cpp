// Perfectly matched layers: what they reflect, that they stay stable, exact gradients through them, the same bits on
// every schedule, number of ranks and machine, and what is refused.
// ranks: 1 2 3
#include <fmt/format.h>

#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

/// Layers on three sides, beside a wall that a series moves; what is not known is in what they stretch and beside it.
const std::string plane = R"yaml(
case: plane
grid:
  x: {cells: 21, to: 2.1, boundary: {lower: {value: "0.3*q"}, upper: {slope: 0}}}
  y: {cells: 19, to: 1.9, boundary: {lower: {slope: "g*t"}, upper: {value: 0}}}
  order: 4
parameters: {g: 0.2, s: 0.7, e: 1.1, c: {field: "1 + 0.3*sin(2*x)*y"}, q: {series: {times: [0, 0.3, 1], values: [0, 1, -0.5]}}}
state: {u: {initial: "exp(-8*((x - 0.8)^2 + (y - 0.5)^2))", rate: "0.3*x"}}
equations: {dtt(u): "e*(c^2*lap(u)) - s*x*c*dt(u) - 0.2*u^3 + q*sin(t)*x"}
absorb: {pml: 5, sides: [x.lower, x.upper, y.upper]}
objective: [{final: "u^2"}, {integral: "u^4"}]
unknowns: {g: {}, s: {}, e: {}, c: {}, q: {}, initial(u): {}, rate(u): {}}
time: {method: leapfrog, step: 0.03, to: 0.9}
)yaml";

/// Two fields on three axes, one in a medium whose stiffness is unknown, the other not the same along all axes.
const std::string space = R"yaml(
case: space
grid: {x: {cells: 9, to: 1, boundary: {value: 0}}, y: {cells: 5, to: 1, boundary: periodic}, z: {cells: 8, to: 1, boundary: {slope: 0}}}
parameters: {a: 0.4, r: 1.3, k: {field: "0.3 + 0.05*x*z"}}
state: {u: {initial: "x*z*(1 - x)", rate: "a*y"}, v: {initial: "a*x", rate: 0.1}}
equations:
  dtt(u): "div(k*grad(u))/r - a*u*v - a*dt(u)"
  dtt(v): "0.1*dxx(v) + a*dyy(v) + k*dzz(v) - u"
absorb: {pml: 3}
objective: [{final: "u^2 + v"}, {integral: "u*v"}]
unknowns: {a: {}, r: {}, k: {}, initial(v): {}, rate(u): {}}
time: {method: leapfrog, step: 0.05, to: 0.8}
)yaml";

/// Not damped beside its layers: a record is the first level. Order 8 in layers of two cells.
const std::string line = R"yaml(
case: line
grid: {x: {cells: 24, to: 1, boundary: {slope: 0}}, order: 8}
parameters: {c: {field: "1 + 0.2*x"}}
state: {u: {initial: "sin(3*x)^4", rate: 0}}
equations: {dtt(u): "c^2*lap(u)"}
absorb: {pml: 2}
objective: [{final: "u^2"}]
unknowns: {c: {}, initial(u): {}, rate(u): {}}
time: {method: leapfrog, step: 0.02, to: 0.6}
)yaml";

/// What changes with time, and is not known, in what layers differentiate and in its factor.
const std::string moving = R"yaml(
case: moving
grid: {x: {cells: 24, to: 1, boundary: {slope: 0}}, order: 4}
parameters: {c: {field: "1 + 0.2*x"}, m: {series: {times: [0, 0.25, 1], values: [1, 0.7, 1.2]}}}
state: {u: {initial: "sin(3*x)^4", rate: "x"}}
equations: {dtt(u): "0.8*div(m*c*grad(u))"}
absorb: {pml: 8, speed: 1}
objective: [{final: "u^2"}]
unknowns: {c: {}, m: {}, initial(u): {}, rate(u): {}}
time: {method: leapfrog, step: 0.02, to: 0.6}
)yaml";

TEST(MatchedLayer, HasExactGradients) {
  for (const std::string& text : {plane, space, line, moving}) {
    Session session(test::text_case(text), test::world(), Sensitivities::adjoint_and_tangent);
    SCOPED_TRACE(session.source().name);
    test::expect_right_gradient(session, 1e-2, 1e-13);
  }
}

TEST(MatchedLayer, HasTheSameBitsOnEverySchedule) {
  for (const std::string& text : {plane, space, line}) {
    Session serial(test::text_case(text), test::self(), Sensitivities::adjoint);
    SCOPED_TRACE(serial.source().name);
    const Evaluation expected = serial.gradient({});
    for (const auto& [schedule, tiers] : std::vector<std::pair<std::string, std::string>>{
             {"revolve", "host: 5 slots"},
             {"store-all", "host: 1 GiB"},
             {"hrevolve", "host: 3 slots, disk: 120 slots"},
             {"hrevolve", "host: 3 slots, disk: {size: 120 slots, codec: zstd}"}}) {
      SCOPED_TRACE(schedule + ", " + tiers);
      SessionOptions options;
      options.disk.scratch = testing::TempDir() + "matched_layer";
      Session session(test::text_case(text + "checkpoints: {schedule: " + schedule + ", " + tiers + "}\n"),
                      test::world(), Sensitivities::adjoint, options);
      test::expect_same_bits(session, session.gradient({}), expected);
      test::expect_same_bits(session, session.gradient({}), expected);
    }
  }
}

TEST(MatchedLayer, HasTheSameBitsOnADevice) {
  for (const std::string& text : {plane, space, line}) {
    Session host(test::text_case(text), test::world(), Sensitivities::adjoint);
    SCOPED_TRACE(host.source().name);
    SessionOptions on_device;
    on_device.machine = test::device();
    Session device(test::text_case(text), test::world(), Sensitivities::adjoint, on_device);
    const Evaluation expected = host.gradient({}), mine = device.gradient({});
    // Functions such as exp and sin may differ on a real device; an emulated one has the host's.
    EXPECT_EQ(mine.objective, expected.objective);
    EXPECT_EQ(mine.gradient, expected.gradient);
  }
}

/// A wave from a point, in a square of `inner` cells of 1/100 with `around` cells more on every side.
std::string from_a_point(int inner, int around, const std::string& absorb, double to) {
  const double half = 0.005 * inner + 0.01 * around;
  const std::string axis =
      fmt::format("{{cells: {}, from: {}, to: {}, boundary: {{value: 0}}}}", inner + 2 * around, -half, half);
  std::string times, values;
  for (int i = 0; i <= 400; ++i) {  // a Ricker wavelet of 5 cycles per time around 0.25
    const double t = 0.0025 * i, w = std::pow(M_PI * 5 * (t - 0.25), 2);
    times += fmt::format("{}{:.6g}", i > 0 ? ", " : "", t);
    values += fmt::format("{}{:.12g}", i > 0 ? ", " : "", (1 - 2 * w) * std::exp(-w));
  }
  times += ", 1000";
  values += ", 0";
  return "case: point\ngrid: {x: " + axis + ", y: " + axis + ", order: 8}\nparameters: {c: 1, q: {series: {times: [" +
         times + "], values: [" + values + "]}}}\nstate: {u: {initial: 0}}\nequations: {dtt(u): \"c^2*lap(u)\"}\n" +
         absorb + "sources: [{to: u, signal: q, at: [0.003, -0.11], weights: sinc}]\n" +
         fmt::format("time: {{method: leapfrog, step: 0.005, to: {}}}\n", to) +
         "objective: [{final: \"u^2\"}]\nunknowns: {c: {}}\n";
}

/// The field at every tenth step, in the inner cells.
std::vector<std::vector<double>> seen(const std::string& text, int inner) {
  Session session(test::text_case(text), test::self(), Sensitivities::none);
  const Grid& grid = session.simulation().grid();
  const std::int64_t around = (grid.cells()[0] - inner) / 2;
  std::vector<std::vector<double>> all;
  std::vector<double> cells(static_cast<std::size_t>(grid.total_cells()));
  session.objective([&](std::int64_t k, double, StateBlocks state) {
    if (k % 10 != 0) return;
    pack_cells(grid, grid.field_of(state.now, 0, Element::float64), cells.data());
    all.emplace_back();
    for (std::int64_t j = around; j < around + inner; ++j)
      for (std::int64_t i = around; i < around + inner; ++i)
        all.back().push_back(cells[static_cast<std::size_t>(i + grid.cells()[0] * j)]);
  });
  return all;
}

/// Beside the same wave in a grid so large that nothing comes back from its sides in that time.
double reflection(int cells, double to) {
  constexpr int inner = 60;
  const auto free = seen(from_a_point(inner, 110, "", to), inner);
  const auto absorbed = seen(from_a_point(inner, cells, fmt::format("absorb: {{pml: {}}}\n", cells), to), inner);
  double peak = 0.0, most = 0.0;
  for (std::size_t n = 0; n < free.size(); ++n)
    for (std::size_t i = 0; i < free[n].size(); ++i) {
      peak = std::max(peak, std::fabs(free[n][i]));
      most = std::max(most, std::fabs(free[n][i] - absorbed[n][i]));
    }
  return most / peak;
}

TEST(MatchedLayer, ReflectsLittle) {
  const double ten = reflection(10, 1.6), twenty = reflection(20, 1.6);
  std::printf("reflected of the peak: %.2e by 10 cells, %.2e by 20\n", ten, twenty);
  EXPECT_LT(ten, 5e-3);
  EXPECT_LT(twenty, 1e-3);
}

double left_after_20000_steps(int cells, int order) {
  std::string text = from_a_point(40, cells, fmt::format("absorb: {{pml: {}}}\n", cells), 100);
  text.replace(text.find("order: 8"), 8, fmt::format("order: {}", order));
  Session session(test::text_case(text), test::self(), Sensitivities::none);
  const double left = session.objective({});
  EXPECT_EQ(session.steps(), 20000);
  std::printf("left by %d cells, order %d: %.2e\n", cells, order, left);
  return left;
}

TEST(MatchedLayer, IsStableOver20000Steps) {
  EXPECT_LT(left_after_20000_steps(10, 8), 1e-20);
}

/// Those of 2 to 6 cells, in which what damps differs much from cell to cell.
TEST(MatchedLayer, ThinOnesAreStableOver20000Steps) {
  for (const int order : {2, 8})
    for (const int cells : {2, 3, 4, 5, 6}) EXPECT_LT(left_after_20000_steps(cells, order), 1e-12);
}

/// Layers are made for the speed of each shot, alone or among others, in any order.
TEST(MatchedLayer, TakesTheSpeedOfEachShot) {
  const auto with = [](const std::string& shots) {
    std::string text = line;
    text.replace(text.find("\"}}"), 3, "\"}, f: 1}");
    text.replace(text.find("c^2"), 3, "f*c^2");
    return text + "shots: [" + shots + "]\n";
  };
  const std::string slow = "{shot: slow}", fast = "{shot: fast, parameters.f: 0.5}";
  const auto gradient = [&](const std::string& shots, const std::string& shot) {
    Session session(parse_case("line.yaml", with(shots), {}, shot), test::self(), Sensitivities::adjoint);
    UnknownValues later = session.simulation().values();
    for (double& c : later[0]) c *= 0.9;  // what layers are made for stays
    session.set_values(later);
    return session.gradient({});
  };
  const Evaluation both = gradient(slow + ", " + fast, ""), turned = gradient(fast + ", " + slow, "");
  const Evaluation first = gradient(slow + ", " + fast, "slow"), second = gradient(slow + ", " + fast, "fast");
  EXPECT_EQ(both.objective, turned.objective);
  EXPECT_EQ(both.gradient, turned.gradient);
  EXPECT_EQ(both.objective, first.objective + second.objective);
  for (std::size_t u = 0; u < both.gradient.size(); ++u)
    for (std::size_t k = 0; k < both.gradient[u].size(); ++k)
      EXPECT_EQ(both.gradient[u][k], first.gradient[u][k] + second.gradient[u][k]);
}

TEST(MatchedLayer, RefusesWhatItCannotDo) {
  const auto has = [](std::string text, const std::string& from, const std::string& to, const std::string& part) {
    text.replace(text.find(from), from.size(), to);
    const std::string message = test::failure_of(text);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(line, "{pml: 2}", "{pml: 2, sponge: 2}", "either sponge or pml");
  has(line, "{pml: 2}", "{pml: 1}", "a pml has at least two cells");
  has(line, "{pml: 2}", "{pml: 2, sides: [x.lower, x.lower]}", "'x.lower' is named again");
  has(line, "{pml: 2}", "{pml: 12}", "leave none of the 24 along x");
  has(line, "{pml: 2}", "{pml: 2, strength: 2}", "strength");
  has(line, "{pml: 2}", "{pml: 2, speed: 0}", "absorb.speed must be positive");
  has(line, "{slope: 0}", "periodic", "there is no side to absorb at");
  has(line, "c^2*lap(u)", "c^2*lap(u) + dx(u)", "derivatives of another form");
  has(line, "c^2*lap(u)", "dx(c^2*dx(u))", "derivatives of another form");
  has(line, "c^2*lap(u)", "(1 + u^2)*lap(u)", "whose factors depend on parameters and coordinates alone");
  has(line, "c^2*lap(u)", "lap(u^2 + u)", "a pml needs absorb.speed");
  has(line, "c^2*lap(u)", "c^2*lap(u) - u*dt(u)", "what damps beside a pml depends on");
  has(line, "c^2*lap(u)", "-u", "no equation has derivatives along x");
  has(plane, "absorb:", "sources: [{to: u, signal: q, at: [1, 1.45]}]\nabsorb:",
      "in the pml along y.upper, which begins at 1.4");
}

}  // namespace
}  // namespace hindsight

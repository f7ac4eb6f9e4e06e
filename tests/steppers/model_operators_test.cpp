// ranks: 1 2 3
// F, J v and J^T w of models: F is the interpreter's, J its derivative, J^T its transpose; on any number of ranks.
#include <gtest/gtest.h>

#include "runtime/emulated/emulated_device.hpp"
#include "tests/steppers/applied_operators.hpp"

namespace hindsight {
namespace {

using test::Applied;
using test::Cells;
using test::dot;
using test::ModelText;
using test::Point;
using test::WallModel;
using test::WallText;

constexpr Derivatives both{.adjoint = true, .tangent = true};
constexpr StepTime time{0.35, 0.02, 7};

WallText value(const std::string& text) {
  return {WallRule::value, text};
}
WallText slope(const std::string& text) {
  return {WallRule::slope, text};
}
const WallText zero{WallRule::zero, "0"};

std::vector<ModelText> models() {
  const Axis px{"x", 24, 0, 1, true}, wx{"x", 21, 0, 1, false}, py{"y", 18, 0, 2, true}, wy{"y", 18, 0, 2, false};
  const Series q{"q", {0.0, 0.3, 0.5}, {0.4, 0.9, 0.6}};
  std::vector<ModelText> all;
  all.push_back({.name = "ode",
                 .equations = {{"u", "a*u - b*u*v + q*sin(t)"}, {"v", "b*u*v*step - v*q^2"}},
                 .scalars = {{"a", 0.7}, {"b", 0.4}},
                 .series = {q}});
  all.push_back({.name = "periodic line, fourth order",
                 .axes = {px},
                 .equations = {{"u", "div(kappa*grad(u)) - a*u*dx(u) + q*v"}, {"v", "0.1*dxx(u*v) + sin(v)*x"}},
                 .scalars = {{"a", 0.7}},
                 .series = {q},
                 .parameter_fields = {"kappa"},
                 .order = 4});
  all.push_back({.name = "line between a value and a slope",
                 .axes = {wx},
                 .equations = {{"u", "0.05*dxx(u) - u*dx(u) + b*u^2"}},
                 .walls = {{{{value("a*sin(3*t) + q^2"), slope("b*t*a")}}}},
                 .scalars = {{"a", 0.7}, {"b", 0.4}},
                 .series = {q}});
  all.push_back({.name = "derivatives that end at walls",  // beyond them the root is of a negative number, or of zero
                 .axes = {wx},
                 .equations = {{"u", "0.05*dxx(u) - a*sqrt(u)*dx(u) + kappa*log(u)"}},
                 .walls = {{{{value("0*a"), zero}}}},
                 .scalars = {{"a", 0.7}},
                 .parameter_fields = {"kappa"}});
  all.push_back({.name = "channel",
                 .axes = {px, wy},
                 .equations = {{"u", "0.02*lap(u) + 0.1*dx(dy(u))*v - u*dx(u)"}, {"v", "a*dy(u*v) + u"}},
                 .walls = {{{{}, {value("a*sin(2*pi*x) + q"), slope("b*x*t")}}}, {{{}, {slope("q*b"), zero}}}},
                 .scalars = {{"a", 0.7}, {"b", 0.4}},
                 .series = {q}});
  all.push_back({.name = "plate",
                 .axes = {wx, wy},
                 .equations = {{"u", "div(kappa*grad(u)) - u*dx(u) + v"}, {"v", "0.1*dx(dy(v))*kappa + dx(u^2)"}},
                 .walls = {{{{value("a*y + b*y^2*t"), slope("b*cos(y)")}, {value("a*x"), value("q*x")}}},
                           {{{slope("a"), value("b*y")}, {slope("q"), zero}}}},
                 .scalars = {{"a", 0.7}, {"b", 0.4}},
                 .series = {q},
                 .parameter_fields = {"kappa"}});
  return all;
}

class Operators : public ::testing::TestWithParam<ModelText> {
 protected:
  WallModel model{GetParam()};
  Point at = some_point(model, 0.4), v = some_point(model, 1.9);
};

void expect_near(const std::vector<Cells>& found, const std::vector<Cells>& expected, double tolerance) {
  double largest = 0.0;
  for (const Cells& cells : expected)
    for (const double x : cells) largest = std::max(largest, std::fabs(x));
  for (std::size_t f = 0; f < expected.size(); ++f)
    for (std::size_t i = 0; i < expected[f].size(); ++i)
      EXPECT_NEAR(found[f][i], expected[f][i], tolerance * largest) << "field " << f << ", cell " << i;
}

TEST_P(Operators, TheRightHandSideIsTheInterpreters) {
  Applied applied(model, MPI_COMM_WORLD, {});
  model.scalars = at.scalars;
  for (std::size_t q = 0; q < model.series.size(); ++q) model.series[q].values = at.knots[q];
  const test::InterpretedModel reference(model, at.parameter_fields, time.t, time.h);
  expect_near(applied.rhs(at, time), reference.rhs(at.state), 1e-14);
}

TEST_P(Operators, TaylorRemaindersOfTheTangentAreOfOrderTwo) {
  Applied applied(model, MPI_COMM_WORLD, both);
  const std::vector<Cells> start = applied.rhs(at, time), derivative = applied.tangent(at, time, v);
  const auto remainder = [&](double e) {
    Point moved = at;
    const auto add = [e](auto& x, const auto& y) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += e * y[i];
    };
    for (std::size_t f = 0; f < at.state.size(); ++f) add(moved.state[f], v.state[f]);
    for (std::size_t k = 0; k < at.parameter_fields.size(); ++k) add(moved.parameter_fields[k], v.parameter_fields[k]);
    add(moved.scalars, v.scalars);
    for (std::size_t q = 0; q < at.knots.size(); ++q) add(moved.knots[q], v.knots[q]);
    std::vector<Cells> rest = applied.rhs(moved, time);
    for (std::size_t f = 0; f < rest.size(); ++f)
      for (std::size_t i = 0; i < rest[f].size(); ++i) rest[f][i] -= start[f][i] + e * derivative[f][i];
    return std::sqrt(dot(rest, rest));
  };
  for (double e = 1.0 / 256; e > 1.0 / 2048; e /= 2) EXPECT_NEAR(std::log2(remainder(e) / remainder(e / 2)), 2.0, 0.05);
}

/// All terms of w (J v) have one sign, so that nothing cancels.
TEST_P(Operators, TheAdjointIsTheTransposeOfTheTangent) {
  for (const double t : {-1.0, 0.35, 0.5, 2.0}) {  // before, between, on and after the knots of series
    SCOPED_TRACE(t);
    const StepTime then{t, time.h, time.index};
    Applied applied(model, MPI_COMM_WORLD, both);
    const std::vector<Cells> product = applied.tangent(at, then, v);
    std::vector<Cells> w = some_point(model, 0.8).state;
    for (std::size_t f = 0; f < w.size(); ++f)
      for (std::size_t i = 0; i < w[f].size(); ++i) w[f][i] = std::copysign(w[f][i], product[f][i]);
    const double forward = dot(w, product), backward = dot(v, applied.adjoint(at, then, w));
    EXPECT_GT(forward, 0.1);
    EXPECT_NEAR(backward, forward, 1e-14 * forward);
  }
}

TEST_P(Operators, DerivativesWithRespectToParametersAddUp) {
  Applied applied(model, MPI_COMM_WORLD, both);
  const std::vector<Cells> w = some_point(model, 0.8).state;
  Point once = applied.adjoint(at, time, w), twice = applied.adjoint(at, time, w);
  EXPECT_EQ(twice.state, once.state);
  once.state.clear();
  twice.state.clear();
  for_each_pair(twice, once, [](double second, double first) { EXPECT_DOUBLE_EQ(second, 2 * first); });
}

TEST_P(Operators, HaveTheBitsOfOneRankAndOfADevice) {
  const std::vector<Cells> w = some_point(model, 0.8).state;
  Applied serial(model, MPI_COMM_SELF, both);
  const std::vector<Cells> rhs = serial.rhs(at, time), tangent = serial.tangent(at, time, v);
  const Point adjoint = serial.adjoint(at, time, w);
  const std::unique_ptr<Machine> device = emulated::open_machine();
  for (Machine* machine : {&Machine::host(), device.get()}) {
    Applied applied(model, MPI_COMM_WORLD, both, *machine);
    EXPECT_EQ(applied.rhs(at, time), rhs);
    EXPECT_EQ(applied.tangent(at, time, v), tangent);
    const Point found = applied.adjoint(at, time, w);
    for_each_pair(found, adjoint, [](double here, double there) { EXPECT_EQ(here, there); });
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Operators, ::testing::ValuesIn(models()), [](const auto& of) {
  std::string name;
  for (const char c : of.param.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(ModelOperators, OfAnOscillatorAreItsFormulas) {
  const ModelText text{.name = "oscillator",
                       .equations = {{"u", "-k*w"}, {"w", "k*u + q"}},
                       .scalars = {{"k", 0.8}},
                       .series = {{"q", {0.0, 1.0}, {3.0, 5.0}}}};
  const WallModel model(text);
  Applied applied(model, MPI_COMM_WORLD, both);
  const Point at{{{2.0}, {3.0}}, {}, {0.5}, {{3.0, 5.0}}}, v{{{1.0}, {4.0}}, {}, {8.0}, {{16.0, 32.0}}};
  const StepTime then{0.25, 0.1, 0};  // q = 3.5, its direction 20
  EXPECT_EQ(applied.rhs(at, then), (std::vector<Cells>{{-1.5}, {4.5}}));
  EXPECT_EQ(applied.tangent(at, then, v), (std::vector<Cells>{{-2.0 - 24.0}, {0.5 + 16.0 + 20.0}}));
  const Point found = applied.adjoint(at, then, {{10.0}, {100.0}});
  EXPECT_EQ(found.state, (std::vector<Cells>{{50.0}, {-5.0}}));
  EXPECT_EQ(found.scalars, (std::vector<double>{-30.0 + 200.0}));
  EXPECT_EQ(found.knots, (std::vector<std::vector<double>>{{75.0, 25.0}}));
}

TEST(ModelOperators, CompileWhatIsAskedFor) {
  const auto kernels = [](const Derivatives& wanted) {
    const WallModel model(models()[2]);
    Applied applied(model, MPI_COMM_WORLD, wanted);
    std::string names;
    for (const KernelLibrary* library : applied.operators().kernels().libraries())
      for (const KernelSpec& spec : library->specs())
        if (spec.name.rfind("rhs", 0) == 0) names += spec.name + " ";
    return names;
  };
  EXPECT_EQ(kernels({}), "rhs ");
  EXPECT_EQ(kernels({.adjoint = false, .tangent = true}), "rhs rhs_tangent ");
  EXPECT_EQ(kernels({.adjoint = true, .tangent = false}), "rhs rhs_adjoint rhs_add rhs_ring_x0 rhs_ring_x1 ");
}

}  // namespace
}  // namespace hindsight

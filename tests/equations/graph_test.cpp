#include "solvers/equations/graph.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "solvers/equations/print.hpp"
#include "solvers/equations/simplify.hpp"
#include "tests/equations/periodic_grid.hpp"
#include "tests/equations/random_graph.hpp"

namespace hindsight {
namespace {

class Graphs : public ::testing::Test {
 protected:
  Graph g;
  Expr u = g.field("u"), v = g.field("v"), a = g.scalar("a"), zero = g.constant(0.0), one = g.constant(1.0);
};

TEST_F(Graphs, EqualExpressionsAreTheSameNode) {
  EXPECT_TRUE((u * v + a).same_as(u * v + a));
  EXPECT_FALSE((u - v).same_as(v - u));
  EXPECT_TRUE(g.field("u", {1, 0, 0}).same_as(shift(u, {1, 0, 0})));
  EXPECT_TRUE(g.coordinate(0, {0, 5, 0}).same_as(g.coordinate(0))) << "only the entry of its own axis counts";
  EXPECT_FALSE(g.constant(0.0).same_as(g.constant(-0.0)));
  const std::size_t size = g.size();
  for (int i = 0; i < 10; ++i) (void)(sin(u * v) + 3.0 * a);
  EXPECT_LE(g.size(), size + 5);
}

TEST_F(Graphs, ArgumentsHaveSmallerIds) {
  const Expr e = sin(u * v + a) / (1.0 + exp(g.field("w")));
  for (NodeId id : reachable({e}))
    for (int i = 0; i < arity(g[id].op); ++i) EXPECT_LT(g[id].args[static_cast<std::size_t>(i)], id);
}

TEST_F(Graphs, SimplificationRules) {
  const Expr c = u < v, x = u * v;
  EXPECT_TRUE((u + 0.0).same_as(u));
  EXPECT_TRUE((0.0 + u).same_as(u));
  EXPECT_TRUE((u - 0.0).same_as(u));
  EXPECT_TRUE((0.0 - u).same_as(-u));
  EXPECT_TRUE((u - u).same_as(zero));
  EXPECT_TRUE((u * 1.0).same_as(u));
  EXPECT_TRUE((u * 0.0).same_as(zero));
  EXPECT_TRUE((u * -1.0).same_as(-u));
  EXPECT_TRUE((u / 1.0).same_as(u));
  EXPECT_TRUE((zero / u).same_as(zero));
  EXPECT_TRUE((-(-u)).same_as(u));
  EXPECT_TRUE((u + -v).same_as(u - v));
  EXPECT_TRUE((u - -v).same_as(u + v));
  EXPECT_TRUE((-u + v).same_as(v - u));
  EXPECT_TRUE((-(u - v)).same_as(v - u));
  EXPECT_TRUE((u / 4.0).same_as(0.25 * u));
  EXPECT_EQ((u / 3.0).node().op, Op::div) << "1/3 is not exact";
  EXPECT_TRUE((u * 3.0).same_as(3.0 * u));
  EXPECT_TRUE((2.0 * (3.0 * u)).same_as(6.0 * u));
  EXPECT_TRUE((g.constant(2.0) + g.constant(3.0)).is_constant(5.0));
  EXPECT_TRUE(where(one, u, v).same_as(u));
  EXPECT_TRUE(where(zero, u, v).same_as(v));
  EXPECT_TRUE(where(c, u, u).same_as(u));
  EXPECT_TRUE((where(c, u, zero) * v).same_as(where(c, x, zero)));
  EXPECT_TRUE((where(c, u, zero) / v).same_as(where(c, u / v, zero)));
  EXPECT_TRUE((-where(c, u, zero)).same_as(where(c, -u, zero)));
}

TEST_F(Graphs, SmallPowersAreProducts) {
  EXPECT_TRUE(pow(u, 0.0).is_constant(1.0));
  EXPECT_TRUE(pow(u, 1.0).same_as(u));
  EXPECT_TRUE(pow(u, 2.0).same_as(u * u));
  EXPECT_TRUE(pow(u, 0.5).same_as(sqrt(u)));
  EXPECT_EQ(pow(u, 9.0).node().op, Op::pow);
  for (int n = -8; n <= 8; ++n)
    EXPECT_NEAR(testing::value_of(pow(u, n), {{"u", 1.3}}) / std::pow(1.3, n), 1.0, 1e-15) << n;
}

TEST_F(Graphs, ShiftAddsUpAndRefusesToOverflow) {
  const Expr e = u * g.coordinate(1) + v;
  EXPECT_TRUE(shift(shift(e, {1, 2, 0}), {-1, -2, 0}).same_as(e));
  EXPECT_TRUE(shift(a, {1, 0, 0}).same_as(a));
  Expr far = u;
  EXPECT_THROW(for (int i = 0; i < 5; ++i) far = shift(far, {50, 0, 0}), InputError);
}

TEST_F(Graphs, ReachKnowsDepthAndCorners) {
  const Expr e = g.field("u", {-2, 0, 0}) + g.field("u", {1, 0, 3}) + g.field("v", {0, 1, 0});
  (void)g.field("unused", {4, 4, 4});
  const std::vector<Reach> all = reach({e});
  EXPECT_EQ(all[0].depth, (std::array<int, 3>{2, 0, 3}));
  EXPECT_TRUE(all[0].corners);
  EXPECT_EQ(all[1].depth, (std::array<int, 3>{0, 1, 0}));
  EXPECT_FALSE(all[1].corners);
  EXPECT_FALSE(all[2].read);
}

TEST_F(Graphs, SubstitutionReplacesLeaves) {
  const std::vector<Expr> out = substitute({u * u + v, v}, [&](const Node& node) {
    return node.op == Op::field && node.symbol == 0 ? g.constant(3.0) : Expr();
  });
  EXPECT_TRUE(out[0].same_as(9.0 + v));
  EXPECT_TRUE(out[1].same_as(v));
}

TEST(Simplify, KeepsValuesOfRandomExpressions) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Graph g;
    testing::RandomGraph random(g, seed, 0);
    const std::vector<testing::Twin> twins = random.twins(25);
    for (const testing::Twin& twin : twins) {
      const double expected = twin.value, got = testing::value_of(twin.expr, random.values());
      EXPECT_NEAR(got, expected, 1e-11 * std::max(1.0, std::fabs(expected))) << seed << ": " << to_text(twin.expr);
    }
  }
}

TEST(Simplify, FusingKeepsValuesToRoundOffAndIgnoresOtherUsers) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Graph g;
    testing::RandomGraph random(g, seed, 0);
    const Expr e = random.expression(30), other = random.expression(10);
    const Expr fused = fuse_multiply_add({e})[0];
    EXPECT_TRUE(fuse_multiply_add({other, e * other, e})[2].same_as(fused));
    const double expected = testing::value_of(e, random.values());
    EXPECT_NEAR(testing::value_of(fused, random.values()), expected, 1e-9 * std::max(1.0, std::fabs(expected)));
  }
}

TEST_F(Graphs, FuseForms) {
  const Expr b = g.field("b"), c = g.field("c");
  const auto fma = [&](Expr x, Expr y, Expr z) { return g.make(Op::fma, {x, y, z}); };
  const auto fused = [](Expr e) { return fuse_multiply_add({e})[0]; };
  EXPECT_TRUE(fused(u * v + c).same_as(fma(u, v, c)));
  EXPECT_TRUE(fused(c + u * v).same_as(fma(u, v, c)));
  EXPECT_TRUE(fused(u * v - c).same_as(fma(u, v, -c)));
  EXPECT_TRUE(fused(c - u * v).same_as(fma(-u, v, c)));
  EXPECT_TRUE(fused(u * v + b * c).same_as(fma(b, c, u * v))) << "the right product is fused";
}

TEST_F(Graphs, TextIsReadable) {
  EXPECT_EQ(to_text(a * (g.field("u", {-1, 0, 0}) - 2.0 * u + g.field("u", {1, 0, 0}))), "a*(u[x-1] - 2*u + u[x+1])");
  EXPECT_EQ(to_text(u - (v + a)), "u - (v + a)");
  EXPECT_EQ(to_text(u / (v * a)), "u/(v*a)");
  EXPECT_EQ(to_text(-(u * v)), "-u*v");
  EXPECT_EQ(to_text(pow(u + 1.0, 2.0)), "(1 + u)^2");
  EXPECT_EQ(to_text(pow(u, a)), "u^a");
  EXPECT_EQ(to_text(g.constant(1.0 / 3) * u), "0.333333*u");
  EXPECT_EQ(to_text(where(u < v, u, zero)), "where(u < v, u, 0)");
  EXPECT_EQ(to_text(g.field("u", {-1, 2, 0})), "u[x-1,y+2]");
  EXPECT_EQ(to_text(div_grad(a, u) + derivative(u, 1, 2)), "div(a*grad(u)) + dyy(u)");
}

TEST(Print, TextParsesBackToTheSameValue) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Graph g;
    testing::RandomGraph random(g, seed, 0);
    const Expr e = random.expression(12);
    Scope scope;
    scope.scalars = {"p", "q"};
    scope.fields = {"u", "v"};
    const std::string text = to_text(e);
    if (text.find("...") != std::string::npos || text.find("sign(") != std::string::npos) continue;
    const double expected = testing::value_of(e, random.values());
    EXPECT_NEAR(testing::value_of(parse(g, text, scope, {}), random.values()), expected,
                1e-4 * std::max(1.0, std::fabs(expected)))
        << text;
  }
}

TEST(Print, LongSumsDoNotOverflowTheStack) {
  Graph g;
  Expr e = g.field("u");
  for (int i = 0; i < 200000; ++i) e = sin(e);
  EXPECT_FALSE(to_text(e).empty());
}

TEST(Print, FlopsCountSharedNodesOnceAndOnlyWhatVaries) {
  Graph g;
  const Expr u = g.field("u"), p = g.scalar("p");
  EXPECT_EQ(flops({u * u}), 1);
  EXPECT_EQ(flops({u * u + u * u * p}), 3);
  EXPECT_EQ(flops({p * p + p}), 0);
  EXPECT_EQ(flops({g.make(Op::fma, {u, u, p})}), 2);
}

}  // namespace
}  // namespace hindsight

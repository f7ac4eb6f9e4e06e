#include "solvers/equations/derive.hpp"

#include <gtest/gtest.h>

#include "solvers/equations/discretise.hpp"
#include "solvers/equations/simplify.hpp"
#include "tests/equations/periodic_grid.hpp"
#include "tests/equations/random_graph.hpp"

namespace hindsight {
namespace {

using testing::PeriodicGrid;
using testing::Values;

/// Values of a function of u and v, of its tangent, and of its adjoint with seed 1.
struct Point {
  double value = 0.0, tangent = 0.0, u_bar = 0.0, v_bar = 0.0;
};

Point differentiate(const std::string& text, double u, double v, double du, double dv) {
  Graph graph;
  Scope scope;
  scope.fields = {"u", "v"};
  const Expr e = parse(graph, text, scope, {});
  const Expr dot = tangent({e}, {{true, "u", "du"}, {true, "v", "dv"}})[0];
  const Adjoint bar = adjoint({e}, {graph.constant(1.0)}, {"u", "v"}, {});
  const std::map<std::string, double> at{{"u", u}, {"v", v}, {"du", du}, {"dv", dv}};
  return {testing::value_of(e, at), testing::value_of(dot, at), testing::value_of(bar.fields[0], at),
          testing::value_of(bar.fields[1], at)};
}

TEST(Derive, EveryOperationAgreesWithDifferences) {
  for (const char* text : {"-u",
                           "u + v",
                           "u - v",
                           "u*v",
                           "u/v",
                           "u*u",
                           "u^3",
                           "u^-2",
                           "u^0.5",
                           "u^2.5",
                           "u^v",
                           "2.5^v",
                           "min(u, v)",
                           "max(u, v)",
                           "min(v, u)",
                           "max(v, u)",
                           "abs(u)",
                           "abs(-u*v)",
                           "sqrt(u)",
                           "exp(u*v)",
                           "log(u)",
                           "sin(u*v)",
                           "cos(u*v)",
                           "tan(u)",
                           "tanh(u*v)",
                           "where(u < v, u*v, v^2)",
                           "where(u > v, u*v, v^2)",
                           "where(u > 0 and not v < 0, sin(u)*v, u)",
                           "(u < v)*u",
                           "exp(-u^2/v)/(1 + u*v)"}) {
    const double u = 0.8, v = 1.7, du = 0.6, dv = -1.1, h = 1e-4;
    const auto at = [&](double s) { return differentiate(text, u + s * du, v + s * dv, du, dv).value; };
    // fourth order
    const double expected = (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h);
    const Point p = differentiate(text, u, v, du, dv);
    EXPECT_NEAR(p.tangent, expected, 1e-10 * std::max(1.0, std::fabs(expected))) << text;
    EXPECT_NEAR(p.u_bar * du + p.v_bar * dv, p.tangent, 1e-14 * std::max(1.0, std::fabs(expected))) << text;
  }
}

TEST(Derive, TiesTakeTheFirstBranch) {
  const Point low = differentiate("min(u, v)", 1.0, 1.0, 3.0, 5.0),
              high = differentiate("max(u, v)", 1.0, 1.0, 3.0, 5.0);
  EXPECT_EQ(low.tangent, 3.0);
  EXPECT_EQ(high.tangent, 3.0);
  EXPECT_EQ(low.u_bar, 1.0);
  EXPECT_EQ(low.v_bar, 0.0);
  EXPECT_EQ(high.u_bar, 1.0);
  EXPECT_EQ(high.v_bar, 0.0);
  EXPECT_EQ(differentiate("abs(u)", 0.0, 1.0, 3.0, 5.0).tangent, 0.0);
}

TEST(Derive, BranchesNotTakenContributeExactZeros) {
  for (const char* text :
       {"where(u > 0, sqrt(u), 0)", "where(u > 0, log(u)*v, 0)", "where(u > 0, v/u, 0)", "where(u <= 0, 0, 1/sqrt(u))",
        "sqrt(where(u > 0, u, 0))", "v*where(u > 0, log(u), 0)^2", "exp(where(u > 0, log(u)*u, 0))",
        "where(u > 0, sqrt(u), 0) + where(u > 1, sqrt(u), 0)", "sqrt(where(u > 0, u, 0) + where(u > 1, u^2, 0))",
        "where(u > 1, sqrt(u), where(u > 0, log(u), 0))", "sqrt(where(u > 1, u, where(u > 0, u^2, 0)))",
        "sqrt(where(u <= 0, 0, u))", "sqrt(v*where(u > 0, u, 0) - where(u > 1, u, 0))",
        "where(u > 0, where(u > 1, log(u), 0) + sqrt(u), 0)", "sqrt(-where(u > 0, -u, 0)/v)",
        "where(u > 0 and v > 0, u^v, 0)", "where(u > 0, u^0.3*v, 0)", "abs(where(u > 0, sqrt(u), 0))"}) {
    for (double u : {-1.0, 0.0}) {
      const Point p = differentiate(text, u, 1.5, 1.0, 0.0);
      EXPECT_EQ(p.tangent, 0.0) << text << " at " << u;
      EXPECT_EQ(p.u_bar, 0.0) << text << " at " << u;
      EXPECT_EQ(p.v_bar, 0.0) << text << " at " << u;
    }
    const double u = 1.3, h = 1e-6;
    const double expected = (differentiate(text, u + h, 1.5, 1, 0).value - differentiate(text, u - h, 1.5, 1, 0).value);
    const Point p = differentiate(text, u, 1.5, 1.0, 0.0);
    EXPECT_NEAR(p.tangent, expected / (2 * h), 1e-8) << text;
    EXPECT_NEAR(p.u_bar, p.tangent, 1e-14 * std::fabs(p.tangent)) << text;
  }
}

TEST(Derive, APowerOfZeroHasNoSlopeInItsExponent) {
  const Point p = differentiate("u^v", 0.0, 2.0, 0.0, 1.0);
  EXPECT_EQ(p.tangent, 0.0);
  EXPECT_EQ(p.v_bar, 0.0);
}

TEST(Derive, RandomExpressionsAgreeWithDifferencesAndWithTheirAdjoints) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Graph graph;
    testing::RandomGraph random(graph, seed, 0);
    const Expr e = random.expression(25);
    const Expr dot = tangent({e}, {{true, "u", "du"}, {true, "v", "dv"}, {false, "p", "dp"}})[0];
    const Adjoint bar = adjoint({e}, {graph.constant(1.0)}, {"u", "v"}, {"p"});
    std::map<std::string, double> at = random.values();
    at.insert({{"du", 0.3}, {"dv", -0.7}, {"dp", 1.1}});
    const double forward = testing::value_of(dot, at);
    const double reverse = 0.3 * testing::value_of(bar.fields[0], at) - 0.7 * testing::value_of(bar.fields[1], at) +
                           1.1 * testing::value_of(bar.scalars[0], at);
    EXPECT_NEAR(forward, reverse, 1e-11 * std::max(1.0, std::fabs(forward))) << seed;
    const auto moved = [&](double s) {
      auto there = at;
      there["u"] += 0.3 * s, there["v"] -= 0.7 * s, there["p"] += 1.1 * s;
      return testing::value_of(e, there);
    };
    const double h = 1e-6, expected = (moved(h) - moved(-h)) / (2 * h);
    if (std::fabs(expected) < 1e3) {
      EXPECT_NEAR(forward, expected, 1e-4 * std::max(1.0, std::fabs(expected))) << seed;
    }
  }
}

/// Node by node, not only in value.
TEST(Derive, PartialsAreTangentsForADirectionOfOne) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Graph graph;
    testing::RandomGraph random(graph, seed, 0);
    std::vector<Expr> roots;
    for (const testing::Twin& twin : random.twins(25)) roots.push_back(twin.expr);
    Partials partials(roots);
    for (const char* field : {"u", "v"}) {
      const Expr dual = graph.field("d");
      const std::vector<Expr> found = partials.with_respect_to(field, {0, 0, 0}, "d"),
                              expected = substitute(tangent(roots, {{true, field, "d"}}), [&](const Node&node) {
                                const bool is_dual = node.op == Op::field && node.symbol == dual.node().symbol;
                                return is_dual ? graph.constant(1.0) : Expr();
                              });
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t r = 0; r < found.size(); ++r) EXPECT_TRUE(found[r].same_as(expected[r])) << seed << " " << r;
    }
  }
}

TEST(Derive, WhatNothingDependsOnIsTheConstantZero) {
  Graph graph;
  const Expr u = graph.field("u");
  (void)graph.field("w");
  const Adjoint bar = adjoint({sin(u) * graph.coordinate(0)}, {graph.field("lambda")}, {"w", "nowhere"}, {"p"});
  EXPECT_TRUE(bar.fields[0].is_constant(0.0));
  EXPECT_TRUE(bar.fields[1].is_constant(0.0));
  EXPECT_TRUE(bar.scalars[0].is_constant(0.0));
  EXPECT_TRUE(tangent({sin(u)}, {{true, "w", "dw"}})[0].is_constant(0.0));
}

TEST(Derive, TheAdjointOfAStencilIsAGather) {
  Graph graph;
  const Expr e = graph.field("u", {1, 0, 0}) * graph.field("k");
  const Adjoint bar = adjoint({e}, {graph.field("lambda")}, {"u", "k"}, {});
  EXPECT_TRUE(bar.fields[0].same_as(graph.field("lambda", {-1, 0, 0}) * graph.field("k", {-1, 0, 0})));
  EXPECT_TRUE(bar.fields[1].same_as(graph.field("lambda") * graph.field("u", {1, 0, 0})));
}

struct System {
  const char* name;
  int dimensions;
  int order;
  std::vector<const char*> equations;  ///< of u and, if there are two, v
};

void PrintTo(const System& system, std::ostream* out) {
  *out << system.name << " of order " << system.order;
}

class SystemDerivatives : public ::testing::TestWithParam<System> {
 protected:
  SystemDerivatives() {
    const System& system = GetParam();
    grid.cells = system.dimensions == 1 ? std::array<int, 3>{40, 1, 1} : std::array<int, 3>{12, 11, 1};
    grid.spacing = {0.5, 0.4, 1.0};
    Scope scope;
    scope.dimensions = system.dimensions;
    scope.scalars = {"a", "b"};
    scope.fields = {"u", "v", "kappa"};
    std::vector<Expr> roots;
    for (const char* text : system.equations) roots.push_back(parse(graph, text, scope, {}));
    right = discretise(roots, {system.dimensions, grid.spacing, system.order, FaceMean::arithmetic});
    unsigned seed = 1;
    for (const std::string name : {"u", "v", "kappa"}) {
      grid.fields[name] = grid.random(seed++, 0.4, 1.6);
      grid.fields[name + ".dot"] = grid.random(seed++, -1.0, 1.0);
      grid.fields[name + ".dot2"] = grid.random(seed++, -1.0, 1.0);
    }
    for (const std::string name : {"u", "v"}) {
      grid.fields["lambda." + name] = grid.random(seed++, -1.0, 1.0);
      grid.fields["lambda." + name + ".dot"] = grid.random(seed++, -1.0, 1.0);
    }
    grid.scalars = {{"a", 0.7}, {"b", 1.3}, {"a.dot", -0.6}, {"b.dot", 0.9}};
  }

  std::vector<Expr> lambdas() {
    std::vector<Expr> all{graph.field("lambda.u"), graph.field("lambda.v")};
    all.resize(right.size(), graph.constant(0.0));
    return all;
  }

  std::vector<Seed> seeds(bool with_lambdas) const {
    std::vector<Seed> all{{false, "a", "a.dot"}, {false, "b", "b.dot"}};
    for (const std::string name : {"u", "v", "kappa"}) all.push_back({true, name, name + ".dot"});
    if (with_lambdas)
      for (const std::string name : {"lambda.u", "lambda.v"}) all.push_back({true, name, name + ".dot"});
    return all;
  }

  /// The grid with everything moved by s along its dot.
  PeriodicGrid moved(double s, bool with_lambdas) const {
    PeriodicGrid there = grid;
    for (const Seed& seed : seeds(with_lambdas)) {
      if (!seed.is_field) {
        there.scalars[seed.name] += s * there.scalars.at(seed.dual);
        continue;
      }
      for (std::size_t i = 0; i < grid.size(); ++i) there.fields[seed.name][i] += s * there.fields.at(seed.dual)[i];
    }
    return there;
  }

  /// Order at which (f(+s) - f(-s))/2s tends to `expected`; high when the difference is round-off already.
  double order_of_differences(const std::vector<Expr>& f, const std::vector<Values>& expected,
                              bool with_lambdas) const {
    const auto error = [&](double s) {
      const auto up = moved(s, with_lambdas).evaluate(f), down = moved(-s, with_lambdas).evaluate(f);
      double sum = 0.0, size = 0.0;
      for (std::size_t r = 0; r < f.size(); ++r)
        for (std::size_t i = 0; i < up[r].size(); ++i) {
          sum += std::pow((up[r][i] - down[r][i]) / (2.0 * s) - expected[r][i], 2);
          size += std::pow(expected[r][i], 2);
        }
      return std::sqrt(sum / size);
    };
    const double coarse = error(4e-4), fine = error(2e-4);
    return fine < 1e-11 ? 99.0 : std::log2(coarse / fine);
  }

  Graph graph;
  PeriodicGrid grid;
  std::vector<Expr> right;
};

TEST_P(SystemDerivatives, DotProductsAgree) {
  const std::vector<Expr> lambda = lambdas();
  const Adjoint bar = adjoint(right, lambda, {"u", "v", "kappa"}, {"a", "b"});
  const std::vector<Values> jv = grid.evaluate(tangent(right, seeds(false)));
  double left = 0.0, right_side = 0.0, size = 0.0;
  for (std::size_t r = 0; r < jv.size(); ++r) {
    const Values w = grid.evaluate(lambda[r]);
    left += testing::dot(jv[r], w);
    for (std::size_t i = 0; i < w.size(); ++i) size += std::fabs(jv[r][i] * w[i]);
  }
  const std::vector<std::string> fields{"u", "v", "kappa"}, scalars{"a", "b"};
  for (std::size_t f = 0; f < fields.size(); ++f)
    right_side += testing::dot(grid.evaluate(bar.fields[f]), grid.fields[fields[f] + ".dot"]);
  for (std::size_t s = 0; s < scalars.size(); ++s)
    for (double cell : grid.evaluate(bar.scalars[s])) right_side += cell * grid.scalars[scalars[s] + ".dot"];
  EXPECT_NEAR(left, right_side, 1e-14 * size);
  EXPECT_NEAR(left, right_side, 1e-13 * std::fabs(left));
}

TEST_P(SystemDerivatives, TheTangentIsTheLimitOfDifferences) {
  const std::vector<Values> dot = grid.evaluate(tangent(right, seeds(false)));
  EXPECT_GT(order_of_differences(right, dot, false), 1.9);
}

TEST_P(SystemDerivatives, TheTangentOfTheAdjointIsTheLimitOfItsDifferences) {
  const Adjoint bar = adjoint(right, lambdas(), {"u", "v", "kappa"}, {"a", "b"});
  std::vector<Expr> f = bar.fields;
  f.insert(f.end(), bar.scalars.begin(), bar.scalars.end());
  EXPECT_GT(order_of_differences(f, grid.evaluate(tangent(f, seeds(true))), true), 1.9);
}

TEST_P(SystemDerivatives, ReachIsWhatIsRead) {
  const int fields = static_cast<int>(graph.fields().size());
  const std::vector<Reach> state = reach(right);
  const Adjoint bar = adjoint(right, lambdas(), {"u"}, {});
  const std::vector<Reach> adjoint_reach = reach(bar.fields);
  ASSERT_EQ(state.size(), static_cast<std::size_t>(fields));
  const auto lambda = static_cast<std::size_t>(graph.field_index("lambda.u"));
  const auto u = static_cast<std::size_t>(graph.field_index("u"));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    EXPECT_LE(adjoint_reach[lambda].depth[axis], state[u].depth[axis]) << "lambda is read to the stencil's radius";
    EXPECT_LE(adjoint_reach[u].depth[axis], 2 * state[u].depth[axis]) << "the state to twice that";
  }
}

std::vector<System> systems() {
  std::vector<System> all;
  for (int order : {2, 4, 6, 8}) {
    all.push_back({"gray-scott", 2, order, {"a*lap(u) - u*v^2 + b*(1 - u)", "b*lap(v) + u*v^2 - (a + b)*v"}});
    all.push_back({"nonlinear diffusion", 2, order, {"div((1 + u^2)*grad(u))"}});
    all.push_back({"diffusion with a parameter field", 2, order, {"div(kappa*u*grad(u)) + a*kappa*v"}});
    all.push_back({"burgers", 1, order, {"-upwind(u - b, u, x) + a*dxx(u)"}});
  }
  all.push_back({"branches", 1, 2, {"where(u > 1, u*dx(u), min(u, v)*dxx(u)) + abs(dx(v)) + max(dx(u), a*v)", "u^a"}});
  all.push_back({"mixed derivative", 2, 2, {"a*dx(dy(u)) + u*dx(dy(u*kappa))"}});
  all.push_back({"coordinates", 2, 4, {"dx(x*u) + sin(y)*dy(u*v)/(b + u^2)"}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Derive, SystemDerivatives, ::testing::ValuesIn(systems()));

}  // namespace
}  // namespace hindsight

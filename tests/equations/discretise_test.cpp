#include "solvers/equations/discretise.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "tests/equations/periodic_grid.hpp"

namespace hindsight {
namespace {

using testing::PeriodicGrid;
using testing::Values;

constexpr double tau = 2.0 * std::numbers::pi;

PeriodicGrid line(int n) {
  PeriodicGrid grid;
  grid.cells = {n, 1, 1};
  grid.spacing = {1.0 / n, 1.0, 1.0};
  return grid;
}

Stencils stencils_of(const PeriodicGrid& grid, int dimensions, int order, FaceMean mean = FaceMean::arithmetic) {
  return {dimensions, grid.spacing, order, mean};
}

double largest(const Values& a, const Values& b) {
  double error = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) error = std::max(error, std::fabs(a[i] - b[i]));
  return error;
}

/// Slope of log(error) between grids of n and 2n cells.
template <class Error>
double slope(Error error, int n) {
  return std::log2(error(n) / error(2 * n));
}

/// Largest error of an operator on u = sin(2 pi x) against its exact value.
template <class Build, class Exact>
double error_1d(int n, int order, Build build, Exact exact) {
  PeriodicGrid grid = line(n);
  grid.fields["u"] = grid.sample([](double x, double, double) { return std::sin(tau * x); });
  Graph graph;
  const std::vector<Expr> roots = discretise({build(graph.field("u"))}, stencils_of(grid, 1, order));
  return largest(grid.evaluate(roots)[0], grid.sample([&](double x, double, double) { return exact(x); }));
}

TEST(Discretise, CentralDifferencesHaveTheirOrder) {
  for (int order : {2, 4, 6, 8}) {
    const auto first = [&](int n) {
      return error_1d(
          n, order, [](Expr u) { return derivative(u, 0, 1); }, [](double x) { return tau * std::cos(tau * x); });
    };
    const auto second = [&](int n) {
      return error_1d(
          n, order, [](Expr u) { return derivative(u, 0, 2); },
          [](double x) { return -tau * tau * std::sin(tau * x); });
    };
    const int n = order == 8 ? 16 : 24;
    EXPECT_NEAR(slope(first, n), order, 0.1);
    EXPECT_NEAR(slope(second, n), order, 0.1);
  }
}

TEST(Discretise, WeightsDifferentiatePolynomialsExactly) {
  for (int derivative : {1, 2})
    for (int order : {2, 4, 6, 8}) {
      const std::vector<double> w = central_weights(derivative, order);
      ASSERT_EQ(w.size(), static_cast<std::size_t>(order + 1));
      for (int power = 0; power < order + derivative; ++power) {
        double sum = 0.0;
        for (int m = -order / 2; m <= order / 2; ++m)
          sum += w[static_cast<std::size_t>(m + order / 2)] * std::pow(m, power);
        EXPECT_NEAR(sum, power == derivative ? derivative : 0.0, 1e-10 * std::pow(4.0, power)) << order << " " << power;
      }
    }
}

TEST(Discretise, DifferencesAlongEachAxisUseItsSpacing) {
  PeriodicGrid grid;
  grid.cells = {8, 10, 12};
  grid.spacing = {0.5, 0.25, 2.0};
  grid.coordinates_repeat = false;
  Graph graph;
  const Expr x = graph.coordinate(0), y = graph.coordinate(1), z = graph.coordinate(2);
  const Expr f = x * x + 3.0 * (y * y) + 5.0 * (z * z) + x * y * z;
  for (int order : {2, 4, 6, 8}) {
    const std::vector<Expr> roots =
        discretise({laplacian(f, 3), derivative(derivative(f, 0, 1), 1, 1), grad2(f, 3)}, stencils_of(grid, 3, order));
    const std::vector<Values> got = grid.evaluate(roots);
    EXPECT_LT(largest(got[0], Values(grid.size(), 18.0)), 1e-9);
    EXPECT_LT(largest(got[1], grid.sample([](double, double, double c) { return c; })), 1e-9);
    const Values square = grid.sample([](double a, double b, double c) {
      return std::pow(2 * a + b * c, 2) + std::pow(6 * b + a * c, 2) + std::pow(10 * c + a * b, 2);
    });
    for (std::size_t i = 0; i < square.size(); ++i) EXPECT_NEAR(got[2][i] / square[i], 1.0, 1e-11);
  }
}

TEST(Discretise, WhatDoesNotVaryHasNoDerivative) {
  Graph graph;
  const Expr p = graph.scalar("p"), y = graph.coordinate(1);
  for (int order : {2, 4, 6, 8}) {
    const Stencils stencils{2, {0.1, 0.1, 1.0}, order, FaceMean::arithmetic};
    for (Expr e : discretise(
             {derivative(p, 0, 1), derivative(p, 0, 2), derivative(sin(y) * p, 0, 2), div_grad(graph.field("u"), p)},
             stencils))
      EXPECT_TRUE(e.is_constant(0.0));
  }
}

Expr coefficient(Expr u) {
  return 1.0 + u * u;
}

TEST(Discretise, DiffusionConvergesWithItsOrder) {
  for (int order : {2, 4, 6, 8}) {
    const auto error = [&](int n) {
      return error_1d(
          n, order, [](Expr u) { return div_grad(coefficient(u), u); },
          [](double x) {
            const double s = std::sin(tau * x), c = std::cos(tau * x);
            return tau * tau * (2 * s * c * c - (1 + s * s) * s);
          });
    };
    EXPECT_NEAR(slope(error, order == 8 ? 32 : 40), order, 0.25) << order;
  }
}

TEST(Discretise, DiffusionConservesToRoundOff) {
  PeriodicGrid grid;
  grid.cells = {12, 10, 11};
  grid.spacing = {0.1, 0.2, 0.15};
  grid.fields["u"] = grid.random(1, 0.0, 1.0);
  grid.fields["k"] = grid.random(2, 0.5, 2.0);
  for (int order : {2, 4, 6, 8}) {
    Graph graph;
    const Expr u = graph.field("u"), k = graph.field("k");
    const Values rate = grid.evaluate(discretise({div_grad(k * coefficient(u), u)}, stencils_of(grid, 3, order)))[0];
    double sum = 0.0, size = 0.0;
    for (double r : rate) sum += r, size += std::fabs(r);
    EXPECT_LT(std::fabs(sum), 1e-14 * size) << order;
  }
}

TEST(Discretise, DiffusionIsSelfAdjointForAGivenCoefficient) {
  PeriodicGrid grid = line(24);
  grid.fields["k"] = grid.random(1, 0.5, 2.0);
  grid.fields["u"] = grid.random(2, -1.0, 1.0);
  grid.fields["v"] = grid.random(3, -1.0, 1.0);
  for (int order : {2, 4, 6, 8}) {
    Graph graph;
    const Expr k = graph.field("k"), u = graph.field("u"), v = graph.field("v");
    const std::vector<Values> a =
        grid.evaluate(discretise({div_grad(k, u), div_grad(k, v)}, stencils_of(grid, 1, order)));
    const double left = testing::dot(a[0], grid.fields["v"]), right = testing::dot(a[1], grid.fields["u"]);
    EXPECT_NEAR(left, right, 1e-12 * std::fabs(left)) << order;
  }
}

TEST(Discretise, HarmonicMeansHoldTheFluxThroughAJump) {
  PeriodicGrid grid = line(4);
  grid.fields["k"] = {1.0, 3.0, 0.0, 0.0};
  grid.fields["u"] = {0.0, 1.0, 5.0, 9.0};
  Graph graph;
  const Expr e = div_grad(graph.field("k"), graph.field("u"));
  const Values got = grid.evaluate(discretise({e}, stencils_of(grid, 1, 2, FaceMean::harmonic)))[0];
  const double flux = 2.0 * 1.0 * 3.0 / (1.0 + 3.0) * 16.0;  // the only open face
  EXPECT_DOUBLE_EQ(got[0], flux);
  EXPECT_DOUBLE_EQ(got[1], -flux);
  EXPECT_EQ(got[2], 0.0) << "two insulating cells";
  EXPECT_EQ(got[3], 0.0);
  EXPECT_THROW(discretise({e}, stencils_of(grid, 1, 4, FaceMean::harmonic)), InputError);
}

TEST(Discretise, UpwindLooksAgainstTheVelocity) {
  PeriodicGrid grid = line(8);
  grid.fields["u"] = grid.random(5, -1.0, 1.0);
  const auto at = [&](int i) { return grid.fields["u"][static_cast<std::size_t>(PeriodicGrid::wrap(i, 8))]; };
  for (double velocity : {2.0, -2.0, 0.0}) {
    grid.scalars["c"] = velocity;
    Graph graph;
    const Values got =
        grid.evaluate(discretise({upwind(graph.scalar("c"), graph.field("u"), 0)}, stencils_of(grid, 1, 2)))[0];
    for (int i = 0; i < 8; ++i) {
      const double difference = velocity > 0 ? at(i) - at(i - 1) : at(i + 1) - at(i);
      EXPECT_NEAR(got[static_cast<std::size_t>(i)], velocity * difference * 8.0, 1e-13);
    }
  }
}

TEST(Discretise, UpwindOrdersAreOneAndThree) {
  for (double velocity : {1.0, -1.0})
    for (int order : {2, 4}) {
      const auto error = [&](int n) {
        return error_1d(
            n, order, [&](Expr u) { return upwind(u.graph().constant(velocity), u, 0); },
            [&](double x) { return velocity * tau * std::cos(tau * x); });
      };
      EXPECT_NEAR(slope(error, 80), order == 2 ? 1.0 : 3.0, 0.1);
    }
}

TEST(Discretise, DerivativesNestedTooDeeplyAreAnError) {
  Graph graph;
  Expr e = graph.field("u");
  for (int i = 0; i < 60; ++i) e = laplacian(e * e, 3);
  EXPECT_THROW(discretise({e}, {3, {1.0, 1.0, 1.0}, 2, FaceMean::arithmetic}), InputError);
}

}  // namespace
}  // namespace hindsight

// Right gradients pass wherever they are asked for, mistakes do not, kinks are told from mistakes, and what round-off
// hides is said to be hidden.
#include "adjoint/check/gradient_check.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace hindsight {
namespace {

using Point = std::vector<double>;

/// A function with a gradient and a tangent model that may be wrong, or round off.
struct Toy {
  std::function<double(const Point&)> f;
  std::function<Point(const Point&)> gradient;
  double adjoint_error = 0.0, common_error = 0.0;  ///< relative
  double round_off = 0.0;  ///< of the tangent model, relative; another at every point and in every direction
  double left = 0.0;       ///< what solvers make of the adjoint, of about a direction's size: the same nearby
  double looser = 1.0;     ///< they leave this many times as much
  std::int64_t steps = 100;
  int objectives = 0, tangents = 0, gradients = 0;  ///< that were asked for

  CheckedProgram program() {
    CheckedProgram p;
    p.objective = [this](const UnknownValues& at) {
      ++objectives;
      return f(at[0]);
    };
    p.tangent = [this](const UnknownValues& at, const UnknownValues& v) {
      ++tangents;
      std::uint64_t seed = 1;
      for (const auto* values : {&at[0], &v[0]})
        for (const double x : *values) seed = seed * 6364136223846793005U + std::bit_cast<std::uint64_t>(x);
      std::mt19937_64 random(seed);
      const double rounded = std::uniform_real_distribution<double>(-1, 1)(random) * round_off;
      return dot(gradient(at[0]), v[0]) * (1 + common_error) * (1 + rounded);
    };
    p.gradient = [this](const UnknownValues& at) {
      ++gradients;
      return std::pair(f(at[0]), UnknownValues{adjoint(at[0])});
    };
    p.dot = [](const UnknownValues& a, const UnknownValues& b) { return dot(a[0], b[0]); };
    p.steps = steps;
    p.solved_to = left > 0.0 ? 1e-12 : 0.0;
    p.loosen_solvers = [this](double factor) { looser = factor; };
    return p;
  }

  DirectionCheck check(const Point& at, const Point& direction) {
    Point around = at;
    for (std::size_t i = 0; i < at.size(); ++i)
      around[i] = (0.6 + 0.1 * static_cast<double>(i % 4)) * (at[i] == 0.0 ? 1.0 : at[i]);
    GradientCheck check(program(), {at}, f(at), {adjoint(at)}, {around});
    return check.check({direction});
  }

 private:
  Point adjoint(const Point& at) const {
    Point all = gradient(at);
    for (double& value : all) value = value * (1 + common_error) * (1 + adjoint_error) + left * looser;
    return all;
  }
  static double dot(const Point& a, const Point& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
};

Toy smooth() {
  return {
      [](const Point& x) { return std::exp(x[0]) * std::sin(x[1]) + x[0] * x[1] * x[1]; },
      [](const Point& x) {
        return Point{std::exp(x[0]) * std::sin(x[1]) + x[1] * x[1], std::exp(x[0]) * std::cos(x[1]) + 2 * x[0] * x[1]};
      }};
}

Toy square(double minimum) {
  return {[=](const Point& x) { return (x[0] - minimum) * (x[0] - minimum); },
          [=](const Point& x) { return Point{2 * (x[0] - minimum)}; }};
}

/// |x - at|, with a slope beside it.
Toy corner(double at) {
  return {[=](const Point& x) { return std::fabs(x[0] - at) + 0.5 * x[0]; },
          [=](const Point& x) { return Point{(x[0] < at ? -1 : 1) + 0.5}; }};
}

const Point here{0.7, 1.2}, there{0.4, -0.9};

TEST(GradientCheck, RightGradientsCostFewRuns) {
  Toy toy = smooth();
  const DirectionCheck check = toy.check(here, there);
  EXPECT_EQ(check.verdict(), Verdict::right);
  EXPECT_LT(check.with_tangent.seen, 1e-14);
  EXPECT_LT(check.with_differences.allowed, 1e-7);
  EXPECT_NEAR(check.remainders.order, 2.0, 0.1);
  EXPECT_LE(toy.objectives, 10 + 12);
  EXPECT_EQ(toy.tangents, 1);
  EXPECT_EQ(toy.gradients, 0);
}

TEST(GradientCheck, AnyDistanceFromAMinimumIsRight) {
  for (double distance = 0.5; distance > 1e-18; distance /= 3)
    for (const double offset : {0.0, 1.0}) {
      Toy toy = square(1.0);
      const auto f = toy.f;
      toy.f = [=](const Point& x) { return f(x) + offset; };
      EXPECT_EQ(toy.check({1.0 + distance}, {1.0}).verdict(), Verdict::right) << distance << " " << offset;
      toy.common_error = 1e-2;
      EXPECT_EQ(toy.check({1.0 + distance}, {1.0}).verdict(), Verdict::wrong) << distance << " " << offset;
      toy.common_error = 0.0;
      toy.adjoint_error = 1e-6;
      EXPECT_EQ(toy.check({1.0 + distance}, {1.0}).verdict(), Verdict::wrong) << distance << " " << offset;
    }
}

TEST(GradientCheck, MistakesOfTheAdjointAreSeenAboveRoundOff) {
  for (const double round_off : {0.0, 1e-15, 1e-13, 1e-11, 3e-10}) {
    Toy toy = smooth();
    toy.round_off = round_off;
    EXPECT_EQ(toy.check(here, there).verdict(), Verdict::right) << round_off;
    for (const double error : {1e-6, -1e-6, 1e-3}) {
      toy.adjoint_error = error;
      const DirectionCheck check = toy.check(here, there);
      EXPECT_EQ(check.with_tangent.verdict, Verdict::wrong) << round_off << " " << error;
      EXPECT_NEAR(check.with_tangent.seen, std::fabs(error), 0.01 * std::fabs(error));
      EXPECT_LT(check.with_tangent.allowed, 1e-7);
    }
  }
}

/// What solvers leave is the same at all points nearby; that it grows with their tolerance tells it from a mistake.
TEST(GradientCheck, WhatSolversLeaveIsToldFromMistakes) {
  for (const double left : {1e-11, 1e-9}) {
    Toy toy = smooth();
    toy.left = left;
    EXPECT_EQ(toy.check(here, there).verdict(), Verdict::right) << left;
    for (const double error : {1e-6, -1e-3}) {
      toy.adjoint_error = error;
      const DirectionCheck check = toy.check(here, there);
      EXPECT_EQ(check.with_tangent.verdict, Verdict::wrong) << left << " " << error;
      EXPECT_LT(check.with_tangent.allowed, 1e-7);
    }
  }
}

TEST(GradientCheck, SolversThatHideAllAreSaid) {
  Toy toy = smooth();
  toy.left = 1e-6;
  const DirectionCheck check = toy.check(here, there);
  EXPECT_EQ(check.with_tangent.verdict, Verdict::hidden);
  EXPECT_GT(check.with_tangent.allowed, 1e-6);
}

/// What both models have in common only differences show.
TEST(GradientCheck, MistakesOfBothModelsAreSeen) {
  for (const double error : {1e-6, -1e-6, 1e-3, 1.0}) {
    Toy toy = smooth();
    toy.common_error = error;
    const DirectionCheck check = toy.check(here, there);
    EXPECT_EQ(check.with_tangent.verdict, Verdict::right);
    EXPECT_EQ(check.with_differences.verdict, Verdict::wrong) << error;
  }
}

TEST(GradientCheck, RoundOffThatHidesAllIsSaid) {
  Toy toy = smooth();
  toy.round_off = 1e-4;
  const DirectionCheck check = toy.check(here, there);
  EXPECT_EQ(check.verdict(), Verdict::hidden);
  EXPECT_EQ(check.with_tangent.verdict, Verdict::hidden);
  EXPECT_GT(check.with_tangent.allowed, 1e-6);

  Toy small = smooth();
  const auto f = small.f;
  small.f = [=](const Point& x) { return f(x) + 1e15; };
  const DirectionCheck hidden = small.check(here, there);
  EXPECT_EQ(hidden.with_tangent.verdict, Verdict::right);
  EXPECT_EQ(hidden.with_differences.verdict, Verdict::hidden);
  EXPECT_GT(hidden.with_differences.allowed, 1e-3);
}

TEST(GradientCheck, KinksAreToldFromMistakes) {
  for (const double at : {1.0, 1.0 + 1e-12, 1.0 - 1e-9}) {
    Toy toy = corner(at);
    EXPECT_EQ(toy.check({1.0}, {1.0}).verdict(), Verdict::kink) << at - 1;
    toy.common_error = 1e-2;
    EXPECT_EQ(toy.check({1.0}, {1.0}).verdict(), Verdict::wrong) << at - 1;
    toy.common_error = 0.0;
    toy.adjoint_error = 1e-6;
    EXPECT_EQ(toy.check({1.0}, {1.0}).verdict(), Verdict::wrong) << at - 1;
  }
}

/// The derivative of |x| at 0 is taken to be 0: differences from both sides tend to just that.
TEST(GradientCheck, KinksAreSeenWhereTheAdjointGivesTheMeanOfBothSides) {
  for (const double slope : {0.5, 0.0}) {
    Toy toy{[=](const Point& x) { return std::fabs(x[0] - 1) + slope * x[0]; },
            [=](const Point& x) { return Point{static_cast<double>((x[0] > 1) - (x[0] < 1)) + slope}; }};
    const DirectionCheck check = toy.check({1.0}, {1.0});
    EXPECT_EQ(check.verdict(), Verdict::kink) << slope;
    EXPECT_TRUE(check.is_between_sides()) << slope;
    EXPECT_EQ(toy.gradients, 0) << slope;
    toy.common_error = 1e-2;
    EXPECT_EQ(toy.check({1.0}, {1.0}).verdict(), slope == 0.0 ? Verdict::kink : Verdict::wrong) << slope;
  }
  EXPECT_FALSE(corner(1.0).check({1.0}, {1.0}).is_between_sides());
  EXPECT_FALSE(smooth().check(here, there).is_between_sides());
}

/// Bends that are sharp, but smooth: the second derivative is as large as steps are small.
TEST(GradientCheck, SharpBendsAreNoKinks) {
  for (double width = 1.0; width > 1e-6; width /= 3) {
    Toy toy{[=](const Point& x) { return std::hypot(x[0] - 1, width) + 0.5 * x[0]; },
            [=](const Point& x) { return Point{(x[0] - 1) / std::hypot(x[0] - 1, width) + 0.5}; }};
    for (const double offset : {0.0, 0.1, 1.0, 10.0}) {
      const DirectionCheck check = toy.check({1.0 + offset * width}, {1.0});
      EXPECT_NE(check.verdict(), Verdict::wrong) << width << " " << offset;
      if (width > 1e-3) {
        EXPECT_NE(check.verdict(), Verdict::kink) << width << " " << offset;
      }
    }
  }
}

/// As in a limiter where all slopes are zero: both sides agree, but not with a derivative that is linear.
TEST(GradientCheck, KinksInEveryDirectionAreSeenNearby) {
  const auto limited = [](double a, double b) { return a * b > 0 ? (std::fabs(a) < std::fabs(b) ? a : b) : 0.0; };
  Toy toy{[=](const Point& x) { return limited(x[0] - 1, x[1] - 1) + x[0] * x[1]; },
          [=](const Point& x) {
            const double a = x[0] - 1, b = x[1] - 1;
            const bool first = a * b > 0 && std::fabs(a)<std::fabs(b), second = a * b> 0 && !first;
            return Point{x[1] + (first ? 1.0 : 0.0), x[0] + (second ? 1.0 : 0.0)};
          }};
  const DirectionCheck check = toy.check({1.0, 1.0}, {0.5, 0.9});
  EXPECT_EQ(check.verdict(), Verdict::kink);
  EXPECT_NE(check.with_differences.away, 0.0);
  EXPECT_NEAR(derivative_ahead(check.samples).value, 1.9, 1e-6);
  EXPECT_NEAR(check.slope, 1.4, 1e-12);
  toy.common_error = 1e-2;
  EXPECT_EQ(toy.check({1.0, 1.0}, {0.5, 0.9}).verdict(), Verdict::wrong);
}

TEST(GradientCheck, WhatNothingDependsOnIsRight) {
  Toy toy{[](const Point&) { return 0.1; }, [](const Point&) { return Point{0.0}; }};
  const DirectionCheck check = toy.check({2.0}, {1.0});
  EXPECT_EQ(check.verdict(), Verdict::right);
  EXPECT_EQ(check.with_differences.seen, 0.0);
}

/// A derivative that is forgotten altogether.
TEST(GradientCheck, AZeroThatShouldNotBeIsWrong) {
  Toy toy{[](const Point& x) { return x[0] * x[0]; }, [](const Point&) { return Point{0.0}; }};
  EXPECT_EQ(toy.check({2.0}, {1.0}).verdict(), Verdict::wrong);
}

/// Steps that all round the same way add up to more than samples show.
TEST(GradientCheck, RoundOffOfOneSignIsAllowed) {
  Toy toy = smooth();
  toy.steps = 200000;
  toy.adjoint_error = 1.5e-12;
  EXPECT_EQ(toy.check(here, there).verdict(), Verdict::right);
  toy.adjoint_error = 1e-9;
  EXPECT_EQ(toy.check(here, there).verdict(), Verdict::wrong);
}

}  // namespace
}  // namespace hindsight

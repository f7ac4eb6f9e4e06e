// Inversions that come to nothing say so and take no more gradients; those that only look so go on.
#include "adjoint/inversion/inversion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

InversionResult invert_here(const InversionProblem& problem, const InversionSettings& settings) {
  return invert(problem, settings, Communicator(MPI_COMM_SELF), {});
}

/// A parabola with waves far shorter than what the search moves by; its derivative has others.
InversionProblem rough_parabola(double height, double length) {
  return {{3.0}, {-1e30}, {1e30}, [=](const std::vector<double>& x, std::vector<double>& g) {
            g = {2 * (x[0] - 1) + 0.3 * std::sin(x[0] / length + 1)};
            return 1000 + (x[0] - 1) * (x[0] - 1) + height * std::sin(x[0] / length);
          }};
}

/// TAO's line search calls steps found that lead nowhere, and would take as many as it is allowed.
TEST(Inversion, GivesUpWhereIterationsComeToNothing) {
  InversionSettings settings;
  settings.roughness = "it has waves";
  for (const double length : {1e-9, 1e-8, 1e-7})
    for (const double height : {1e-3, 1e-2, 0.1}) {
      const InversionResult result = invert_here(rough_parabola(height, length), settings);
      EXPECT_TRUE(result.gave_up && !result.converged);
      EXPECT_EQ(result.reason, "the line search found no better point (round-off, or a rough objective: it has waves)");
      EXPECT_LT(result.history.back().iteration, 20);
      EXPECT_NEAR(result.variables[0], 1.0, 0.2);
    }
}

/// Where nothing runs but the start and what is next to it; there the line search calls steps found that lead nowhere.
TEST(Inversion, SaysWhyTrialsFailed) {
  for (const double width : {0.0, 1e-15, 1e-13, 1e-11, 1e-9}) {
    const InversionProblem edge{{1.0}, {-1e30}, {1e30}, [=](const std::vector<double>& x, std::vector<double>& g) {
                                  if (std::abs(x[0] - 1.0) > width) throw NumericsError("no run there");
                                  g = {1.0};
                                  return 1.0;
                                }};
    const InversionResult result = invert_here(edge, {});
    EXPECT_TRUE(result.gave_up);
    EXPECT_EQ(result.reason,
              "the line search found no better point, and runs at some that it tried failed: no run there")
        << "width " << width;
  }
}

/// Behind so large a constant the objective tells nothing of the last iterations: the gradient does.
TEST(Inversion, GoesOnWhileTheGradientFalls) {
  const InversionProblem valley{
      {-1.2, 1.0}, {-1e30, -1e30}, {1e30, 1e30}, [](const std::vector<double>& x, std::vector<double>& g) {
        const double bend = x[1] - x[0] * x[0], rest = 1 - x[0];
        g = {-400 * x[0] * bend - 2 * rest, 200 * bend};
        return 1e4 + 100 * bend * bend + rest * rest;
      }};
  InversionSettings settings;
  settings.gradient = 1e-10;
  const InversionResult result = invert_here(valley, settings);
  EXPECT_TRUE(result.converged) << result.reason;
  EXPECT_NEAR(result.variables[0], 1.0, 1e-9);
}

/// In a valley of 40 directions, each steeper than the one before.
TEST(Inversion, CountsOnAsMuchHistoryAsIsAskedFor) {
  constexpr std::size_t count = 40;
  const InversionProblem valley{std::vector<double>(count, 1.0), std::vector<double>(count, -1e30),
                                std::vector<double>(count, 1e30),
                                [](const std::vector<double>& x, std::vector<double>& g) {
                                  double sum = 0.0;
                                  for (std::size_t i = 0; i < x.size(); ++i) {
                                    const double steep = std::pow(static_cast<double>(i + 1), 2.0);
                                    g[i] = steep * x[i];
                                    sum += 0.5 * steep * x[i] * x[i];
                                  }
                                  return sum;
                                }};
  for (const std::string method : {"lbfgs", "bqnls"}) {
    std::vector<std::int64_t> iterations;
    for (const std::int64_t history : {2, 30}) {
      InversionSettings settings;
      settings.method = method;
      settings.iterations = 1000;
      settings.history = history;
      const InversionResult result = invert_here(valley, settings);
      EXPECT_TRUE(result.converged) << result.reason;
      iterations.push_back(result.history.back().iteration);
    }
    EXPECT_NE(iterations[0], iterations[1]) << method;
  }
}

}  // namespace
}  // namespace hindsight

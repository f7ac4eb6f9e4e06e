// Derivatives from values: their bounds hold, kinks are seen, and noise is told from both.
#include "adjoint/check/quotients.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace hindsight {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

double between(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

/// A smooth function of e whose values carry round-off of a relative size.
struct Smooth {
  explicit Smooth(std::mt19937_64& random) : rounding(random()) {
    for (double& a : polynomial) a = between(random, -1, 1) * std::exp2(between(random, -12, 3));
    amplitude = between(random, -1, 1);
    frequency = std::exp2(between(random, -3, 5));
    phase = between(random, 0, 6);
    noise = between(random, 0, 1) < 0.5 ? 0.5 * epsilon : std::exp2(between(random, -50, -30));
  }
  double exact(double e) const {
    double value = amplitude * std::sin(frequency * e + phase), power = 1.0;
    for (const double a : polynomial) {
      value += a * power;
      power *= e;
    }
    return value;
  }
  double operator()(double e) const {
    std::mt19937_64 own(rounding ^ std::hash<double>()(e));
    return exact(e) + noise * between(own, -1, 1);
  }
  double derivative() const { return amplitude * frequency * std::cos(phase) + polynomial[1]; }
  std::array<double, 6> polynomial{};
  double amplitude, frequency, phase, noise;
  std::uint64_t rounding;
};

LineSamples sampled(const std::function<double(double)>& f, double noise, double slope) {
  return sample_line([&](double e) { return std::optional(f(e)); }, {f(0.0), noise, 0.01, {}, {}, {}},
                     1e-7 * std::fabs(slope), 1e-3 * std::fabs(slope));
}

TEST(Quotients, BoundsHoldForSmoothFunctions) {
  std::mt19937_64 random(7);
  int sharp = 0;
  constexpr int count = 3000;
  for (int i = 0; i < count; ++i) {
    const Smooth f(random);
    const LineSamples samples = sampled(f, f.noise, f.derivative());
    const DerivativeEstimate both = central_derivative(samples);
    EXPECT_TRUE(both.allows(f.derivative())) << i << ": " << both.value - f.derivative() << " of " << both.bound;
    EXPECT_TRUE(derivative_ahead(samples).allows(f.derivative())) << i;
    EXPECT_TRUE(derivative_behind(samples).allows(f.derivative())) << i;
    EXPECT_FALSE(has_kink(samples)) << i;
    EXPECT_GE(samples.steps.size(), 6U);
    if (both.bound < 1e-5 * std::fabs(f.derivative())) ++sharp;
  }
  EXPECT_GT(sharp, count * 9 / 10);
}

TEST(Quotients, KinksHaveTwoDerivatives) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 300; ++i) {
    const Smooth f(random);
    const double jump = 0.01 * (i % 2 == 0 ? 1 : -1) * (std::fabs(f.derivative()) + 1);
    const auto kinked = [&](double e) { return f(e) + jump * std::fabs(e); };
    const LineSamples samples = sampled(kinked, f.noise, f.derivative());
    EXPECT_TRUE(has_kink(samples)) << i;
    EXPECT_TRUE(derivative_ahead(samples).allows(f.derivative() + jump)) << i;
    EXPECT_TRUE(derivative_behind(samples).allows(f.derivative() - jump)) << i;
  }
}

TEST(Quotients, OneSideIsEnough) {
  const LineFunction root = [](double e) { return e < 0 ? std::nullopt : std::optional(std::sqrt(1.0 + e)); };
  const LineSamples samples = sample_line(root, {1.0, 1e-16, 0.01, {}, {}, {}}, 1e-7, 1e-3);
  EXPECT_FALSE(std::isfinite(central_derivative(samples).bound));
  EXPECT_TRUE(best_derivative(samples).allows(0.5));
  EXPECT_LT(best_derivative(samples).bound, 1e-6);
}

TEST(Quotients, StepsGrowWhereTheFunctionHardlyChanges) {
  const auto f = [](double e) { return 1.0 + 1e-12 * e; };
  const LineSamples samples = sampled(f, epsilon, 1e-12);
  EXPECT_EQ(samples.steps.front(), 1.28);
  EXPECT_TRUE(best_derivative(samples).allows(1e-12));
  EXPECT_GT(best_derivative(samples).bound, 1e-15);  // round-off of 1 is seen
}

TEST(Quotients, RemaindersHaveAnOrder) {
  const auto f = [](double e) { return std::exp(e); };
  const LineSamples samples = sampled(f, epsilon, 1.0);
  EXPECT_NEAR(remainder_order(samples, 1.0).order, 2.0, 0.02);
  EXPECT_EQ(remainder_order(samples, 1.0).halvings, 3);
  EXPECT_NEAR(remainder_order(samples, 1.1).order, 1.0, 0.1);
  const auto line = [](double e) { return 2.0 * e; };
  EXPECT_EQ(remainder_order(sampled(line, epsilon, 2.0), 2.0).halvings, 0);
}

TEST(Quotients, NoiseIsEstimated) {
  std::mt19937_64 random(9);
  for (const double size : {1e-15, 1e-9, 1e-3}) {
    double sum = 0.0;
    for (int i = 0; i < 200; ++i) {
      std::array<double, 5> values{};
      for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = 0.25 + 1e-10 * static_cast<double>(k) + size * between(random, -1, 1);
      sum += noise_of(values);
    }
    EXPECT_NEAR(sum / 200, size / std::sqrt(3.0), 0.2 * size);
  }
}

}  // namespace
}  // namespace hindsight

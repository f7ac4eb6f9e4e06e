// Butterworth filters against published coefficients and the formula of their gain; and their transposes.
#include "adjoint/objective/butterworth.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

namespace hindsight {
namespace {

using Polynomial = std::vector<double>;

Polynomial times(const Polynomial& a, const Polynomial& b) {
  Polynomial c(a.size() + b.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k) c[i + k] += a[i] * b[k];
  return c;
}

/// Numerator and denominator in powers of 1/z.
std::pair<Polynomial, Polynomial> fraction(const Butterworth& filter) {
  std::pair<Polynomial, Polynomial> all{{1.0}, {1.0}};
  for (const Butterworth::Section& s : filter.sections()) {
    all.first = times(all.first, {s.b0, s.b1, s.b2});
    all.second = times(all.second, {1.0, s.a1, s.a2});
  }
  return all;
}

void expect_near(const Polynomial& found, const Polynomial& expected, double tolerance) {
  for (std::size_t i = 0; i < std::max(found.size(), expected.size()); ++i)
    EXPECT_NEAR(i < found.size() ? found[i] : 0.0, i < expected.size() ? expected[i] : 0.0, tolerance) << i;
}

/// What scipy.signal.butter(2, 0.2) and butter(3, 0.5) are known to give: the latter is exact, a textbook's example.
TEST(Butterworth, HasThePublishedCoefficients) {
  const auto [b, a] = fraction(Butterworth({.high = 10.0, .order = 2}, 0.01));
  expect_near(b, {0.06745527, 0.13491055, 0.06745527}, 1e-8);
  expect_near(a, {1.0, -1.14298050, 0.41280160}, 1e-8);
  const auto [n, d] = fraction(Butterworth({.high = 0.25, .order = 3}, 1.0));
  expect_near(n, {1.0 / 6, 0.5, 0.5, 1.0 / 6}, 1e-15);
  expect_near(d, {1.0, 0.0, 1.0 / 3, 0.0}, 1e-15);
}

const std::vector<FilterSpec> specs{{.high = 3.0},
                                    {.high = 3.0, .order = 1},
                                    {.high = 11.0, .order = 8},
                                    {.low = 4.0},
                                    {.low = 4.0, .order = 7},
                                    {.low = 2.0, .high = 8.0},
                                    {.low = 2.0, .high = 30.0, .order = 1},
                                    {.low = 5.0, .high = 8.0, .order = 5}};

constexpr double interval = 0.012;

/// The gain of an ideal filter at the frequency that the bilinear transform takes f from.
double expected_gain(const FilterSpec& spec, double f) {
  const auto warped = [](double frequency) { return std::tan(std::numbers::pi * frequency * interval); };
  const double w = warped(f), low = warped(spec.low), high = warped(spec.high);
  const double x = spec.low == 0.0 ? w / high : spec.high == 0.0 ? low / w : (w * w - low * high) / ((high - low) * w);
  return 1.0 / std::sqrt(1.0 + std::pow(x * x, spec.order));
}

/// The gain at f of the answer to a pulse.
double gain_of(const FilterSpec& spec, double f, std::size_t pulse) {
  std::vector<double> values(8192, 0.0);
  values[pulse] = 1.0;
  Butterworth(spec, interval).apply(values);
  std::complex<double> sum = 0.0;
  for (std::size_t k = 0; k < values.size(); ++k)
    sum += values[k] * std::polar(1.0, -2.0 * std::numbers::pi * f * interval * static_cast<double>(k));
  return std::abs(sum);
}

TEST(Butterworth, HasTheGainOfTheFormula) {
  for (FilterSpec spec : specs) {
    SCOPED_TRACE(spec.text());
    for (const double f : {0.5, 2.0, 3.0, 4.0, 5.7, 8.0, 11.0, 30.0, 39.0}) {
      spec.has_zero_phase = false;
      EXPECT_NEAR(gain_of(spec, f, 0), expected_gain(spec, f), 1e-11) << f;
      spec.has_zero_phase = true;
      EXPECT_NEAR(gain_of(spec, f, 4096), std::pow(expected_gain(spec, f), 2), 1e-11) << f;
    }
    spec.has_zero_phase = false;
    EXPECT_NEAR(gain_of(spec, spec.highest_corner(), 0), std::sqrt(0.5), 1e-11);
  }
}

TEST(Butterworth, IsCausalOrDelaysNothing) {
  for (FilterSpec spec : specs) {
    std::vector<double> causal(2001, 0.0), centred(2001, 0.0);
    causal[1000] = centred[1000] = 1.0;
    Butterworth(spec, interval).apply(causal);
    spec.has_zero_phase = true;
    Butterworth(spec, interval).apply(centred);
    for (std::size_t k = 0; k < 1000; ++k) {
      EXPECT_EQ(causal[k], 0.0);
      EXPECT_NEAR(centred[k], centred[2000 - k], 1e-12);
    }
  }
}

TEST(Butterworth, HasItsTranspose) {
  double worst = 0.0;
  for (FilterSpec spec : specs)
    for (const bool has_zero_phase : {false, true}) {
      spec.has_zero_phase = has_zero_phase;
      std::vector<double> x, y;
      for (int k = 0; k < 333; ++k) {
        x.push_back(std::sin(1.0 + 0.37 * k * k));
        y.push_back(std::cos(0.3 * k) + 0.01 * k);
      }
      std::vector<double> there = x, back = y;
      const Butterworth filter(spec, interval);
      filter.apply(there);
      filter.apply_transpose(back);
      const double a = std::inner_product(there.begin(), there.end(), y.begin(), 0.0);
      const double b = std::inner_product(x.begin(), x.end(), back.begin(), 0.0);
      const double size = std::sqrt(std::inner_product(there.begin(), there.end(), there.begin(), 0.0) *
                                    std::inner_product(y.begin(), y.end(), y.begin(), 0.0));
      worst = std::max(worst, std::fabs(a - b) / size);
      EXPECT_NEAR(a, b, 1e-14 * size) << spec.text() << (has_zero_phase ? ", zero phase" : "");
    }
  RecordProperty("worst", std::to_string(worst));
  std::printf("dot products: %.1e apart at most\n", worst);
}

}  // namespace
}  // namespace hindsight

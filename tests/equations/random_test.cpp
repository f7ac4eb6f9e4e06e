// Random numbers: the published answers of the generator, the accuracy and the statistics of what is made of its words.
#include "solvers/equations/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace hindsight {
namespace {

const RandomKernels& kernels() {
  static const RandomKernels loaded{Communicator(MPI_COMM_SELF)};
  return loaded;
}

using Words = std::array<std::uint32_t, 4>;

Words philox(const Words& counter, const std::array<std::uint32_t, 2>& key) {
  Words words{};
  kernels().philox()(counter.data(), key.data(), words.data());
  return words;
}

std::vector<double> numbers(RandomRow row, std::int64_t count, std::uint64_t step, std::uint32_t seed,
                            std::uint32_t stream) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::vector<std::int64_t> x(values.size());
  std::iota(x.begin(), x.end(), 0);
  row(values.data(), x.data(), count, 0, step, seed, stream);
  return values;
}

double mean(const std::vector<double>& values, int power) {
  double sum = 0.0;
  for (const double v : values) sum += std::pow(v, power);
  return sum / static_cast<double>(values.size());
}

double correlation(const std::vector<double>& a, const std::vector<double>& b, std::size_t shift = 0) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[(i + shift) % b.size()];
  return sum / static_cast<double>(a.size());
}

// Random123 1.14, tests/kat_vectors: philox4x32 10.
TEST(Random, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, NumbersAreMadeOfTheWordsOfCellAndStep) {
  const std::int64_t first = 0x85a308d3243f6a80;
  const std::uint64_t step = 0x0370734413198a2e;
  const std::uint32_t seed = 0xa4093822, stream = 0x299f31d0;
  std::array<std::int64_t, 37> x{};
  std::array<double, 37> uniform{}, normal{};
  std::iota(x.begin(), x.end(), -5);
  kernels().uniform()(uniform.data(), x.data(), 37, first, step, seed, stream);
  kernels().normal()(normal.data(), x.data(), 37, first, step, seed, stream);
  for (std::size_t i = 0; i < 37; ++i) {
    const auto cell = static_cast<std::uint64_t>(first + x[i]);
    const Words w = philox({static_cast<std::uint32_t>(cell), static_cast<std::uint32_t>(cell >> 32),
                            static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32)},
                           {seed, stream});
    const auto unit = [](std::uint64_t upper, std::uint64_t lower) {
      return (static_cast<double>((upper << 32 | lower) >> 12) + 0.5) * 0x1p-52;
    };
    const double a = unit(w[0], w[1]), b = unit(w[2], w[3]);
    EXPECT_EQ(uniform[i], a);
    EXPECT_NEAR(normal[i], std::sqrt(-2 * std::log(a)) * std::cos(2 * std::numbers::pi * b), 4e-15);
  }
}

// One cell at a time or many: no bit depends on how rows are cut.
TEST(Random, BitsDoNotDependOnTheLengthOfRows) {
  for (const RandomRow row : {kernels().normal(), kernels().uniform()}) {
    const std::vector<double> whole = numbers(row, 133, 7, 1, 2);
    for (std::int64_t i = 0; i < 133; ++i) {
      double alone = 0.0;
      row(&alone, &i, 1, 0, 7, 1, 2);
      EXPECT_EQ(alone, whole[static_cast<std::size_t>(i)]);
    }
  }
}

// Bounds of five standard deviations of the estimates.
TEST(Random, NormalNumbersHaveTheMomentsOfANormalDistribution) {
  constexpr std::int64_t count = 1 << 20;
  const std::vector<double> z = numbers(kernels().normal(), count, 3, 11, 0);
  const double deviation = 5 / std::sqrt(static_cast<double>(count));
  EXPECT_NEAR(mean(z, 1), 0.0, deviation);
  EXPECT_NEAR(mean(z, 2), 1.0, deviation * std::sqrt(2.0));
  EXPECT_NEAR(mean(z, 3), 0.0, deviation * std::sqrt(15.0));
  EXPECT_NEAR(mean(z, 4), 3.0, deviation * std::sqrt(96.0));
  for (const double limit : {-3.0, -1.0, 0.0, 0.5, 2.0}) {
    const double expected = 0.5 * std::erfc(-limit / std::numbers::sqrt2);
    const auto below = std::count_if(z.begin(), z.end(), [&](double v) { return v < limit; });
    EXPECT_NEAR(static_cast<double>(below) / count, expected, deviation * std::sqrt(expected * (1 - expected)));
  }
}

TEST(Random, UniformNumbersHaveTheMomentsOfAUniformDistribution) {
  constexpr std::int64_t count = 1 << 20;
  const std::vector<double> u = numbers(kernels().uniform(), count, 3, 11, 0);
  const double deviation = 5 / std::sqrt(static_cast<double>(count));
  EXPECT_NEAR(mean(u, 1), 0.5, deviation * std::sqrt(1.0 / 12));
  EXPECT_NEAR(mean(u, 2), 1.0 / 3, deviation * std::sqrt(4.0 / 45));
  EXPECT_GT(*std::min_element(u.begin(), u.end()), 0.0);
  EXPECT_LT(*std::max_element(u.begin(), u.end()), 1.0);
}

TEST(Random, CellsStepsSeedsAndStreamsAreNotCorrelated) {
  constexpr std::int64_t count = 1 << 20;
  const RandomRow row = kernels().normal();
  const std::vector<double> z = numbers(row, count, 3, 11, 0);
  const double deviation = 5 / std::sqrt(static_cast<double>(count));
  EXPECT_NEAR(correlation(z, z, 1), 0.0, deviation) << "next cell";
  EXPECT_NEAR(correlation(z, z, 1024), 0.0, deviation) << "next row";
  EXPECT_NEAR(correlation(z, numbers(row, count, 4, 11, 0)), 0.0, deviation) << "next step";
  EXPECT_NEAR(correlation(z, numbers(row, count, 3, 12, 0)), 0.0, deviation) << "next seed";
  EXPECT_NEAR(correlation(z, numbers(row, count, 3, 11, 1)), 0.0, deviation) << "next stream";
}

}  // namespace
}  // namespace hindsight

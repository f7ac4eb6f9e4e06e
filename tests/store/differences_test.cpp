// What goes before compression: differences are exact, planes hold the bytes they should.
#include "adjoint/store/codecs/differences.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "adjoint/store/codecs/shuffle.hpp"

namespace hindsight {
namespace {

using Numbers = std::vector<double>;
using Fill = std::function<double(std::int64_t)>;

Numbers numbers_of(std::int64_t count, const Fill& fill) {
  Numbers numbers(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = fill(i);
  return numbers;
}

double random_bits(std::int64_t i) {
  static std::vector<std::uint64_t> bits = [] {
    std::mt19937_64 engine(7);
    std::vector<std::uint64_t> made(5000);
    for (std::uint64_t& word : made) word = engine();
    return made;
  }();
  return std::bit_cast<double>(bits[static_cast<std::size_t>(i)]);  // any number, some of them not
}

double noise(std::int64_t i) {
  return std::sin(12.9898 * static_cast<double>(i)) * 43758.5453;
}

const std::vector<std::pair<const char*, Fill>>& fills() {
  static const std::vector<std::pair<const char*, Fill>> all = {
      {"random bits", random_bits},
      {"noise", noise},
      {"infinity", [](std::int64_t i) { return i % 3 ? noise(i) : std::numeric_limits<double>::infinity(); }}};
  return all;
}

TEST(Shuffle, PlanesHoldTheBytesOfEqualWeight) {
  for (const int width : {2, 4, 8})
    for (const std::int64_t count : {1, 15, 16, 17, 160, 1003}) {
      std::vector<char> numbers(static_cast<std::size_t>(width * count)), planes(numbers), back(numbers);
      std::mt19937 engine(1);
      for (char& c : numbers) c = static_cast<char>(engine());
      to_planes(width, numbers.data(), count, planes.data());
      for (std::int64_t e = 0; e < count; ++e)
        for (int b = 0; b < width; ++b)
          ASSERT_EQ(planes[static_cast<std::size_t>(b * count + e)], numbers[static_cast<std::size_t>(e * width + b)]);
      from_planes(width, planes.data(), count, back.data());
      EXPECT_EQ(back, numbers);
    }
}

TEST(Differences, ToAReferenceAreExact) {
  for (const auto& [name, fill] : fills())
    for (const int width : {2, 4, 8}) {
      const Numbers numbers = numbers_of(1000, fill), reference = numbers_of(1000, random_bits);
      Numbers differences(numbers), back(reference);
      const auto bytes = [](Numbers& of) { return reinterpret_cast<char*>(of.data()); };
      subtract(width, reinterpret_cast<const char*>(numbers.data()), bytes(back), 1000, bytes(differences));
      add(width, bytes(differences), bytes(back), 1000, bytes(back));
      EXPECT_EQ(std::memcmp(numbers.data(), back.data(), static_cast<std::size_t>(1000 * width)), 0) << name << width;
    }
}

TEST(Differences, ZeroIsForetoldOfSmallNumbersOfBothSigns) {
  std::vector<std::int64_t> numbers(1000), folded(1000), back(1000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = (i * 7919 % 200) - 100;
  const auto bytes = [](std::vector<std::int64_t>& of) { return reinterpret_cast<char*>(of.data()); };
  EXPECT_EQ(best_differences(8, Differences::zero, 0, bytes(numbers), 1000).kind, Differences::zero);
  to_differences(8, Differences::zero, 0, bytes(numbers), 1000, bytes(folded));
  for (const std::int64_t number : folded) EXPECT_LE(static_cast<std::uint64_t>(number), 200U);
  from_differences(8, Differences::zero, 0, bytes(folded), 1000, bytes(back));
  EXPECT_EQ(back, numbers);
}

TEST(Differences, AreExact) {
  for (const auto& [name, fill] : fills())
    for (const int width : {2, 4, 8})
      for (const Differences kind :
           {Differences::last, Differences::line, Differences::parabola, Differences::plane, Differences::saddle})
        for (const std::int64_t count : {1, 2, 20, 1000}) {
          const Numbers numbers = numbers_of(1000, fill);
          Numbers differences(numbers), back(numbers);
          char* const bytes = reinterpret_cast<char*>(differences.data());
          to_differences(width, kind, 31, reinterpret_cast<const char*>(numbers.data()), count, bytes);
          std::fill_n(reinterpret_cast<char*>(back.data()), count * width, 'x');
          from_differences(width, kind, 31, bytes, count, reinterpret_cast<char*>(back.data()));
          EXPECT_EQ(std::memcmp(numbers.data(), back.data(), numbers.size() * sizeof(double)), 0)
              << name << ", width " << width << ", " << count << " numbers";
        }
}

TEST(Differences, AreChosenByWhatTheyLeave) {
  const auto best = [](const Fill& fill, std::int64_t row) {
    return best_differences(8, Differences::none, row, reinterpret_cast<const char*>(numbers_of(5000, fill).data()),
                            5000)
        .kind;
  };
  EXPECT_EQ(best([](std::int64_t i) { return 1 + 0x1p-20 * static_cast<double>(i); }, 100), Differences::line);
  EXPECT_EQ(best([](std::int64_t i) { return 2 + std::sin(1e-2 * static_cast<double>(i)); }, 0), Differences::parabola);
  EXPECT_EQ(best(random_bits, 100), Differences::none);
  EXPECT_EQ(best([](std::int64_t) { return 0.3; }, 100), Differences::none);
  const auto rough_rows = [](std::int64_t i) { return 4 + std::sin(1e4 * static_cast<double>(i % 100)); };
  EXPECT_EQ(best(rough_rows, 100), Differences::plane);
}

}  // namespace
}  // namespace hindsight

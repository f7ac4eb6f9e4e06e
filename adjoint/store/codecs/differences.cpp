#include "adjoint/store/codecs/differences.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace hindsight {
namespace {

/// Numbers as integers, at any place in memory.
template <class Word>
Word load(const char* words, std::int64_t i) {
  Word word;
  std::memcpy(&word, words + i * static_cast<std::int64_t>(sizeof word), sizeof word);
  return word;
}

template <class Word>
void store(char* words, std::int64_t i, Word word) {
  std::memcpy(words + i * static_cast<std::int64_t>(sizeof word), &word, sizeof word);
}

/// 0, -1, 1, -2 ... become 0, 1, 2, 3 ...
template <class Word>
Word fold(Word difference) {
  const auto sign = static_cast<Word>(difference >> (std::numeric_limits<Word>::digits - 1));
  return static_cast<Word>(static_cast<Word>(difference << 1U) ^ static_cast<Word>(Word{0} - sign));
}

template <class Word>
Word unfold(Word folded) {
  return static_cast<Word>(static_cast<Word>(folded >> 1U) ^ static_cast<Word>(Word{0} - (folded & Word{1})));
}

// What is foretold of number i, and how many numbers must precede it. Before them, the last number is foretold.
template <class Word>
struct Last {
  static constexpr std::int64_t needs = 1;
  Word operator()(const char* words, std::int64_t i) const { return load<Word>(words, i - 1); }
};

template <class Word>
struct Line {
  static constexpr std::int64_t needs = 2;
  Word operator()(const char* words, std::int64_t i) const {
    return static_cast<Word>(2 * load<Word>(words, i - 1) - load<Word>(words, i - 2));
  }
};

template <class Word>
struct Plane {
  std::int64_t row;
  std::int64_t needs = row + 1;
  Word operator()(const char* words, std::int64_t i) const {
    return static_cast<Word>(load<Word>(words, i - 1) + load<Word>(words, i - row) - load<Word>(words, i - row - 1));
  }
};

template <class Word, class Foretold>
void subtract(const char* numbers, std::int64_t first, std::int64_t end, Foretold foretold, char* differences) {
  for (std::int64_t i = first; i < end; ++i)
    store(differences, i, fold(static_cast<Word>(load<Word>(numbers, i) - foretold(numbers, i))));
}

template <class Word, class Foretold>
void add(const char* differences, std::int64_t first, std::int64_t end, Foretold foretold, char* numbers) {
  for (std::int64_t i = first; i < end; ++i)
    store(numbers, i, static_cast<Word>(unfold(load<Word>(differences, i)) + foretold(numbers, i)));
}

template <class Word, class Foretold>
void to_differences(const char* numbers, std::int64_t count, Foretold foretold, char* differences) {
  const std::int64_t begin = std::min(count, foretold.needs);
  store(differences, 0, load<Word>(numbers, 0));
  subtract<Word>(numbers, 1, begin, Last<Word>(), differences);
  subtract<Word>(numbers, begin, count, foretold, differences);
}

template <class Word, class Foretold>
void from_differences(const char* differences, std::int64_t count, Foretold foretold, char* numbers) {
  const std::int64_t begin = std::min(count, foretold.needs);
  store(numbers, 0, load<Word>(differences, 0));
  add<Word>(differences, 1, begin, Last<Word>(), numbers);
  add<Word>(differences, begin, count, foretold, numbers);
}

template <class Word>
Differences best_differences(std::int64_t row, const char* numbers, std::int64_t count) {
  constexpr std::int64_t stride = 17;
  std::array<std::int64_t, kinds_of_differences> digits{};
  const int kinds = row > 0 ? kinds_of_differences : kinds_of_differences - 1;
  std::int64_t samples = 0;
  const auto left = [&](std::int64_t i, Word foretold) {
    return std::bit_width(fold(static_cast<Word>(load<Word>(numbers, i) - foretold)));
  };
  for (std::int64_t i = row + 2; i < count; i += stride, ++samples) {
    const auto repeated = load<Word>(numbers, i) ^ load<Word>(numbers, i - 1);  // compressors see that alone
    digits[0] += std::bit_width(static_cast<Word>(repeated));
    digits[1] += left(i, Last<Word>()(numbers, i));
    digits[2] += left(i, Line<Word>()(numbers, i));
    if (row > 0) digits[3] += left(i, Plane<Word>{row}(numbers, i));
  }
  std::size_t best = 0;
  for (std::size_t kind = 1; kind < static_cast<std::size_t>(kinds); ++kind)
    if (digits[kind] + samples < digits[best]) best = kind;
  return static_cast<Differences>(best);
}

template <class Word>
void to_differences(Differences kind, std::int64_t row, const char* numbers, std::int64_t count, char* differences) {
  if (kind == Differences::last) return to_differences<Word>(numbers, count, Last<Word>(), differences);
  if (kind == Differences::line) return to_differences<Word>(numbers, count, Line<Word>(), differences);
  to_differences<Word>(numbers, count, Plane<Word>{row}, differences);
}

template <class Word>
void from_differences(Differences kind, std::int64_t row, const char* differences, std::int64_t count, char* numbers) {
  if (kind == Differences::last) return from_differences<Word>(differences, count, Last<Word>(), numbers);
  if (kind == Differences::line) return from_differences<Word>(differences, count, Line<Word>(), numbers);
  from_differences<Word>(differences, count, Plane<Word>{row}, numbers);
}

}  // namespace

Differences best_differences(int width, std::int64_t row, const char* numbers, std::int64_t count) {
  if (width == 8) return best_differences<std::uint64_t>(row, numbers, count);
  if (width == 4) return best_differences<std::uint32_t>(row, numbers, count);
  return best_differences<std::uint16_t>(row, numbers, count);
}

void to_differences(int width, Differences kind, std::int64_t row, const char* numbers, std::int64_t count,
                    char* differences) {
  if (width == 8) return to_differences<std::uint64_t>(kind, row, numbers, count, differences);
  if (width == 4) return to_differences<std::uint32_t>(kind, row, numbers, count, differences);
  to_differences<std::uint16_t>(kind, row, numbers, count, differences);
}

void from_differences(int width, Differences kind, std::int64_t row, const char* differences, std::int64_t count,
                      char* numbers) {
  if (width == 8) return from_differences<std::uint64_t>(kind, row, differences, count, numbers);
  if (width == 4) return from_differences<std::uint32_t>(kind, row, differences, count, numbers);
  from_differences<std::uint16_t>(kind, row, differences, count, numbers);
}

}  // namespace hindsight

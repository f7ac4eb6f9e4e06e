#include "adjoint/store/codecs/differences.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>

namespace hindsight {
namespace {

constexpr std::int64_t stride = 17;  // of samples
constexpr int kinds_without_rows = static_cast<int>(Differences::plane);

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
struct Zero {
  static constexpr std::int64_t needs = 0;
  Word operator()(const char* /*words*/, std::int64_t /*i*/) const { return Word{0}; }
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

template <class Word>
struct Parabola {
  static constexpr std::int64_t needs = 3;
  Word operator()(const char* words, std::int64_t i) const {
    return static_cast<Word>(3 * (load<Word>(words, i - 1) - load<Word>(words, i - 2)) + load<Word>(words, i - 3));
  }
};

/// The line through the last two, and what the line missed in the two rows before, continued as a line.
template <class Word>
struct Saddle {
  std::int64_t row;
  std::int64_t needs = 2 * row + 2;
  Word operator()(const char* words, std::int64_t i) const {
    const Line<Word> line;
    const auto above = static_cast<Word>(load<Word>(words, i - row) - line(words, i - row));
    const auto over_that = static_cast<Word>(load<Word>(words, i - 2 * row) - line(words, i - 2 * row));
    return static_cast<Word>(line(words, i) + 2 * above - over_that);
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

/// Calls visit(what foretells).
template <class Word, class Visit>
void with_foretold(Differences kind, std::int64_t row, Visit visit) {
  if (kind == Differences::last) return visit(Last<Word>());
  if (kind == Differences::line) return visit(Line<Word>());
  if (kind == Differences::parabola) return visit(Parabola<Word>());
  if (kind == Differences::plane) return visit(Plane<Word>{row});
  if (kind == Differences::zero) return visit(Zero<Word>());
  visit(Saddle<Word>{row});
}

/// Binary digits that a sample of numbers leaves.
template <class Word>
std::int64_t digits_left(Differences kind, std::int64_t row, const char* numbers, std::int64_t first,
                         std::int64_t count) {
  std::int64_t digits = 0;
  if (kind == Differences::none) {  // compressors see only what is repeated
    for (std::int64_t i = first; i < count; i += stride)
      digits += std::bit_width(static_cast<Word>(load<Word>(numbers, i) ^ load<Word>(numbers, i - 1)));
    return digits;
  }
  with_foretold<Word>(kind, row, [&](const auto& foretold) {
    for (std::int64_t i = first; i < count; i += stride)
      digits += std::bit_width(fold(static_cast<Word>(load<Word>(numbers, i) - foretold(numbers, i))));
  });
  return digits;
}

template <class Word>
BestDifferences best_differences(Differences before_all, std::int64_t row, const char* numbers, std::int64_t count) {
  if (count < 4 * row) row = 0;  // hardly any number has rows before it
  const std::int64_t first = std::max<std::int64_t>(3, 2 * row + 2), samples = (count - first + stride - 1) / stride;
  const int kinds = row > 0 ? kinds_of_differences : kinds_without_rows;
  BestDifferences best{before_all, digits_left<Word>(before_all, row, numbers, first, count)};
  for (int i = 1; i < kinds; ++i) {
    const auto kind = static_cast<Differences>(i);
    const std::int64_t digits = digits_left<Word>(kind, row, numbers, first, count);
    if (digits + samples / 4 < best.digits) best = {kind, digits};
  }
  return best;
}

/// numbers[i] = operation(a[i], b[i])
template <class Word, class Operation>
void combine(const char* a, const char* b, std::int64_t count, Operation operation, char* numbers) {
  for (std::int64_t i = 0; i < count; ++i)
    store(numbers, i, static_cast<Word>(operation(load<Word>(a, i), load<Word>(b, i))));
}

template <class Operation>
void combine(int width, const char* a, const char* b, std::int64_t count, Operation operation, char* numbers) {
  if (width == 8) return combine<std::uint64_t>(a, b, count, operation, numbers);
  if (width == 4) return combine<std::uint32_t>(a, b, count, operation, numbers);
  combine<std::uint16_t>(a, b, count, operation, numbers);
}

template <class Word>
void to_differences(Differences kind, std::int64_t row, const char* numbers, std::int64_t count, char* differences) {
  with_foretold<Word>(kind, row,
                      [&](const auto& foretold) { to_differences<Word>(numbers, count, foretold, differences); });
}

template <class Word>
void from_differences(Differences kind, std::int64_t row, const char* differences, std::int64_t count, char* numbers) {
  with_foretold<Word>(kind, row,
                      [&](const auto& foretold) { from_differences<Word>(differences, count, foretold, numbers); });
}

}  // namespace

BestDifferences best_differences(int width, Differences first, std::int64_t row, const char* numbers,
                                 std::int64_t count) {
  if (width == 8) return best_differences<std::uint64_t>(first, row, numbers, count);
  if (width == 4) return best_differences<std::uint32_t>(first, row, numbers, count);
  return best_differences<std::uint16_t>(first, row, numbers, count);
}

void subtract(int width, const char* numbers, const char* reference, std::int64_t count, char* differences) {
  combine(width, numbers, reference, count, std::minus<>(), differences);
}

void add(int width, const char* differences, const char* reference, std::int64_t count, char* numbers) {
  combine(width, differences, reference, count, std::plus<>(), numbers);
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

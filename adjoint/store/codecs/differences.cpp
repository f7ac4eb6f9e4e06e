#include "adjoint/store/codecs/differences.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace hindsight {
namespace {

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

/// What continues two numbers: the last one, or the line through both.
template <int order, class Word>
Word foretold(Word before, Word last) {
  return order == 1 ? last : static_cast<Word>(2 * last - before);
}

template <int order, class Word>
void to_differences(const char* numbers, std::int64_t count, char* differences) {
  Word before = 0, last = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto word = load<Word>(numbers, i);
    store(differences, i, fold(static_cast<Word>(word - foretold<order>(before, last))));
    before = last;
    last = word;
  }
}

template <int order, class Word>
void from_differences(const char* differences, std::int64_t count, char* numbers) {
  Word before = 0, last = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto word = static_cast<Word>(unfold(load<Word>(differences, i)) + foretold<order>(before, last));
    store(numbers, i, word);
    before = last;
    last = word;
  }
}

template <class Word>
int best_order(const char* numbers, std::int64_t count) {
  constexpr std::int64_t stride = 17;
  std::array<std::int64_t, most_differences + 1> digits{};
  std::int64_t samples = 0;
  for (std::int64_t i = 2; i < count; i += stride, ++samples) {
    const auto before = load<Word>(numbers, i - 2), last = load<Word>(numbers, i - 1), word = load<Word>(numbers, i);
    digits[0] += std::bit_width(static_cast<Word>(word ^ last));  // what a compressor does not see repeated
    digits[1] += std::bit_width(fold(static_cast<Word>(word - foretold<1>(before, last))));
    digits[2] += std::bit_width(fold(static_cast<Word>(word - foretold<2>(before, last))));
  }
  int best = 0;
  for (int order = 1; order <= most_differences; ++order)
    if (digits[static_cast<std::size_t>(order)] + samples < digits[static_cast<std::size_t>(best)]) best = order;
  return best;
}

template <class Word>
void to_differences(int order, const char* numbers, std::int64_t count, char* differences) {
  if (order == 1) return to_differences<1, Word>(numbers, count, differences);
  to_differences<2, Word>(numbers, count, differences);
}

template <class Word>
void from_differences(int order, const char* differences, std::int64_t count, char* numbers) {
  if (order == 1) return from_differences<1, Word>(differences, count, numbers);
  from_differences<2, Word>(differences, count, numbers);
}

}  // namespace

int best_order(int width, const char* numbers, std::int64_t count) {
  if (width == 8) return best_order<std::uint64_t>(numbers, count);
  if (width == 4) return best_order<std::uint32_t>(numbers, count);
  return best_order<std::uint16_t>(numbers, count);
}

void to_differences(int width, int order, const char* numbers, std::int64_t count, char* differences) {
  if (width == 8) return to_differences<std::uint64_t>(order, numbers, count, differences);
  if (width == 4) return to_differences<std::uint32_t>(order, numbers, count, differences);
  to_differences<std::uint16_t>(order, numbers, count, differences);
}

void from_differences(int width, int order, const char* differences, std::int64_t count, char* numbers) {
  if (width == 8) return from_differences<std::uint64_t>(order, differences, count, numbers);
  if (width == 4) return from_differences<std::uint32_t>(order, differences, count, numbers);
  from_differences<std::uint16_t>(order, differences, count, numbers);
}

}  // namespace hindsight

// Numbers as what their predecessors do not foretell: fewer digits of smooth fields are left to compress.
#pragma once

#include <cstdint>

namespace hindsight {

/// Bits of numbers, taken as integers, less what is foretold: nothing, the last number, the line or parabola through
/// the last ones, the plane or the saddle (of second degree in each direction) through these and their neighbours in
/// the rows before; where too few precede, the last number. The sign goes into the lowest bit, so that small
/// differences begin with zeros. Exact, for any bits.
///
/// Zero is foretold of numbers that are differences to those of a reference, in place of nothing: small ones of either
/// sign begin with zeros then.
enum class Differences : char { none, last, line, parabola, plane, saddle, zero };
constexpr int kinds_of_differences = 6;  ///< without zero

struct BestDifferences {
  Differences kind;
  std::int64_t digits;  ///< binary, that a sample leaves
};

/// What leaves fewest digits, from a sample; a kind must save a quarter of a binary digit per number over those before
/// it. Widths of numbers are 2, 4 and 8 bytes. @param first the kind that is tried before last, line and so on: none,
/// or zero. @param row numbers in a row; 0: there are no rows.
BestDifferences best_differences(int width, Differences first, std::int64_t row, const char* numbers,
                                 std::int64_t count);
void to_differences(int width, Differences kind, std::int64_t row, const char* numbers, std::int64_t count,
                    char* differences);
void from_differences(int width, Differences kind, std::int64_t row, const char* differences, std::int64_t count,
                      char* numbers);

/// Bits of numbers, taken as integers, less those of a reference, and back; exact, for any bits. `numbers` may be
/// `reference`.
void subtract(int width, const char* numbers, const char* reference, std::int64_t count, char* differences);
void add(int width, const char* differences, const char* reference, std::int64_t count, char* numbers);

}  // namespace hindsight

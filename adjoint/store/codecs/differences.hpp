// Numbers as what their predecessors do not foretell: fewer digits of smooth fields are left to compress.
#pragma once

#include <cstdint>

namespace hindsight {

/// Bits of numbers, taken as integers, less what is foretold: nothing, the last number, the line or parabola through
/// the last ones, the plane or the saddle (of second degree in each direction) through these and their neighbours in
/// the rows before; where too few precede, the last number. The sign goes into the lowest bit, so that small
/// differences begin with zeros. Exact, for any bits.
enum class Differences : char { none, last, line, parabola, plane, saddle };
constexpr int kinds_of_differences = 6;

/// What leaves fewest digits, from a sample; a kind must save a quarter of a binary digit per number over those before
/// it. Widths of numbers are 2, 4 and 8 bytes. @param row numbers in a row; 0: there are no rows.
Differences best_differences(int width, std::int64_t row, const char* numbers, std::int64_t count);
void to_differences(int width, Differences kind, std::int64_t row, const char* numbers, std::int64_t count,
                    char* differences);
void from_differences(int width, Differences kind, std::int64_t row, const char* differences, std::int64_t count,
                      char* numbers);

}  // namespace hindsight

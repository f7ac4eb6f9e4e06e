// Numbers as what their predecessors do not foretell: fewer digits of smooth fields are left to compress.
#pragma once

#include <cstdint>

namespace hindsight {

/// Bits of numbers taken as integers: as they are (0), their differences (1), differences of these (2); differences
/// have their sign in the lowest bit, so that small ones begin with zeros. Exact, for any bits.
constexpr int most_differences = 2;

/// The order that leaves fewest digits, from a sample; a higher one must save a binary digit per number.
int best_order(int width, const char* numbers, std::int64_t count);
/// Widths of 2, 4 and 8 bytes; orders 1 and 2.
void to_differences(int width, int order, const char* numbers, std::int64_t count, char* differences);
void from_differences(int width, int order, const char* differences, std::int64_t count, char* numbers);

}  // namespace hindsight

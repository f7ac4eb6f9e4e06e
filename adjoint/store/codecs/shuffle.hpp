// Bytes of equal weight brought together: the bytes of smooth numbers' exponents become long runs.
#pragma once

#include <cstdint>

namespace hindsight {

/// planes[b*count + e] = elements[e*width + b], for widths of 2, 4 and 8 bytes; and back. Reads and writes each byte
/// once.
void to_planes(int width, const char* elements, std::int64_t count, char* planes);
void from_planes(int width, const char* planes, std::int64_t count, char* elements);

}  // namespace hindsight

#include "adjoint/store/codecs/shuffle.hpp"

#include <cstring>

namespace hindsight {
namespace {

using Bytes = unsigned char __attribute__((vector_size(16)));
constexpr int together = 16;  // elements, one byte of each per vector

Bytes low(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

Bytes high(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Byte i of the first half goes to 2i, of the second half to 2i + 1: the bits of its place turn left by one. 16
/// elements of 2^k bytes are transposed after four turns, and as they were after k more.
template <int width>
void turn(Bytes* v) {
  Bytes w[width];
#pragma GCC unroll 4
  for (int i = 0; i < width / 2; ++i) {
    w[2 * i] = low(v[i], v[i + width / 2]);
    w[2 * i + 1] = high(v[i], v[i + width / 2]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < width; ++i) v[i] = w[i];
}

template <int width>
void transpose(Bytes* v) {
  turn<width>(v);
  turn<width>(v);
  turn<width>(v);
  turn<width>(v);
}

template <int width>
void transpose_back(Bytes* v) {
  turn<width>(v);
  if constexpr (width > 2) turn<width>(v);
  if constexpr (width > 4) turn<width>(v);
}

template <int width>
void to_planes(const char* elements, std::int64_t count, char* planes) {
  std::int64_t e = 0;
  for (; e + together <= count; e += together) {
    Bytes v[width];
    std::memcpy(v, elements + e * width, sizeof v);
    transpose<width>(v);
#pragma GCC unroll 8
    for (int b = 0; b < width; ++b) std::memcpy(planes + b * count + e, &v[b], sizeof v[b]);
  }
  for (; e < count; ++e)
    for (int b = 0; b < width; ++b) planes[b * count + e] = elements[e * width + b];
}

template <int width>
void from_planes(const char* planes, std::int64_t count, char* elements) {
  std::int64_t e = 0;
  for (; e + together <= count; e += together) {
    Bytes v[width];
#pragma GCC unroll 8
    for (int b = 0; b < width; ++b) std::memcpy(&v[b], planes + b * count + e, sizeof v[b]);
    transpose_back<width>(v);
    std::memcpy(elements + e * width, v, sizeof v);
  }
  for (; e < count; ++e)
    for (int b = 0; b < width; ++b) elements[e * width + b] = planes[b * count + e];
}

}  // namespace

void to_planes(int width, const char* elements, std::int64_t count, char* planes) {
  if (width == 8) return to_planes<8>(elements, count, planes);
  if (width == 4) return to_planes<4>(elements, count, planes);
  to_planes<2>(elements, count, planes);
}

void from_planes(int width, const char* planes, std::int64_t count, char* elements) {
  if (width == 8) return from_planes<8>(planes, count, elements);
  if (width == 4) return from_planes<4>(planes, count, elements);
  from_planes<2>(planes, count, elements);
}

}  // namespace hindsight

// What a kernel computes, written for several cells beside each other at once: in the vectors of C compilers.
//
// The text refers to the names of KernelText, and to those of vector_names. Each operation is the one that KernelText
// writes for a cell, in the same order: so are the bits.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "solvers/equations/kernel_text.hpp"

namespace hindsight {

/// Of kernels whose values at cells are doubles that arithmetic, comparisons and choices make of each other.
class VectorText {
 public:
  static bool suits(const KernelText& text);
  /// @param text of the kernel; outlives it. @param may_read_more whether eight doubles before and behind may be
  /// read, of arrays in the grid's layout. @param rows by which the cells lie further along y.
  VectorText(const KernelText& text, bool may_read_more, std::int8_t rows = 0);
  /// Definitions of all values of the cells i, i + 1, ... i + lanes - 1, a line each, of names of the row's own.
  std::string values() const;
  /// A value as an operation on vectors takes it.
  std::string all(NodeId id) const;

 private:
  /// An array, and the row of it that is read beside a cell of row j: offsets along y and z.
  using Row = std::tuple<int, int, int>;
  std::string name(NodeId id) const;
  std::string value(NodeId id) const;
  std::string read(const Node& node) const;
  std::string mask(NodeId id) const;
  std::string value_of_mask(const Node& node) const;

  const KernelText& text_;
  std::int8_t rows_;
  std::map<Row, std::set<int>> beside_;  ///< offsets along x, but for 0, where more may be read
};

/// The C of what vectors are. AVX-512's are as wide as lines of a cache: of neighbours along x all but one read would
/// meet two lines, which takes twice as long; so they are put together from the two vectors that the cells lie in.
inline constexpr const char* vector_names = R"(#if defined(__AVX512F__)
#define lanes 8
#elif defined(__AVX__)
#define lanes 4
#else
#define lanes 2
#endif
typedef double vector __attribute__((vector_size(8 * lanes)));
typedef double vector_in_memory __attribute__((vector_size(8 * lanes), aligned(8), may_alias));
typedef long long vector_of_bits __attribute__((vector_size(8 * lanes)));
#define AT(cell) ((vector)*(const vector_in_memory*)&(cell))
#define PUT(cell, x) (*(vector_in_memory*)&(cell) = (x))
#define ALL(x) ((x) - (vector){0}) /* of a double */
#define CHOICE(mask, a, b) ((vector)(((mask) & (vector_of_bits)(a)) | (~(mask) & (vector_of_bits)(b))))
#define MAGNITUDE(a) ((vector)((vector_of_bits)(a) & 0x7fffffffffffffffLL))
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#define FMA(a, b, c) ((vector)__builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4))
#elif defined(__AVX__) && defined(__FMA__) && defined(__GNUC__) && !defined(__clang__)
#define FMA(a, b, c) ((vector)__builtin_ia32_vfmaddpd256(a, b, c))
#else
static inline vector FMA(vector a, vector b, vector c) {
  vector d;
  for (int l = 0; l < lanes; ++l) d[l] = fma(a[l], b[l], c[l]);
  return d;
}
#endif
#if lanes == 8 && defined(__clang__)
#define FROM(a, b, at) __builtin_shufflevector(a, b, at, at + 1, at + 2, at + 3, at + 4, at + 5, at + 6, at + 7)
#elif lanes == 8
#define FROM(a, b, at) \
  __builtin_shuffle(a, b, (vector_of_bits){at, at + 1, at + 2, at + 3, at + 4, at + 5, at + 6, at + 7})
#endif
#if lanes == 8
#define BEHIND(cell, by) FROM(AT(cell), AT((&(cell))[8]), by)
#define BEFORE(cell, by) FROM(AT((&(cell))[-8]), AT(cell), 8 - by)
#else
#define BEHIND(cell, by) AT((&(cell))[by])
#define BEFORE(cell, by) AT((&(cell))[-(by)])
#endif
)";

}  // namespace hindsight

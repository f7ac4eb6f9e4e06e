// How one field of a state is coded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "adjoint/store/codec.hpp"
#include "adjoint/store/codecs/blocks.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

/// Cells of one field, always as many. Neither call allocates. One per thread. Coders that keep all bits, and those of
/// words, give the same cells with a reference as without: what differs is how the words are stored.
class FieldCoder {
 public:
  virtual ~FieldCoder() = default;
  /// @param reference see Coder. @returns no bytes when this field does not fit `room` or cannot be kept within the
  /// error promised.
  virtual Encoded encode(const double* cells, const double* reference, char* out, std::int64_t room) = 0;
  /// Reads `bytes` only. @param has_reference `cells` hold one, which may or may not have been needed. @returns false
  /// when the bytes are damaged.
  virtual bool decode(const char* in, std::int64_t bytes, bool has_reference, double* cells) = 0;
};

/// A coder that makes words of cells, and stores these.
class WordFieldCoder : public FieldCoder {
 public:
  /// What cells are converted with; none: the field cannot be kept within its error.
  virtual std::optional<double> scale(double largest) const = 0;
  /// @returns no bytes when the words do not fit `room`.
  virtual Encoded encode_words(const char* words, double scale, char* out, std::int64_t room) = 0;
  virtual bool decode_words(const char* in, std::int64_t bytes, char* words, double* scale) = 0;
};

std::int64_t count_of(const Index3& cells);
/// Cells from one row of a field to the next; 0 when it has one axis.
std::int64_t row_of(const Index3& cells);
/// Of all cells; infinity when one of them is infinite or not a number.
double largest_magnitude(const double* cells, std::int64_t count);

}  // namespace hindsight

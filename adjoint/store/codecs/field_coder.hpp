// How one field of a state is coded: losslessly, with shorter numbers, by zfp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "adjoint/store/codec.hpp"
#include "adjoint/store/codecs/blocks.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

/// Cells of one field, always as many. Neither call allocates. One per thread.
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

// Coders are made for the cells of a field along x, y and z. Lossless ones and those of words give the same cells with
// a reference as without: what differs is how the words are stored. zfp's error has the same bound. @param references
// whether encode() gets some.

/// Keeps all bits; needs room for BlockCoder::bound().
std::unique_ptr<FieldCoder> make_lossless(const Index3& cells, std::unique_ptr<Compressor> compressor, bool shuffle);

/// Nearest numbers of 32 bits (relative error 2^-24) or bfloat16 (2^-8); below their normal range, 2^-126, the error is
/// absolute: 2^-150 and 2^-134. @param then null: as they are.
std::unique_ptr<WordFieldCoder> make_float32(const Index3& cells, std::unique_ptr<Compressor> then, bool shuffle,
                                             bool references);
std::unique_ptr<WordFieldCoder> make_bfloat16(const Index3& cells, std::unique_ptr<Compressor> then, bool shuffle,
                                              bool references);

/// Nearest multiples of a step, with errors of at most tolerance times the field's largest magnitude.
std::unique_ptr<WordFieldCoder> make_quantised(const Index3& cells, double tolerance, std::unique_ptr<Compressor> then,
                                               bool shuffle, bool references);
/// Whether the multiples need 64 bits rather than 32.
bool is_quantised_long(double tolerance);

/// zfp in as many dimensions as the cells have, with errors of at most tolerance times the field's largest magnitude.
std::unique_ptr<FieldCoder> make_zfp(const Index3& cells, double tolerance, bool references);

std::int64_t count_of(const Index3& cells);
/// Cells from one row of a field to the next; 0 when it has one axis.
std::int64_t row_of(const Index3& cells);
/// Of all cells; infinity when one of them is infinite or not a number.
double largest_magnitude(const double* cells, std::int64_t count);

}  // namespace hindsight

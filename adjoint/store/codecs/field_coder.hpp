// How one field of a state is coded: losslessly, with shorter numbers, by zfp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "adjoint/store/codecs/blocks.hpp"
#include "adjoint/store/state_shape.hpp"

namespace hindsight {

/// Cells of one field, always as many. Neither call allocates. One per thread.
class FieldCoder {
 public:
  virtual ~FieldCoder() = default;
  /// @returns the bytes written; 0 when this field does not fit `room` or cannot be kept within the error promised.
  virtual std::int64_t encode(const double* cells, char* out, std::int64_t room) = 0;
  /// Reads `bytes` only. @returns false when they are damaged.
  virtual bool decode(const char* in, std::int64_t bytes, double* cells) = 0;
};

/// Keeps all bits; needs room for BlockCoder::bound().
std::unique_ptr<FieldCoder> make_lossless(const StateShape& shape, std::unique_ptr<Compressor> compressor,
                                          bool shuffle);

/// Nearest numbers of 32 bits (relative error 2^-24) or bfloat16 (2^-8); below their normal range, 2^-126, the error is
/// absolute: 2^-150 and 2^-134. @param then null: as they are.
std::unique_ptr<FieldCoder> make_float32(const StateShape& shape, std::unique_ptr<Compressor> then, bool shuffle);
std::unique_ptr<FieldCoder> make_bfloat16(const StateShape& shape, std::unique_ptr<Compressor> then, bool shuffle);

/// Nearest multiples of a step, with errors of at most tolerance times the field's largest magnitude.
std::unique_ptr<FieldCoder> make_quantised(const StateShape& shape, double tolerance, std::unique_ptr<Compressor> then,
                                           bool shuffle);
/// Whether the multiples need 64 bits rather than 32.
bool is_quantised_long(double tolerance);

/// zfp in as many dimensions as the cells have, with errors of at most tolerance times the field's largest magnitude.
std::unique_ptr<FieldCoder> make_zfp(const StateShape& shape, double tolerance);

std::int64_t cells_of_a_field(const StateShape& shape);
/// Cells from one row of a field to the next; 0 when it has one axis.
std::int64_t row_of(const StateShape& shape);
/// Of all cells; infinity when one of them is infinite or not a number.
double largest_magnitude(const double* cells, std::int64_t count);

}  // namespace hindsight

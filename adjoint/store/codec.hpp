// What makes the states in a slow tier smaller.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "adjoint/store/state_shape.hpp"

namespace hindsight {

/// Encodes and decodes the cells of states, with scratch memory of its own: one per thread. Neither call allocates.
class Coder {
 public:
  virtual ~Coder() = default;
  /// @param out room for Codec::bound() bytes. @returns the bytes written.
  virtual std::int64_t encode(const double* cells, char* out) = 0;
  /// @returns false when `in` is no encoded state.
  virtual bool decode(const char* in, std::int64_t bytes, double* cells) = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string name() const = 0;
  virtual bool is_lossless() const = 0;
  /// The most bytes that a state can take.
  virtual std::int64_t bound(const StateShape& shape) const = 0;
  virtual std::unique_ptr<Coder> coder(const StateShape& shape) const = 0;
};

}  // namespace hindsight

// What makes the states in a slow tier smaller.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "adjoint/store/state_shape.hpp"

namespace hindsight {

struct Encoded {
  std::int64_t bytes = 0;
  bool needs_reference = false;  ///< to be decoded
};

/// Encodes and decodes the cells of states, with scratch memory of its own: one per thread. Neither call allocates.
class Coder {
 public:
  virtual ~Coder() = default;
  /// @param reference cells of a state that is like this one; null: none. Its values are those that decode() gave.
  /// @param out room for Codec::bound() bytes.
  virtual Encoded encode(const double* cells, const double* reference, char* out) = 0;
  /// @param has_reference whether the state needs one: then `cells` hold it, and the state takes its place.
  /// @returns false when `in` is no encoded state of that kind.
  virtual bool decode(const char* in, std::int64_t bytes, bool has_reference, double* cells) = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string name() const = 0;
  virtual bool is_lossless() const = 0;
  /// Whether a reference makes states smaller.
  virtual bool takes_references() const = 0;
  /// The most bytes that a state can take.
  virtual std::int64_t bound(const StateShape& shape) const = 0;
  virtual std::unique_ptr<Coder> coder(const StateShape& shape) const = 0;
};

}  // namespace hindsight

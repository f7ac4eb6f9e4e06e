// What makes the states in a slow tier smaller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "solvers/grid/state_shape.hpp"

namespace hindsight {

struct Encoded {
  std::int64_t bytes = 0;
  bool needs_reference = false;  ///< to be decoded
};

/// What cells become one by one before they are stored. Conversions depend on a scale per field.
enum class Words { float32, bfloat16, multiples32, multiples64 };
inline int bytes_of(Words words) {
  return words == Words::bfloat16 ? 2 : words == Words::multiples64 ? 8 : 4;
}

/// A coder from its words on, for states whose words are made elsewhere: fields one after another, without gaps.
class WordsCoder {
 public:
  virtual ~WordsCoder() = default;
  /// @param largest magnitude of each field, infinity when a cell is not finite. @returns false when some field must be
  /// encoded from its cells.
  virtual bool scales(const double* largest, double* scales) const = 0;
  /// Gives the bytes that Coder::encode() gives.
  virtual Encoded encode(const char* words, const double* scales, char* out) = 0;
  /// @returns false when a field was not stored as words, or is damaged.
  virtual bool decode(const char* in, std::int64_t bytes, char* words, double* scales) = 0;
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
  /// Null where Codec::words() is none.
  virtual WordsCoder* words() = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string name() const = 0;
  virtual bool is_lossless() const = 0;
  /// Whether a reference makes states smaller.
  virtual bool takes_references() const = 0;
  /// What cells become, if a device can make it: without references, each cell for itself.
  virtual std::optional<Words> words(const StateShape& shape) const = 0;
  /// The most bytes that a state can take.
  virtual std::int64_t bound(const StateShape& shape) const = 0;
  virtual std::unique_ptr<Coder> coder(const StateShape& shape) const = 0;
};

}  // namespace hindsight

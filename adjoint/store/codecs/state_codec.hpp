// A state as its coded fields, behind a header that tells it from garbage.
#pragma once

#include <functional>
#include <string>

#include "adjoint/store/codec.hpp"
#include "adjoint/store/codecs/field_coder.hpp"

namespace hindsight {

/// Encoded states are: magic, another one where a reference is needed, checksum of the codec's name, doubles, bytes;
/// then for each field one number, its bytes times two plus whether it is lossless, and its bytes. A field is an array
/// of the state; those of few cells, such as an ODE's, go together as one. Arrays of other elements than the first one
/// keep their bits.
class StateCodec final : public Codec {
 public:
  /// A coder for fields of these cells, doubles. @param is_joined the field holds more than one array of the state.
  using Make = std::function<std::unique_ptr<FieldCoder>(const Index3& cells, bool is_joined)>;
  /// One that keeps all bits of fields of these cells and elements, filled up to whole doubles.
  using MakeLossless = std::function<std::unique_ptr<FieldCoder>(const Index3& cells, Element element)>;
  /// @param references whether states get one; the name tells. @param lossy empty: the codec is lossless; it may make
  /// null, then the state is kept losslessly.
  /// @param words of the lossy coders, if they are WordFieldCoders.
  StateCodec(std::string name, bool references, MakeLossless lossless, Make lossy, std::optional<Words> words = {});

  std::string name() const override { return name_; }
  bool is_lossless() const override { return !lossy_; }
  bool takes_references() const override { return references_; }
  std::optional<Words> words(const StateShape& shape) const override;
  std::int64_t bound(const StateShape& shape) const override;
  std::unique_ptr<Coder> coder(const StateShape& shape) const override;

 private:
  std::string name_;
  bool references_;
  MakeLossless lossless_;
  Make lossy_;
  std::optional<Words> words_;
};

}  // namespace hindsight

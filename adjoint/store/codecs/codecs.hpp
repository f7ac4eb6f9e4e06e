// The codecs that a case can ask for, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "adjoint/store/codec.hpp"

namespace hindsight {

struct CodecSettings {
  std::string kind = "none";  ///< none, float32, bfloat16, lz4, zstd, quantised, zfp
  std::string then = {};      ///< lz4 or zstd: of the shorter numbers; "": none (quantised: zstd)
  /// Before lz4 and zstd: differences, where they are shorter, and their bytes of equal weight together.
  bool shuffle = true;
  /// Before all: the difference to a reference, where it is shorter. Not for words that nothing compresses.
  bool difference = false;
  double tolerance =
      0.0;        ///< quantised, zfp: largest error of a cell, over the largest magnitude of its field in that state
  int level = 1;  ///< of zstd; of lz4: its acceleration
};

/// Null for "none". Lossy codecs keep all bits of a field that they cannot hold within their error: one with infinities
/// or NaN, one beyond the range of the shorter numbers, and under a
/// tolerance one whose numbers are too small, too large or too rough for it.
/// @throws Error(bug) for names that are not in the list.
std::shared_ptr<const Codec> make_codec(const CodecSettings& settings);

/// What a coder of such states takes from a memory account.
std::int64_t coder_bytes(const Codec& codec, const StateShape& shape);

}  // namespace hindsight

// The codecs that there are: facts about each, for the parser, the schema and messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adjoint/store/codec.hpp"
#include "adjoint/store/codecs/compressor.hpp"
#include "runtime/registry.hpp"

namespace hindsight {

/// What a case calls it that states are kept as they are.
inline constexpr const char* no_codec = "none";

struct CodecSettings {
  std::string kind = no_codec;  ///< one of codecs()
  std::string then = {};        ///< one of compressor_names(): of the shorter numbers; "": as CodecKind::then says
  /// Before a compressor: differences, where they are shorter, and their bytes of equal weight together.
  bool shuffle = true;
  /// Before all: the difference to a reference, where it is shorter. Not for words that nothing compresses.
  bool difference = false;
  double tolerance =
      0.0;        ///< where it has one: largest error of a cell, over the largest magnitude of its field in that state
  int level = 1;  ///< of compressors, which say what it is
};

/// Whether the numbers that a codec makes are compressed afterwards (CodecSettings::then).
enum class Then {
  never,
  if_asked,
  always,  ///< by the default_compressor(), unless another one is asked for
};

/// @param most_bytes that the compressor will be given at once: it may take the more memory the more these are.
using MakeCompressor = std::function<std::unique_ptr<Compressor>(int level, std::int64_t most_bytes)>;

struct CodecKind {
  std::string name;              ///< what a case calls it
  bool is_lossy = false;         ///< states come back changed
  bool has_tolerance = false;    ///< lossy as far as CodecSettings::tolerance says
  bool takes_difference = true;  ///< a reference may make states smaller
  Then then = Then::never;
  /// Makes a codec; null for no_codec. Lossy ones keep all bits of a field that they cannot hold within their error:
  /// one with infinities or NaN, one beyond the range of the shorter numbers, and under a tolerance one whose numbers
  /// are too small, too large or too rough for it.
  std::function<std::shared_ptr<const Codec>(const CodecSettings&)> make;
  /// Of a lossless codec that is a compressor of bytes: others may be followed by it. Null: none.
  MakeCompressor make_compressor = {};

  bool is_compressor() const { return make_compressor != nullptr; }
  bool may_be_followed() const { return then != Then::never; }
  /// What nothing compresses, a difference makes no smaller.
  bool needs_then_for_difference() const { return then == Then::if_asked; }
};

/// All of them, no_codec first; a program of one's own adds to them before the first case is read.
Registry<CodecKind>& codecs();
/// Of those for which it is so: &CodecKind::is_lossy.
std::vector<std::string> codec_names(const std::function<bool(const CodecKind&)>& is_so);
/// Codecs that may follow others; where a case names no codec, the planner may choose one of them.
std::vector<std::string> compressor_names();
/// The compressor where no other is asked for.
const std::string& default_compressor();

/// Null for no_codec. @throws InputError for names that are not in the list.
std::shared_ptr<const Codec> make_codec(const CodecSettings& settings);
/// @param name one of compressor_names(). @throws Error(bug) for others.
std::unique_ptr<Compressor> make_compressor(const std::string& name, int level, std::int64_t most_bytes);

/// What a coder of such states takes from a memory account.
std::int64_t coder_bytes(const Codec& codec, const StateShape& shape);

}  // namespace hindsight

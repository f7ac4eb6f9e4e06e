// The codecs of this folder, each from its own file, and what they share.
#pragma once

#include <memory>
#include <string>

#include "adjoint/store/codecs/codecs.hpp"
#include "adjoint/store/codecs/state_codec.hpp"

namespace hindsight {

CodecKind float32_kind();
CodecKind bfloat16_kind();
CodecKind lz4_kind();
CodecKind zstd_kind();
CodecKind quantised_kind();
CodecKind zfp_kind();

/// A codec that keeps all bits.
CodecKind lossless_kind(const char* name, MakeCompressor compressor);

/// The end of a codec's name where a compressor follows: "shuffle+NAME".
std::string compressor_text(const CodecSettings& settings, const std::string& compressor);
/// For blocks of the numbers of so many cells. @param name of the compressor.
std::unique_ptr<Compressor> compressor_for(const Index3& cells, const CodecSettings& settings, const std::string& name);
/// Codes singles as the doubles that they are. @param of_doubles for so many cells.
std::unique_ptr<FieldCoder> coder_of_singles(std::unique_ptr<FieldCoder> of_doubles, std::int64_t cells);
/// Coders that keep all bits of a field, whatever the settings' kind: a lossy codec needs them too.
StateCodec::MakeLossless lossless_coders(const CodecSettings& settings, const std::string& compressor);

}  // namespace hindsight

#include <functional>

#include "adjoint/store/codecs/codecs.hpp"
#include "io/case/sections.hpp"

namespace hindsight {
namespace {

using Names = std::vector<std::string>;

/// "a, b or c"
std::string listed(const Names& names) {
  std::string text = names[0];
  for (std::size_t i = 1; i < names.size(); ++i) text += (i + 1 < names.size() ? ", " : " or ") + names[i];
  return text;
}

/// The value of a key that only some codecs have.
std::optional<Value> find_for(Value& tier, const char* key, const CodecKind& kind,
                              const std::function<bool(const CodecKind&)>& has) {
  auto value = tier.find(key);
  if (value && !has(kind))
    value->fail(value->path() + " needs codec: " + listed(codec_names(has)) + "; the codec is " + kind.name);
  return value;
}

}  // namespace

TierCodec read_codec(Value tier) {
  TierCodec codec;
  if (auto v = tier.find("codec")) {
    codec.kind = v->one_of(codecs().names());
    codec.is_given = true;
  }
  const CodecKind& kind = codecs().find(codec.kind);
  if (auto v = find_for(tier, "tolerance", kind, &CodecKind::has_tolerance)) {
    codec.tolerance = v->number();
    if (!(codec.tolerance > 0 && codec.tolerance < 1))
      v->fail(v->path() + " must be positive and below 1: a fraction of the field's largest magnitude");
  }
  if (auto v = find_for(tier, "accept", kind, &CodecKind::is_lossy)) {
    codec.accept = v->number();
    if (!(*codec.accept > 0)) v->fail(v->path() + " must be positive: a relative error of the gradient");
  }
  if (auto v = find_for(tier, "then", kind, &CodecKind::may_be_followed)) codec.then = v->one_of(compressor_names());
  if (auto v = find_for(tier, "difference", kind, &CodecKind::takes_difference)) {
    codec.difference = v->one_of({"none", "neighbour"}) == "neighbour";
    if (codec.difference && kind.needs_then_for_difference() && codec.then.empty())
      v->fail(v->path() + " needs then: " + listed(compressor_names()) + "; nothing compresses the numbers");
  }
  if (kind.has_tolerance && codec.tolerance == 0.0 && !codec.accept)
    tier.at("codec").fail(tier.path() + ": codec " + codec.kind + " needs tolerance or accept");
  return codec;
}

}  // namespace hindsight

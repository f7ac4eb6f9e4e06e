#include <algorithm>

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
std::optional<Value> find_for(Value& tier, const std::string& key, const std::string& kind, const Names& codecs) {
  auto value = tier.find(key);
  if (value && std::find(codecs.begin(), codecs.end(), kind) == codecs.end())
    value->fail(value->path() + " needs codec: " + listed(codecs) + "; the codec is " + kind);
  return value;
}

}  // namespace

CaseCodec read_codec(Value tier) {
  CaseCodec codec;
  if (auto v = tier.find("codec")) {
    codec.kind = v->one_of({"none", "float32", "bfloat16", "lz4", "zstd", "quantised", "zfp"});
    codec.is_given = true;
  }
  if (auto v = find_for(tier, "tolerance", codec.kind, {"quantised", "zfp"})) {
    codec.tolerance = v->number();
    if (!(codec.tolerance > 0 && codec.tolerance < 1))
      v->fail(v->path() + " must be positive and below 1: a fraction of the field's largest magnitude");
  }
  if (auto v = find_for(tier, "accept", codec.kind, {"float32", "bfloat16", "quantised", "zfp"})) {
    codec.accept = v->number();
    if (!(*codec.accept > 0)) v->fail(v->path() + " must be positive: a relative error of the gradient");
  }
  if (auto v = find_for(tier, "then", codec.kind, {"float32", "bfloat16", "quantised"}))
    codec.then = v->one_of({"lz4", "zstd"});
  if (auto v = find_for(tier, "difference", codec.kind, {"float32", "bfloat16", "lz4", "zstd", "quantised", "zfp"})) {
    codec.difference = v->one_of({"none", "neighbour"}) == "neighbour";
    const bool is_shorter_numbers = codec.kind == "float32" || codec.kind == "bfloat16";
    if (codec.difference && is_shorter_numbers && codec.then.empty())
      v->fail(v->path() + " needs then: lz4 or zstd; nothing compresses the numbers");
  }
  const bool needs_tolerance = codec.kind == "zfp" || codec.kind == "quantised";
  if (needs_tolerance && codec.tolerance == 0.0 && !codec.accept)
    tier.at("codec").fail(tier.path() + ": codec " + codec.kind + " needs tolerance or accept");
  return codec;
}

}  // namespace hindsight

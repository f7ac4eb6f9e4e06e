#include "adjoint/gradients/coded_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hindsight {
namespace {

/// Later states may be harder to code than those that were measured.
constexpr double room_to_grow = 1.1;

std::string name_of(const CodecSettings& settings) {
  return fmt::format("{}+{} {:g}", settings.kind, settings.then, settings.tolerance);
}

std::int64_t with_room(std::int64_t largest, std::int64_t bound) {
  return std::min(static_cast<std::int64_t>(room_to_grow * static_cast<double>(largest)), bound);
}

}  // namespace

std::optional<std::int64_t> CodedSizes::bytes(Tier tier, const CodecSettings& codec) const {
  const auto& known = tiers_[index_of(tier)].known;
  const auto size = known.find(name_of(codec));
  return size != known.end() ? std::optional(size->second.bytes) : std::nullopt;
}

bool CodedSizes::is_sure(Tier tier, const CodecSettings& codec) const {
  const auto& known = tiers_[index_of(tier)].known;
  const auto size = known.find(name_of(codec));
  return size != known.end() && size->second.is_sure;
}

void CodedSizes::learn(Tier tier, const CodecSettings& codec, std::int64_t largest, std::int64_t bound) {
  Size& known = tiers_[index_of(tier)].known[name_of(codec)];
  known.bytes = std::max(known.bytes, with_room(largest, bound));
}

void CodedSizes::foresee(Tier tier, const CodecSettings& codec, std::int64_t largest, std::int64_t bound) {
  OfTier& mine = tiers_[index_of(tier)];
  mine.foreseen = codec;
  mine.known[name_of(codec)] = {with_room(largest, bound), true};
}

void CodedSizes::estimate(Tier tier, const CodecSettings& codec, std::int64_t bound) {
  OfTier& mine = tiers_[index_of(tier)];
  const auto& before = mine.foreseen;
  const bool is_alike = before && codec.kind == before->kind && codec.then == before->then && codec.tolerance > 0;
  if (!is_alike || mine.known.contains(name_of(codec))) return;
  const double bits = std::log2(before->tolerance / codec.tolerance);
  const double change = (bits > 0 ? bits : 0.5 * bits) / 8 * static_cast<double>(state_doubles_);
  const std::int64_t seen = mine.known[name_of(*before)].bytes, bytes = seen + static_cast<std::int64_t>(change);
  mine.known[name_of(codec)] = {std::clamp(bytes, seen / 4, bound), true};
}

void CodedSizes::save(ArchiveWriter& to) const {
  to.begin("sizes");
  to.write(state_bytes_);
  for (const OfTier& tier : tiers_) {
    to.write(static_cast<std::int64_t>(tier.known.size()));
    for (const auto& [name, size] : tier.known) {
      to.write(name);
      to.write(size.bytes);
      to.write(size.is_sure);
    }
    const CodecSettings seen = tier.foreseen.value_or(CodecSettings{});
    to.write(tier.foreseen.has_value());
    to.write(seen.kind);
    to.write(seen.then);
    to.write(seen.tolerance);
    to.write(seen.difference);
  }
  to.end();
}

/// On other ranks states have other sizes, and are coded about as well.
void CodedSizes::restore(ArchiveReader& from) {
  from.begin("sizes");
  const auto whole = from.get<std::int64_t>();
  for (OfTier& tier : tiers_) {
    for (auto n = from.get<std::int64_t>(); n > 0; --n) {
      Size& size = tier.known[from.get<std::string>()];
      const auto bytes = from.get<std::int64_t>();
      const bool is_as_before = whole == state_bytes_ || whole <= 0;
      const double part = static_cast<double>(bytes) / static_cast<double>(whole);
      size.bytes = is_as_before ? bytes : static_cast<std::int64_t>(part * static_cast<double>(state_bytes_));
      size.is_sure = from.get<bool>();
    }
    CodecSettings seen;
    const bool has_seen = from.get<bool>();
    from.read(seen.kind);
    from.read(seen.then);
    from.read(seen.tolerance);
    from.read(seen.difference);
    if (has_seen) tier.foreseen = seen;
  }
  from.end();
}

}  // namespace hindsight

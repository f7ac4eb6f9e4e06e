// What coded states are known to take.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "adjoint/schedule/action.hpp"
#include "adjoint/store/codecs/codecs.hpp"
#include "runtime/archive.hpp"

namespace hindsight {

/// Of one rank, by tier and codec. What is known of a codec stays known when another takes its place.
class CodedSizes {
 public:
  /// @param state_bytes of a state that is not coded. @param state_doubles its numbers.
  CodedSizes(std::int64_t state_bytes, std::int64_t state_doubles)
      : state_bytes_(state_bytes), state_doubles_(state_doubles) {}

  /// Bytes that states take at most, room to grow included; none while nothing is known.
  std::optional<std::int64_t> bytes(Tier tier, const CodecSettings& codec) const;
  /// Whether that was seen on states all along a run, not on the first ones alone.
  bool is_sure(Tier tier, const CodecSettings& codec) const;

  /// The first states of a run took so many bytes at most. @param bound that no state takes more than.
  void learn(Tier tier, const CodecSettings& codec, std::int64_t largest, std::int64_t bound);
  /// States all along a run took so many bytes at most.
  void foresee(Tier tier, const CodecSettings& codec, std::int64_t largest, std::int64_t bound);
  /// Of a codec that was not used yet, from what was foreseen with another tolerance: half of it takes a bit more per
  /// cell at most, twice as much a bit less at best, half of which is counted on.
  void estimate(Tier tier, const CodecSettings& codec, std::int64_t bound);

  /// For a process that goes on, on as many ranks or others.
  void save(ArchiveWriter& to) const;
  void restore(ArchiveReader& from);

 private:
  struct Size {
    std::int64_t bytes = 0;
    bool is_sure = false;
  };
  struct OfTier {
    std::map<std::string, Size> known;      // by the codec's settings as text
    std::optional<CodecSettings> foreseen;  // the codec of the last foresee()
  };
  std::int64_t state_bytes_, state_doubles_;
  std::array<OfTier, tier_count> tiers_;
};

}  // namespace hindsight

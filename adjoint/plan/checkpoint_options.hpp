// What somebody asks of checkpoints: budgets, a schedule, codecs, how far transfers run ahead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/store/codecs/codecs.hpp"
#include "runtime/error.hpp"

namespace hindsight {

/// Bytes that a gradient may take of a memory, working memory included, or of a disk; or a count of slots for states
/// besides the working memory.
struct TierBudget {
  enum class Unit { bytes, slots };
  Unit unit = Unit::bytes;
  std::int64_t amount = 0;
  SourcePlace place = {};  ///< for messages
};

/// How the states of a slow tier are made smaller.
struct TierCodec {
  bool is_given = false;        ///< else the planner may choose a lossless one for the disk
  std::string kind = no_codec;  ///< one of codecs() (adjoint/store/codecs/codecs.hpp), which says what it may have:
  double tolerance = 0.0;       ///< largest error of a cell over its field's largest magnitude; 0: from `accept`
  std::optional<double> accept = {};  ///< the relative error of the gradient that is accepted of a lossy one
  bool difference = false;            ///< to the neighbouring checkpoint, before all
  std::string then = {};              ///< the compressor of what it makes; empty: the codec's default
};

struct CheckpointOptions {
  std::string schedule = "auto";  ///< or the name of a schedule
  /// Of a tier that is left out: host and device memory get a part of what is free, a disk is not used.
  std::optional<TierBudget> host = {}, device = {}, disk = {};
  std::optional<int> queue = {}, prefetch = {};  ///< states that wait for the disk, and that are read ahead, at most
  TierCodec host_codec = {}, disk_codec = {};
  std::int64_t period = 0;  ///< steps, of periodic schedules; 0: they choose
  std::optional<double> accept =
      {};                  ///< the drift that is accepted of states that are walked back to; none: they are not
  SourcePlace place = {};  ///< for messages

  const std::optional<TierBudget>& budget(Tier tier) const {
    return tier == Tier::device ? device : tier == Tier::host ? host : disk;
  }
  bool is_in_slots(Tier tier) const { return budget(tier) && budget(tier)->unit == TierBudget::Unit::slots; }
  /// @param tier host or disk.
  const TierCodec& codec(Tier tier) const { return tier == Tier::host ? host_codec : disk_codec; }
};

}  // namespace hindsight

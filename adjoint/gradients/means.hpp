// What a gradient's checkpoints have at their disposal: budgets, what is taken from them, and how many units fit.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "adjoint/gradients/tier_layout.hpp"
#include "adjoint/plan/checkpoint_options.hpp"
#include "adjoint/plan/plan.hpp"

namespace hindsight {

/// A tier with slots: its layout, and the memory that transfers to and from it take.
struct SlowTierNeeds {
  TierLayout layout;
  std::int64_t buffer_bytes = 0;   ///< of the memory that states are made in: states on their way, a device's scratch
  std::int64_t scratch_bytes = 0;  ///< of host memory: what the threads need
};

/// Plain numbers of one rank. Who changes one of the first ones counts the units again.
struct Means {
  CheckpointOptions checkpoints;
  PerTier own_working{};   ///< bytes that a gradient needs of a memory beside checkpoints and transfers
  PerTier memory_bytes{};  ///< of a memory that a gradient may take; not of one that is given in slots
  std::array<std::optional<SlowTierNeeds>, tier_count> slow{};  ///< tiers with slots that are asked for
  bool uses_disk = true;                                        ///< false: does without, though it is asked for
  bool has_drifted = false;        ///< walking back was tried and is given up: the states were too far off
  PerTier most_units{-1, -1, -1};  ///< found to fit when a tier was full; -1: not found yet
  /// Host memory that the plan's schedule keeps; none: nothing is planned, and slots in host memory have no limit.
  std::optional<std::int64_t> schedule_bytes = {};

  /// What a plan is made from; count_units() says units, sizes of slots, tables, working memory and host bytes.
  PlanInputs inputs = {};
  /// Bytes of a memory that a gradient may take, working memory included: of one that is given in slots what they take;
  /// count_units() says it.
  PerTier budgets{};

  bool is_used(Tier tier) const { return slow[index_of(tier)] && (tier != Tier::disk || uses_disk); }
  bool is_in_slots(Tier tier) const { return checkpoints.is_in_slots(tier); }
  /// Of a disk given in slots what these take; 0 of a tier that is not there.
  std::int64_t budget(Tier tier) const;
  /// For slots, beside what a plan's schedule keeps. Of a disk, no more than slots whose tables leave most of the host
  /// memory to checkpoints.
  std::int64_t bytes_for_slots(Tier tier) const;
  /// Whether so many states fit a memory beside its working memory, and what a gradient cannot do without.
  bool has_room_for(std::int64_t states, Tier tier) const;
  bool has_working_memory(Tier tier) const { return inputs.working(tier) <= budgets[index_of(tier)]; }
  /// Memory that transfers to and from the tiers in use take.
  std::int64_t transfer_bytes(Tier where) const;
  /// The memory that states are made in and, where that is a device's, the host's before it or after it.
  bool is_memory(Tier tier) const { return tier == Tier::host || tier == inputs.memory(); }
};

/// The least of a number over all ranks. Collective.
using LeastOfRanks = std::function<std::int64_t(std::int64_t)>;

/// Counts units of all tiers, as far as the sizes of slots are known, and what is taken beside them. Every rank gets
/// the units of the one that has the least. The host comes last, because the tables of all slots lie in its memory.
/// @throws InputError when slots are more bytes than can be counted. Collective, because `least` is.
void count_units(Means& means, const LeastOfRanks& least);

/// Working memory and budgets with the schedule that the means have now and the units counted before.
void count_working_memory(Means& means);

}  // namespace hindsight

#include "adjoint/gradients/tier_layout.hpp"

#include <algorithm>

#include "adjoint/schedule/level_counts.hpp"
#include "adjoint/store/checkpoints.hpp"
#include "adjoint/store/slot_tier.hpp"
#include "adjoint/sweep/prefetch.hpp"

namespace hindsight {
std::int64_t TierLayout::slot_table_bytes() const {
  // On disk twice: in a list, and in what is written (or was read).
  return SlotTier::table_bytes + Checkpoints::slow_table_bytes + Prefetcher::table_bytes +
         (tier == Tier::disk ? 2 * SlotTier::place_bytes : 0);
}

std::int64_t TierLayout::page_table_bytes() const {
  return PageArena::table_bytes + (tier == Tier::disk ? 2 * SlotTier::page_place_bytes : 0);
}

std::int64_t TierLayout::slot_memory() const {
  return pages_per_slot() * (page_bytes + page_table_bytes()) + slot_table_bytes();
}

std::int64_t TierLayout::slots_in(std::int64_t bytes) const {
  if (tier == Tier::host) return std::max<std::int64_t>(0, bytes) / slot_memory();
  return std::max<std::int64_t>(0, bytes / slot_bytes - spare_slots);
}

std::int64_t TierLayout::pages_in(std::int64_t slots, std::int64_t bytes) const {
  if (tier != Tier::host) return bytes / page_bytes;
  return std::max<std::int64_t>(0, bytes - slots * slot_table_bytes()) / (page_bytes + page_table_bytes());
}

std::int64_t TierLayout::pages_for(std::int64_t slots, std::int64_t bytes) const {
  const std::int64_t least = slots * pages_per_slot() + spare_pages();
  if (!is_coded()) return least;
  return std::max(least, std::min(pages_in(slots, bytes), slots * most_pages() + spare_pages()));
}

std::int64_t TierLayout::table_bytes(std::int64_t slots, std::int64_t bytes) const {
  const std::int64_t most = std::max(slots, measured_slots);
  return slot_table_bytes() * most + page_table_bytes() * pages_for(most, bytes);
}

std::int64_t TierLayout::bytes_of_table(std::int64_t table) const {
  return saturating_product(table / (pages_per_slot() * page_table_bytes() + slot_table_bytes()), slot_bytes);
}

bool TierLayout::may_be_short(std::int64_t slots, std::int64_t bytes) const {
  return is_coded() && pages_for(slots, bytes) < slots * most_pages();
}

}  // namespace hindsight

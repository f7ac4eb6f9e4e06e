// How a slow tier of one rank keeps states: in slots of whole pages, with tables about both in host memory.
#pragma once

#include <cstdint>

#include "adjoint/schedule/action.hpp"
#include "runtime/rounding.hpp"

namespace hindsight {

/// Bytes and counts that follow from each other. Plain numbers.
struct TierLayout {
  /// Slots of a tier that is measured: a tier has so many at least.
  static constexpr std::int64_t measured_slots = 6;
  /// Slots on disk that take over from those that fail.
  static constexpr std::int64_t spare_slots = 2;

  Tier tier = Tier::disk;                    ///< host or disk
  std::int64_t page_bytes = transfer_block;  ///< a multiple of it
  std::int64_t slot_bytes = transfer_block;  ///< whole pages; of coded states what they are known to take at most
  std::int64_t most_bytes = 0;  ///< whole pages that a coded state takes if it gets no smaller; 0: nothing is coded

  bool is_coded() const { return most_bytes > 0; }
  std::int64_t pages_per_slot() const { return slot_bytes / page_bytes; }
  /// Of a state, however little a codec gains.
  std::int64_t most_pages() const { return (is_coded() ? most_bytes : slot_bytes) / page_bytes; }
  std::int64_t spare_pages() const { return tier == Tier::disk ? spare_slots * pages_per_slot() : 0; }
  /// Host memory of a slot's table and of a page's; of those outside of memory an epoch is told too.
  std::int64_t slot_table_bytes() const;
  std::int64_t page_table_bytes() const;
  /// Host memory of a slot there and of its tables.
  std::int64_t slot_memory() const;
  /// Slots that so many bytes hold, in host memory with their tables.
  std::int64_t slots_in(std::int64_t bytes) const;
  /// Pages of so many slots that so many bytes hold; in host memory, beside the tables.
  std::int64_t pages_in(std::int64_t slots, std::int64_t bytes) const;
  /// Pages of a tier that is to have so many slots in so many bytes. Coded states get what there is, as far as they can
  /// use it: some will be larger than others.
  std::int64_t pages_for(std::int64_t slots, std::int64_t bytes) const;
  /// Host memory of the tables of such a tier, at most.
  std::int64_t table_bytes(std::int64_t slots, std::int64_t bytes) const;
  /// The bytes of a tier whose tables take so much host memory.
  std::int64_t bytes_of_table(std::int64_t table) const;
  /// Whether coded states may turn out too large for a tier with so many slots in so many bytes: it would be short of
  /// pages if all were as large as can be.
  bool may_be_short(std::int64_t slots, std::int64_t bytes) const;
};

}  // namespace hindsight

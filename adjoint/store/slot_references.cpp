// States that are stored as differences to others, as the caller's thread sees them. Of the states saved one after
// another, whole ones and differences to the one before take turns: a chain is never longer than one.
#include "adjoint/store/slot_jobs.hpp"

namespace hindsight {

/// Decides whether the state that is saved in a slot is to be a difference, by what was saved and released before and
/// not by how far transfers are. Pages that only differences need are none that were planned for: as long as there are
/// some, states are whole.
bool SlotTier::takes_reference(std::int64_t slot) {
  if (!whole_) return false;
  const bool is_whole = wholes_.last < 0 || place(wholes_.last).dependent >= 0 || wholes_.pins > 0 ||
                        place(wholes_.last).state == State::damaged;
  if (is_whole) {
    wholes_.last = slot;
    return false;
  }
  place(slot).reference = wholes_.last;
  place(wholes_.last).dependent = slot;
  return true;
}

/// Whether the state to which this one is a difference is still being written.
bool SlotTier::waits_for_reference(const Place& p) {
  return p.label.reference.first_page != PageArena::none && p.reference >= 0 && place(p.reference).write >= 0;
}

/// Frees the pages of a slot that was written. Those that a difference needs become its own; it is lost with those of a
/// damaged slot.
void SlotTier::free_pages(Place& p, bool is_damaged) {
  if (is_damaged) lose_dependent(p);
  const std::int64_t first = p.label.first_page;
  p.label = {};
  if (p.pinned != PageArena::none) arena_.free(std::exchange(p.pinned, PageArena::none));
  if (first == PageArena::none) return;
  if (is_damaged) return arena_.retire(first, settings_.spare_pages);
  if (p.dependent < 0) return arena_.free(first);
  Place& dependent = place(std::exchange(p.dependent, -1));
  dependent.reference = -1;
  const bool is_needed = dependent.write >= 0 || dependent.label.reference.first_page == first;
  if (!is_needed) return arena_.free(first);
  dependent.pinned = first;
}

/// The state in p cannot be read back, so that its difference cannot be either. One that has been read ahead is whole.
void SlotTier::lose_dependent(Place& p) {
  if (p.dependent < 0) return;
  const std::int64_t slot = std::exchange(p.dependent, -1);
  Place& dependent = place(slot);
  dependent.reference = -1;
  dependent.has_lost_reference = true;
  if (dependent.write >= 0 || dependent.label.reference.first_page == PageArena::none) return;
  if (const Read* job = read_of(slot)) threads_->wait(*job);
  ++traffic_.damaged;
  dependent.state = State::damaged;
  free_pages(dependent, false);
}

/// A read found the state damaged to which this one is a difference.
void SlotTier::lose_reference(Place& p) {
  if (p.pinned != PageArena::none)
    return arena_.retire(std::exchange(p.pinned, PageArena::none), settings_.spare_pages);
  const std::int64_t slot = p.reference;
  if (slot < 0) return;
  Place& reference = place(slot);
  p.reference = reference.dependent = -1;
  if (const Read* job = read_of(slot)) threads_->wait(*job);
  reference.state = State::damaged;
  free_pages(reference, true);
}

/// A write has told what the state needs. Its reference may have gone since it was saved.
void SlotTier::settle_reference(Place& p) {
  const bool needs_one = p.label.reference.first_page != PageArena::none;
  if (!needs_one && p.pinned != PageArena::none) arena_.free(std::exchange(p.pinned, PageArena::none));
  if (!needs_one || !p.has_lost_reference || p.state != State::ready) return;
  ++traffic_.damaged;
  p.state = State::damaged;
  free_pages(p, false);
}

/// The slot is released: nothing will be saved against it. Its difference keeps its pages, once they are written.
void SlotTier::release_references(std::int64_t slot) {
  Place& p = place(slot);
  if (wholes_.last == slot) wholes_.last = -1;
  if (p.reference >= 0) place(std::exchange(p.reference, -1)).dependent = -1;
  if (std::exchange(p.is_pin, false)) --wholes_.pins;
  if (p.dependent < 0) return;
  place(p.dependent).is_pin = true;
  ++wholes_.pins;
}

}  // namespace hindsight

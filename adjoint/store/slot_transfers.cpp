// What the threads of a slow tier do: states become bytes in pages, and states again.
#include <fmt/format.h>

#include <algorithm>

#include "adjoint/store/packed_state.hpp"
#include "adjoint/store/slot_jobs.hpp"
#include "runtime/rounding.hpp"

namespace hindsight {

/// Calls `work(first cell, cells)` for all pieces of a state, in order.
template <class Work>
void SlotTier::for_pieces(Work work) const {
  constexpr std::int64_t most = piece_bytes / static_cast<std::int64_t>(sizeof(double));
  const std::int64_t all = shape_.doubles();
  for (std::int64_t first = 0; first < all; first += most) work(first, std::min(most, all - first));
}

/// Moves bytes of a slot from `position` on, which is a multiple of 4 KiB. Pages in a row go in one piece.
void SlotTier::transfer(bool is_write, const StoredBytes& stored, std::int64_t position, char* bytes,
                        std::int64_t count) {
  const std::int64_t page_bytes = medium_->page_bytes();
  std::int64_t page = stored.first_page, within = position;
  for (; within >= page_bytes; within -= page_bytes) page = arena_.next(page);
  for (std::int64_t left = rounded_up(count, transfer_block); left > 0;) {
    const std::int64_t begin = page * page_bytes + within;
    std::int64_t room = page_bytes - within;
    for (; arena_.next(page) == page + 1; ++page) room += page_bytes;
    const std::int64_t piece = std::min(left, room);
    if (is_write) {
      medium_->write(begin, bytes, piece);
    } else {
      medium_->read(begin, bytes, piece);
    }
    bytes += piece;
    left -= piece;
    page = arena_.next(page);
    within = 0;
  }
}

void SlotTier::allocate(Write& job) {
  const std::int64_t pages = pages_of(job.label.bytes);
  job.label.first_page = arena_.allocate(pages);
  if (job.label.first_page == PageArena::none) throw MediumError("all pages are in use", true);
  for (std::int64_t page = job.label.first_page; pages > 1 && page != PageArena::none; page = arena_.next(page))
    medium_->link(page, arena_.next(page));
}

/// Encodes the state into scratch memory and finds pages for it. With references, in the order in which states were
/// saved: those to be differences are so to the whole one before them, unless that found no place.
void SlotTier::encode(Write& job, StateBlocks state, Scratch& scratch) {
  auto* const encoded = reinterpret_cast<char*>(scratch.encoded.data());
  const auto code = [&](double* cells, const double* reference) {
    pack(shape_, state, 0, shape_.doubles(), cells);
    const Encoded coded = scratch.coder->encode(cells, reference, encoded);
    job.label.bytes = coded.bytes;
    job.label.checksum = crc32c(encoded, coded.bytes);
    if (coded.needs_reference) job.label.reference = whole_->stored;
    allocate(job);
  };
  if (!whole_) return code(scratch.cells.data(), nullptr);
  const WholeState::Turn turn(*whole_, job.sequence);
  const bool has_reference = job.is_difference && whole_->stored.first_page != PageArena::none;
  if (job.is_difference) return code(scratch.cells.data(), has_reference ? whole_->cells() : nullptr);
  whole_->stored = {};
  code(whole_->cells(), nullptr);
  if (!codec_->is_lossless()) scratch.coder->decode(encoded, job.label.bytes, false, whole_->cells());
  whole_->stored = job.label;
}

/// From a device's words into scratch memory. @returns false when the state must be encoded from its cells.
bool SlotTier::encode_words(Write& job, Scratch& scratch) {
  DeviceWords& words = *scratch.words;
  WordsCoder& coder = *scratch.coder->words();
  if (!coder.scales(words.largest_magnitudes(job.data), words.scales())) return false;
  words.bring(job.data, words.scales());
  auto* const encoded = reinterpret_cast<char*>(scratch.encoded.data());
  job.label.bytes = coder.encode(words.words(), words.scales(), encoded).bytes;
  job.label.checksum = crc32c(encoded, job.label.bytes);
  allocate(job);
  return true;
}

/// With all padding.
void SlotTier::copy(Link& link, StateBlocks to, StateBlocks from) const {
  link.copy(to.now, from.now, shape_.padded_doubles);
  if (shape_.levels > 1) link.copy(to.before, from.before, shape_.padded_doubles);
}

/// From a device into a slot that lies in memory.
void SlotTier::store_there(Write& job, Scratch& scratch) {
  job.label.bytes = shape_.padded_bytes();
  job.label.checksum = 0;
  allocate(job);
  double* const slot = medium_->memory() + job.label.first_page * (medium_->page_bytes() / 8);
  copy(*scratch.link, shape_.blocks(slot), job.data);
}

/// On a transfer thread. States as they are go piece by piece through scratch memory that stays in the cache.
void SlotTier::store(Write& job, Scratch& scratch) {
  if (is_direct_) return store_there(job, scratch);
  SlotLabel& label = job.label;
  const bool has_words = scratch.words && encode_words(job, scratch);
  StateBlocks state = job.data;
  if (job.made && !has_words) {
    state = shape_.blocks(scratch.state.data());
    copy(*scratch.link, state, job.data);
  }
  if (codec_) {
    if (!has_words) encode(job, state, scratch);
    transfer(true, label, 0, reinterpret_cast<char*>(scratch.encoded.data()), label.bytes);
  } else {
    label.bytes = shape_.bytes();
    label.checksum = 0;
    allocate(job);
    for_pieces([&](std::int64_t first, std::int64_t count) {
      pack(shape_, state, first, count, scratch.cells.data());
      label.checksum = crc32c(scratch.cells.data(), count * 8, label.checksum);
      transfer(true, label, first * 8, reinterpret_cast<char*>(scratch.cells.data()), count * 8);
    });
  }
  medium_->label(job.slot, label);
}

namespace {

void check(std::uint32_t checksum, const StoredBytes& stored) {
  if (checksum != stored.checksum)
    throw MediumError(fmt::format("wrong checksum: {:08x} in place of {:08x}", checksum, stored.checksum));
}

}  // namespace

/// Reads into the scratch memory of coded states.
const char* SlotTier::read_encoded(const StoredBytes& stored, Scratch& scratch) {
  auto* const encoded = reinterpret_cast<char*>(scratch.encoded.data());
  transfer(false, stored, 0, encoded, stored.bytes);
  check(crc32c(encoded, stored.bytes), stored);
  return encoded;
}

/// Into a device's state. @returns false when it was not stored as words.
bool SlotTier::decode_words(Read& job, const char* encoded, Scratch& scratch) {
  DeviceWords& words = *scratch.words;
  if (!scratch.coder->words()->decode(encoded, job.label.bytes, words.words(), words.scales())) return false;
  words.take(job.data, words.scales());
  return true;
}

/// Into the scratch cells. @param has_reference they hold the state's reference.
void SlotTier::decode(const StoredBytes& stored, const char* encoded, bool has_reference, Scratch& scratch) {
  if (!scratch.coder->decode(encoded, stored.bytes, has_reference, scratch.cells.data()))
    throw MediumError("what was read cannot be decoded");
}

/// On a transfer thread.
void SlotTier::fetch(Read& job, Scratch& scratch) {
  if (!job.made) return fetch_here(job, job.data, scratch);
  StateBlocks from = shape_.blocks(scratch.state.data());
  if (is_direct_) {
    from = shape_.blocks(medium_->memory() + job.label.first_page * (medium_->page_bytes() / 8));
  } else if (scratch.words) {
    const char* const encoded = read_encoded(job.label, scratch);
    if (decode_words(job, encoded, scratch)) return;
    decode(job.label, encoded, false, scratch);
    unpack(shape_, scratch.cells.data(), 0, shape_.doubles(), from);
  } else {
    fetch_here(job, from, scratch);
  }
  copy(*scratch.link, job.data, from);
}

/// Into a state in the host's memory.
void SlotTier::fetch_here(Read& job, StateBlocks state, Scratch& scratch) {
  const SlotLabel& label = job.label;
  if (codec_) {
    const bool has_reference = label.reference.first_page != PageArena::none;
    job.reference_failed = has_reference;
    if (has_reference) decode(label.reference, read_encoded(label.reference, scratch), false, scratch);
    job.reference_failed = false;
    decode(label, read_encoded(label, scratch), has_reference, scratch);
    unpack(shape_, scratch.cells.data(), 0, shape_.doubles(), state);
    return;
  }
  std::uint32_t checksum = 0;
  for_pieces([&](std::int64_t first, std::int64_t count) {
    transfer(false, label, first * 8, reinterpret_cast<char*>(scratch.cells.data()), count * 8);
    checksum = crc32c(scratch.cells.data(), count * 8, checksum);
    unpack(shape_, scratch.cells.data(), first, count, state);
  });
  check(checksum, label);
}

}  // namespace hindsight

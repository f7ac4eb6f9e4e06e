#include "adjoint/store/slot_tier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "src/error.hpp"

namespace hindsight {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr std::int64_t block = 4096;                          // bytes; what transfers are made of
constexpr std::int64_t piece_bytes = std::int64_t{2} << 20U;  // of a state that go at once

std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

/// Calls `work(first cell, cells)` for all pieces of a state, in order.
template <class Work>
void SlotTier::for_pieces(Work work) const {
  constexpr std::int64_t most = piece_bytes / static_cast<std::int64_t>(sizeof(double));
  for (std::int64_t first = 0; first < shape_.doubles(); first += most)
    work(first, std::min(most, shape_.doubles() - first));
}

/// What both directions need. The caller's thread writes it while the job is idle, the transfer thread while it runs.
struct SlotTier::Transfer : TransferJob {
  Transfer(SlotTier& owner) : tier(owner) {}
  SlotTier& tier;
  std::int64_t slot = -1;  ///< -1: not in use
  Buffer state;            ///< only the caller's thread touches the reference
  double* data = nullptr;
  SlotLabel label;
  bool has_failed = false, found_no_space = false;
  std::string problem;
  double seconds = 0.0;

  void begin(std::int64_t of_slot, Buffer buffer, const SlotLabel& of_label) {
    slot = of_slot;
    state = std::move(buffer);
    data = state.data();
    label = of_label;
    has_failed = found_no_space = false;
  }
  void end() {
    slot = -1;
    state.reset();
  }
  template <class Work>
  void attempt(Work work) noexcept {
    const Clock::time_point begin_time = Clock::now();
    try {
      work();
    } catch (const MediumError& error) {
      has_failed = true;
      found_no_space = error.is_full();
      problem = error.what();
    } catch (const std::exception& error) {
      has_failed = true;
      problem = error.what();
    }
    seconds = since(begin_time);
  }
};

class SlotTier::Write final : public Transfer {
 public:
  using Transfer::Transfer;
  std::int64_t sequence = 0;
  void run(int thread) noexcept override {
    attempt([&] { tier.store(*this, tier.scratch_[static_cast<std::size_t>(thread)]); });
  }
};

class SlotTier::Read final : public Transfer {
 public:
  using Transfer::Transfer;
  bool is_copy = false;  ///< the state was still waiting to be written: nothing is read
  void run(int thread) noexcept override {
    attempt([&] { tier.fetch(*this, tier.scratch_[static_cast<std::size_t>(thread)]); });
  }
};

SlotTier::SlotTier(TierSettings settings, const StateShape& shape, std::unique_ptr<Medium> medium,
                   std::shared_ptr<const Codec> codec, std::shared_ptr<TransferThreads> threads)
    : settings_(settings),
      shape_(shape),
      medium_(std::move(medium)),
      codec_(std::move(codec)),
      threads_(std::move(threads)),
      arena_(medium_->pages()),
      places_(static_cast<std::size_t>(settings.slots)),
      scratch_(static_cast<std::size_t>(threads_->count())) {
  for (Scratch& scratch : scratch_) {
    scratch.cells = Memory::pages(codec_ ? shape_.bytes() : std::min(piece_bytes, rounded_up(shape_.bytes(), block)));
    if (!codec_) continue;
    scratch.encoded = Memory::pages(rounded_up(codec_->bound(shape_), block));
    scratch.coder = codec_->coder(shape_);
  }
  for (int i = 0; i < std::max(1, settings_.queue); ++i) writes_.push_back(std::make_unique<Write>(*this));
  for (int i = 0; i < settings_.prefetch + 1; ++i) reads_.push_back(std::make_unique<Read>(*this));
}

std::int64_t SlotTier::scratch_bytes(const StateShape& shape, const Codec* codec, int threads) {
  const std::int64_t state = rounded_up(shape.bytes(), block);
  return threads * (codec != nullptr ? state + rounded_up(codec->bound(shape), block) : std::min(piece_bytes, state));
}

SlotTier::~SlotTier() {
  clear();
}

/// Moves bytes of a slot from `position` on, which is a multiple of 4 KiB. Pages in a row go in one piece.
void SlotTier::transfer(bool is_write, const SlotLabel& label, std::int64_t position, char* bytes, std::int64_t count) {
  const std::int64_t page_bytes = medium_->page_bytes();
  std::int64_t page = label.first_page, within = position;
  for (; within >= page_bytes; within -= page_bytes) page = arena_.next(page);
  for (std::int64_t left = rounded_up(count, block); left > 0;) {
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
  const std::int64_t pages = (job.label.bytes + medium_->page_bytes() - 1) / medium_->page_bytes();
  job.label.first_page = arena_.allocate(pages);
  if (job.label.first_page == PageArena::none) throw MediumError("all pages are in use", true);
  for (std::int64_t page = job.label.first_page; pages > 1 && page != PageArena::none; page = arena_.next(page))
    medium_->link(page, arena_.next(page));
}

/// On a transfer thread. States as they are go piece by piece through scratch memory that stays in the cache.
void SlotTier::store(Write& job, Scratch& scratch) {
  SlotLabel& label = job.label;
  if (codec_) {
    auto* const encoded = reinterpret_cast<char*>(scratch.encoded.data());
    pack(shape_, job.data, 0, shape_.doubles(), scratch.cells.data());
    label.bytes = scratch.coder->encode(scratch.cells.data(), encoded);
    label.checksum = crc32c(encoded, label.bytes);
    allocate(job);
    transfer(true, label, 0, encoded, label.bytes);
  } else {
    label.bytes = shape_.bytes();
    label.checksum = 0;
    allocate(job);
    for_pieces([&](std::int64_t first, std::int64_t count) {
      pack(shape_, job.data, first, count, scratch.cells.data());
      label.checksum = crc32c(scratch.cells.data(), count * 8, label.checksum);
      transfer(true, label, first * 8, reinterpret_cast<char*>(scratch.cells.data()), count * 8);
    });
  }
  medium_->label(job.slot, label);
}

/// On a transfer thread.
void SlotTier::fetch(Read& job, Scratch& scratch) {
  const SlotLabel& label = job.label;
  std::uint32_t checksum = 0;
  auto* const encoded = reinterpret_cast<char*>(scratch.encoded.data());
  if (codec_) {
    transfer(false, label, 0, encoded, label.bytes);
    checksum = crc32c(encoded, label.bytes);
  } else {
    for_pieces([&](std::int64_t first, std::int64_t count) {
      transfer(false, label, first * 8, reinterpret_cast<char*>(scratch.cells.data()), count * 8);
      checksum = crc32c(scratch.cells.data(), count * 8, checksum);
      unpack(shape_, scratch.cells.data(), first, count, job.data);
    });
  }
  if (checksum != label.checksum)
    throw MediumError(fmt::format("wrong checksum: {:08x} in place of {:08x}", checksum, label.checksum));
  if (!codec_) return;
  if (!scratch.coder->decode(encoded, label.bytes, scratch.cells.data()))
    throw MediumError("what was read cannot be decoded");
  unpack(shape_, scratch.cells.data(), 0, shape_.doubles(), job.data);
}

void SlotTier::free_pages(Place& p) {
  if (p.label.first_page == PageArena::none) return;
  if (p.state == State::damaged) {
    arena_.retire(p.label.first_page, settings_.spare_pages);
  } else {
    arena_.free(p.label.first_page);
  }
  p.label = {};
}

/// Takes note of a write that is done.
void SlotTier::reap(Write& job) {
  Place& p = place(job.slot);
  traffic_.write_busy += job.seconds;
  largest_bytes_ = std::max(largest_bytes_, job.label.bytes);
  p.label = job.label;
  p.write = -1;
  if (job.has_failed) {
    ++traffic_.lost;
    problem_ = job.problem;
    if (job.found_no_space && !is_full_) {
      is_full_ = true;
      slots_that_fit_ = std::count_if(places_.begin(), places_.end(), [](const Place& other) {
        return other.state == State::ready || other.state == State::draining;
      });
    }
    if (p.state == State::filling) p.state = State::damaged;
  } else {
    ++traffic_.writes;
    traffic_.bytes_written += job.label.bytes;
    if (p.state == State::filling) p.state = State::ready;
  }
  if (p.state == State::free || p.state == State::damaged) free_pages(p);
  job.end();
}

void SlotTier::reap_done() {
  for (const auto& job : writes_)
    if (job->slot >= 0 && threads_->is_done(*job)) reap(*job);
}

SlotTier::Write& SlotTier::free_write() {
  reap_done();
  Write* oldest = nullptr;
  std::int64_t waiting = 0;
  for (const auto& job : writes_) {
    if (job->slot < 0) continue;
    ++waiting;
    if (oldest == nullptr || job->sequence < oldest->sequence) oldest = job.get();
  }
  traffic_.longest_queue = std::max(traffic_.longest_queue, waiting);
  if (waiting == static_cast<std::int64_t>(writes_.size())) {
    const Clock::time_point begin = Clock::now();
    threads_->wait(*oldest);
    traffic_.write_stall += since(begin);
    reap(*oldest);
  }
  return **std::find_if(writes_.begin(), writes_.end(), [](const auto& job) { return job->slot < 0; });
}

void SlotTier::save(std::int64_t slot, const Buffer& state, std::int64_t step) {
  Place& p = place(slot);
  if (p.state != State::free) throw Error(ExitCode::bug, fmt::format("slot {} of a tier is not free", slot));
  if (p.write >= 0) {  // released before it was written
    Write& before = *writes_[static_cast<std::size_t>(p.write)];
    threads_->wait(before);
    reap(before);
  }
  Write& job = free_write();
  SlotLabel label;
  label.step = step;
  p.label = label;
  p.state = State::filling;
  for (std::size_t i = 0; i < writes_.size(); ++i)
    if (writes_[i].get() == &job) p.write = static_cast<int>(i);
  job.begin(slot, state, label);
  job.sequence = sequence_++;
  threads_->submit(job, false);
  if (settings_.queue > 0) return;
  const Clock::time_point begin = Clock::now();
  threads_->wait(job);
  traffic_.write_stall += since(begin);
  reap(job);
}

SlotTier::Read* SlotTier::read_of(std::int64_t slot) {
  for (const auto& job : reads_)
    if (job->slot == slot) return job.get();
  return nullptr;
}

SlotTier::Read* SlotTier::free_read() {
  return read_of(-1);
}

SlotTier::Read* SlotTier::begin_read(std::int64_t slot, Pool& pool, bool is_urgent) {
  Read* const job = free_read();
  if (job == nullptr) return nullptr;
  Place& p = place(slot);
  p.state = State::draining;
  job->begin(slot, pool.acquire(), p.label);
  job->is_copy = false;
  threads_->submit(*job, is_urgent);
  return job;
}

bool SlotTier::prefetch(std::int64_t slot, Pool& pool) {
  reap_done();
  Place& p = place(slot);
  const auto busy = std::count_if(reads_.begin(), reads_.end(), [](const auto& job) { return job->slot >= 0; });
  if (busy >= settings_.prefetch || read_of(slot) != nullptr) return false;
  if (p.state == State::ready) return begin_read(slot, pool, true) != nullptr;
  if (p.state != State::filling || (codec_ && !codec_->is_lossless())) return p.state == State::damaged;
  Read* const job = free_read();
  const Write& write = *writes_[static_cast<std::size_t>(p.write)];
  job->begin(slot, write.state, p.label);  // the write's own label is the transfer thread's for now
  job->is_copy = true;
  return true;
}

Buffer SlotTier::load(std::int64_t slot, Pool& pool) {
  reap_done();
  Place& p = place(slot);
  Read* job = read_of(slot);
  if (job != nullptr) {
    ++traffic_.ahead;
  } else if (p.state == State::filling) {
    Write& write = *writes_[static_cast<std::size_t>(p.write)];
    if (!codec_ || codec_->is_lossless()) {
      ++traffic_.reads;
      ++traffic_.ahead;
      return write.state;
    }
    threads_->wait(write);  // what was coded is not what was given
    reap(write);
  }
  if (job == nullptr && p.state == State::damaged) return {};
  if (job == nullptr) job = begin_read(slot, pool, true);
  const Clock::time_point begin = Clock::now();
  threads_->wait(*job);
  traffic_.read_stall += since(begin);
  Buffer state = job->has_failed ? Buffer() : std::move(job->state);
  if (!job->is_copy) {
    traffic_.read_busy += job->seconds;
    traffic_.bytes_read += job->label.bytes;
  }
  if (job->has_failed) {
    ++traffic_.damaged;
    problem_ = job->problem;
    p.state = State::damaged;
    free_pages(p);
  } else {
    ++traffic_.reads;
    if (p.state == State::draining) p.state = State::ready;
  }
  job->end();
  return state;
}

void SlotTier::release(std::int64_t slot) {
  Place& p = place(slot);
  if (Read* job = read_of(slot)) {  // read ahead for nothing
    threads_->wait(*job);
    job->end();
  }
  if (p.write >= 0) {
    Write& write = *writes_[static_cast<std::size_t>(p.write)];
    if (threads_->cancel(write)) {
      p.write = -1;
      write.end();
    }
  } else {
    free_pages(p);
  }
  p.state = State::free;
}

void SlotTier::finish() {
  for (const auto& job : writes_) {
    if (job->slot < 0) continue;
    threads_->wait(*job);
    reap(*job);
  }
}

void SlotTier::flush() {
  finish();
  medium_->flush();
}

void SlotTier::clear() {
  for (const auto& job : writes_) {
    if (job->slot < 0) continue;
    if (!threads_->cancel(*job)) threads_->wait(*job);
    job->end();
  }
  for (const auto& job : reads_) {
    if (job->slot < 0) continue;
    if (!threads_->cancel(*job)) threads_->wait(*job);
    job->end();
  }
  std::fill(places_.begin(), places_.end(), Place{});
  arena_.clear();
  is_full_ = false;
  problem_.clear();
  traffic_ = {};
}

}  // namespace hindsight

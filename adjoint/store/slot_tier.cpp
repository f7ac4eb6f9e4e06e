#include "adjoint/store/slot_tier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "adjoint/store/slot_jobs.hpp"
#include "runtime/error.hpp"
#include "runtime/rounding.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {
SlotTier::SlotTier(TierSettings settings, const StateShape& shape, std::unique_ptr<Medium> medium,
                   std::shared_ptr<const Codec> codec, std::shared_ptr<TransferThreads> threads, Machine& machine,
                   std::shared_ptr<device::Program> words)
    : settings_(settings),
      shape_(shape),
      medium_(std::move(medium)),
      codec_(std::move(codec)),
      threads_(std::move(threads)),
      machine_(machine),
      words_(std::move(words)),
      is_direct_(!machine.is_host() && !codec_ && medium_->memory() != nullptr),
      arena_(medium_->pages()),
      places_(static_cast<std::size_t>(settings.slots)),
      scratch_(static_cast<std::size_t>(threads_->count())) {
  for (Scratch& scratch : scratch_) {
    if (!machine_.is_host()) scratch.link = machine_.link();
    if (is_direct_) continue;
    if (!machine_.is_host()) scratch.state = Memory::pages(shape_.padded_bytes(), machine_.near_host());
    scratch.cells =
        Memory::pages(codec_ ? shape_.bytes() : std::min(piece_bytes, rounded_up(shape_.bytes(), transfer_block)));
    if (!codec_) continue;
    scratch.encoded = Memory::pages(rounded_up(codec_->bound(shape_), transfer_block));
    scratch.coder = codec_->coder(shape_);
    if (!has_device_words(shape_, codec_.get(), machine_)) continue;
    scratch.words = std::make_unique<DeviceWords>(*codec_->words(shape_), shape_, machine_, *words_, *scratch.link);
  }
  if (codec_ && codec_->takes_references()) whole_ = std::make_unique<WholeState>(shape_.bytes());
  for (int i = 0; i < std::max(1, settings_.queue); ++i) writes_.push_back(std::make_unique<Write>(*this));
  for (int i = 0; i < settings_.prefetch + 1; ++i) reads_.push_back(std::make_unique<Read>(*this));
}

std::int64_t SlotTier::scratch_bytes(const StateShape& shape, const Codec* codec, int threads, const Machine& machine,
                                     bool is_direct) {
  if (is_direct) return 0;
  const std::int64_t state = rounded_up(shape.bytes(), transfer_block);
  std::int64_t copies = machine.is_host() ? 0 : threads * rounded_up(shape.padded_bytes(), transfer_block);
  if (has_device_words(shape, codec, machine)) copies += threads * DeviceWords::host_bytes(*codec->words(shape), shape);
  if (codec == nullptr) return copies + threads * std::min(piece_bytes, state);
  return copies + threads * (state + rounded_up(codec->bound(shape), transfer_block)) +
         (codec->takes_references() ? state : 0);
}

std::int64_t SlotTier::device_scratch_bytes(const StateShape& shape, const Codec* codec, int threads,
                                            const Machine& machine) {
  return has_device_words(shape, codec, machine) ? threads * DeviceWords::device_bytes(*codec->words(shape), shape) : 0;
}

SlotTier::~SlotTier() {
  clear();
}

/// Takes note of a write that is done.
void SlotTier::reap(Write& job) {
  Place& p = place(job.slot);
  traffic_.write_busy += job.seconds;
  traffic_.write_cpu += job.cpu_seconds;
  largest_bytes_ = std::max(largest_bytes_, job.label.bytes);
  p.label = job.label;
  p.write = -1;
  if (job.has_failed) {
    ++traffic_.lost;
    trouble_.text = job.problem;
    if (job.found_no_space && !trouble_.is_full) {
      trouble_.is_full = true;
      trouble_.slots_that_fit = std::count_if(places_.begin(), places_.end(), [](const Place& other) {
        return other.state == State::ready || other.state == State::draining;
      });
    }
    if (p.state == State::filling) p.state = State::damaged;
  } else {
    ++traffic_.writes;
    traffic_.bytes_written += job.label.bytes;
    if (job.label.reference.first_page != PageArena::none) ++traffic_.differences;
    if (p.state == State::filling) p.state = State::ready;
  }
  settle_reference(p);
  if (job.has_failed) lose_dependent(p);
  if (p.state == State::free || p.state == State::damaged) free_pages(p, p.state == State::damaged);
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
    const Stopwatch watch;
    threads_->wait(*oldest);
    traffic_.write_stall += watch.seconds();
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
  p.has_lost_reference = false;
  for (std::size_t i = 0; i < writes_.size(); ++i)
    if (writes_[i].get() == &job) p.write = static_cast<int>(i);
  job.begin(slot, state, label);
  job.sequence = sequence_++;
  job.is_difference = takes_reference(slot);
  threads_->submit(job, false);
  if (settings_.queue > 0) return;
  const Stopwatch watch;
  threads_->wait(job);
  traffic_.write_stall += watch.seconds();
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
  job->begin(slot, pool.acquire_levels(shape_.levels), p.label);
  job->is_copy = false;
  threads_->submit(*job, is_urgent);
  return job;
}

bool SlotTier::prefetch(std::int64_t slot, Pool& pool) {
  reap_done();
  Place& p = place(slot);
  const auto busy = std::count_if(reads_.begin(), reads_.end(), [](const auto& job) { return job->slot >= 0; });
  if (busy >= settings_.prefetch || read_of(slot) != nullptr) return false;
  if (p.state == State::ready) return !waits_for_reference(p) && begin_read(slot, pool, true) != nullptr;
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
  if (job == nullptr && waits_for_reference(p)) {
    Write& write = *writes_[static_cast<std::size_t>(place(p.reference).write)];
    threads_->wait(write);
    reap(write);
  }
  if (job == nullptr && p.state == State::damaged) return {};
  if (job == nullptr) job = begin_read(slot, pool, true);
  const Stopwatch watch;
  threads_->wait(*job);
  traffic_.read_stall += watch.seconds();
  Buffer state = job->has_failed ? Buffer() : std::move(job->state);
  if (!job->is_copy) {
    traffic_.read_busy += job->seconds;
    traffic_.read_cpu += job->cpu_seconds;
    traffic_.bytes_read += job->label.bytes + job->label.reference.bytes;
  }
  if (job->has_failed) {
    ++traffic_.damaged;
    trouble_.text = job->problem;
    if (job->reference_failed) lose_reference(p);
    p.state = State::damaged;
    free_pages(p, !job->reference_failed);
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
  release_references(slot);
  if (p.write >= 0) {
    Write& write = *writes_[static_cast<std::size_t>(p.write)];
    if (!whole_ && threads_->cancel(write)) {  // later ones wait for their turn
      p.write = -1;
      write.end();
    }
  } else {
    free_pages(p, p.state == State::damaged);
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
  try {
    medium_->flush();
    is_flushed_ = true;
  } catch (const MediumError& error) {
    trouble_.text = error.what();
    is_flushed_ = false;
  }
}

bool SlotTier::is_outside(const Place& p) const {
  return p.label.reference.first_page == PageArena::none && (p.state == State::ready || p.state == State::draining);
}

std::vector<std::int64_t> SlotTier::places_outside() const {
  std::vector<std::int64_t> all;
  if (!is_flushed_ || !medium_->outlives_process()) return all;
  std::int64_t numbers = 0;
  for (const Place& p : places_)
    if (is_outside(p)) numbers += 2 + pages_of(p.label.bytes);
  all.reserve(static_cast<std::size_t>(numbers));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const SlotLabel& label = places_[i].label;
    if (!is_outside(places_[i])) continue;
    all.push_back(static_cast<std::int64_t>(i << 32U | label.checksum));
    all.push_back(label.bytes);
    for (std::int64_t page = label.first_page; page != PageArena::none; page = arena_.next(page)) all.push_back(page);
  }
  return all;
}

std::vector<bool> SlotTier::adopt(const std::vector<std::int64_t>& places) {
  clear();
  std::vector<bool> is_there(places_.size(), false);
  PageArena::Use use(arena_);
  for (std::size_t i = 0; medium_->outlives_process() && i + 1 < places.size();) {
    const auto slot = static_cast<std::size_t>(places[i]) >> 32U;
    const std::int64_t bytes = places[i + 1], pages = bytes > 0 ? pages_of(bytes) : 0;
    if (slot >= places_.size() || pages < 1 || pages > std::ssize(places) - static_cast<std::int64_t>(i) - 2) break;
    const std::span chain(places.data() + i + 2, static_cast<std::size_t>(pages));
    if (!is_there[slot] && use.take(chain)) {
      is_there[slot] = true;
      Place& p = place(static_cast<std::int64_t>(slot));
      p.state = State::ready;
      p.label.first_page = chain.front();
      p.label.bytes = bytes;
      p.label.checksum = static_cast<std::uint32_t>(places[i]);
    }
    i += 2 + static_cast<std::size_t>(pages);
  }
  return is_there;
}

void SlotTier::clear() {
  // The newest first: those that begin meanwhile wait for the turns of all before them.
  std::sort(writes_.begin(), writes_.end(), [](const auto& a, const auto& b) { return a->sequence > b->sequence; });
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
  wholes_ = {};
  if (whole_) whole_->restart(sequence_);
  trouble_ = {};
  traffic_ = {};
}

}  // namespace hindsight

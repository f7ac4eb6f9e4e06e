#include "runtime/launch_batches.hpp"

#include <bit>
#include <cstring>

#include "runtime/error.hpp"

namespace hindsight::device {

/// Four words, then the arguments.
void Launches::add(const Launch& launch) {
  ++count_;
  const std::size_t at = words_.size(), words = (static_cast<std::size_t>(launch.arguments.bytes) + 7) / 8;
  words_.resize(at + 4 + words, 0);
  words_[at] = std::bit_cast<std::uint64_t>(launch.program);
  words_[at + 1] = launch.kernel;
  words_[at + 2] = static_cast<std::uint64_t>(launch.arguments.bytes);
  words_[at + 3] = static_cast<std::uint64_t>(launch.blocks);
  std::memcpy(&words_[at + 4], launch.arguments.data, static_cast<std::size_t>(launch.arguments.bytes));
}

void Launches::for_each(const std::function<void(const Launch&)>& work) const {
  for (std::size_t at = 0; at < words_.size(); at += 4 + (words_[at + 2] + 7) / 8)
    work({std::bit_cast<Program*>(words_[at]), words_[at + 1],
          Arguments(&words_[at + 4], static_cast<std::int64_t>(words_[at + 2])),
          static_cast<std::int64_t>(words_[at + 3])});
}

std::size_t Launches::hash() const {
  std::uint64_t hash = words_.size();
  for (const std::uint64_t word : words_) hash = (std::rotl(hash, 23) ^ word) * 0x9e3779b97f4a7c15U;
  return hash ^ hash >> 32U;
}

void LaunchBatches::begin() {
  if (batches_ == trial) {
    // Times or random numbers are among the arguments, or many buffers.
    const bool pays = repeats_ >= trial / one_in;
    if (!pays) paused_ = pause_;
    pause_ = pays ? first_pause : 2 * pause_;
    batches_ = repeats_ = 0;
  }
  is_open_ = paused_ == 0;
  if (!is_open_) --paused_;
}

/// Null: they go one by one.
LaunchBatches::Graph* LaunchBatches::graph_of(const Launches& launches) {
  constexpr std::int64_t often = 3;
  auto known = known_.find(launches);
  if (known == known_.end()) {
    if (known_.size() == most) known_.clear();
    known = known_.emplace(launches, Known()).first;
  } else {
    ++repeats_;
  }
  Known& mine = known->second;
  if (++mine.times < often || mine.graph || mine.has_failed) return mine.graph.get();
  try {
    mine.graph = make_(known->first);
  } catch (const ResourceError&) {  // no memory
    mine.has_failed = true;
  }
  return mine.graph.get();
}

void LaunchBatches::end() {
  is_open_ = false;
  if (gathered_.count() < 2) return flush();
  ++batches_;
  Graph* const graph = graph_of(gathered_);
  if (graph == nullptr) return flush();
  gathered_.clear();
  ++replayed_;
  graph->run();
}

void LaunchBatches::abandon() noexcept {
  is_open_ = false;
  gathered_.clear();
}

void LaunchBatches::flush() {
  if (gathered_.count() == 0) return;
  try {
    gathered_.for_each(run_);
  } catch (...) {
    gathered_.clear();
    throw;
  }
  gathered_.clear();
}

void LaunchBatches::forget() noexcept {
  gathered_.clear();
  known_.clear();
  batches_ = repeats_ = paused_ = 0;
  pause_ = first_pause;
}

}  // namespace hindsight::device

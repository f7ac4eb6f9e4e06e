#include "src/backend/cuda/launch_batches.hpp"

#include <bit>
#include <cstring>

namespace hindsight::cuda {

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

void LaunchBatches::end() {
  is_open_ = false;
  if (gathered_.count() < 2) return flush();
  ++batches_;
  const auto known = known_.find(gathered_);
  if (known == known_.end()) {
    if (known_.size() == most) known_.clear();
    known_.emplace(gathered_, nullptr);
    return flush();
  }
  ++repeats_;
  if (!known->second) known->second = make_(known->first);
  known->second->run();
  gathered_.clear();
}

void LaunchBatches::flush() {
  if (gathered_.count() == 0) return;
  gathered_.for_each(run_);
  gathered_.clear();
}

void LaunchBatches::forget() noexcept {
  gathered_.clear();
  known_.clear();
}

}  // namespace hindsight::cuda

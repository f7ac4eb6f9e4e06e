// Parts of a sum over shots, in memory or where there is more room.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace hindsight {

/// Numbers that a shot gives, on each rank its own: an objective, derivatives by scalars, those by the rank's cells.
struct ShotPart {
  std::vector<double> numbers;
  ShotPart& operator+=(const ShotPart& other) {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += other.numbers[i];
    return *this;
  }
};

/// Where parts wait for which there is no memory. Collective over the ranks of a group, which throw together.
class PartLog {
 public:
  virtual ~PartLog() = default;
  /// @returns its place, on this rank.
  virtual std::int64_t put(const ShotPart& part) = 0;
  virtual ShotPart get(std::int64_t place) = 0;
};

/// A part that waits for others.
class WaitingPart {
 public:
  WaitingPart(ShotPart part) : part_(std::move(part)) {}
  /// @param log has it at this place, and must outlive it.
  WaitingPart(PartLog& log, std::int64_t place) : log_(&log), place_(place) {}
  bool is_in_memory() const { return log_ == nullptr; }
  bool has_numbers() const { return !is_in_memory() || !part_.numbers.empty(); }
  /// Of one that is not in memory.
  std::int64_t place() const { return place_; }
  void put_away(PartLog& log) {
    place_ = log.put(part_);
    log_ = &log;
    part_ = {};
  }
  /// Calls visit(part).
  template <class Visit>
  void look_at(const Visit& visit) const {
    is_in_memory() ? visit(part_) : visit(log_->get(place_));
  }
  ShotPart take() && { return is_in_memory() ? std::move(part_) : log_->get(place_); }
  WaitingPart& operator+=(const WaitingPart& other) {
    if (!is_in_memory()) part_ = std::exchange(log_, nullptr)->get(place_);
    other.look_at([this](const ShotPart& theirs) { part_ += theirs; });
    return *this;
  }

 private:
  ShotPart part_;
  PartLog* log_ = nullptr;
  std::int64_t place_ = 0;
};

}  // namespace hindsight

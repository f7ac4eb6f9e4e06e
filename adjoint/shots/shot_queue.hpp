// Which shot a group works on next.
#pragma once

#include <cstddef>
#include <cstdint>

#include "adjoint/shots/shot_groups.hpp"

namespace hindsight {

/// Gives the numbers 0, 1, 2, ... to groups that ask, each number once. It is a counter in the memory of rank 0, which
/// the others add to without its help (MPI's one-sided communication).
class ShotQueue {
 public:
  /// @param groups outlive it. Collective over all groups, as is the end.
  explicit ShotQueue(const ShotGroups& groups);
  ~ShotQueue();
  ShotQueue(const ShotQueue&) = delete;
  ShotQueue& operator=(const ShotQueue&) = delete;

  /// The next number, on all ranks of the group. Collective over the group.
  std::int64_t next();
  /// Leaves so many numbers out.
  void skip(std::size_t count);
  /// From now on it begins with 0 again. Collective over all groups.
  void restart();

 private:
  const ShotGroups& groups_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::int64_t* counter_ = nullptr;  // on rank 0; of a single group, on all
  std::int64_t add(std::int64_t number);
  std::int64_t own_ = 0;
};

}  // namespace hindsight

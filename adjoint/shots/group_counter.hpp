// A number that all groups add to.
#pragma once

#include <cstdint>

#include "adjoint/shots/shot_groups.hpp"

namespace hindsight {

/// It is in the memory of rank 0, which the others add to without its help (MPI's one-sided communication), and begins
/// with 0.
class GroupCounter {
 public:
  /// @param groups outlive it. Collective over all groups, as is the end.
  explicit GroupCounter(const ShotGroups& groups);
  ~GroupCounter();
  GroupCounter(const GroupCounter&) = delete;
  GroupCounter& operator=(const GroupCounter&) = delete;

  /// @returns what it was before, on all ranks of the group. Collective over the group.
  std::int64_t add(std::int64_t number);
  /// From now on it begins with 0 again. Collective over all groups.
  void restart();

 private:
  const ShotGroups& groups_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::int64_t* counter_ = nullptr;  // on rank 0
  std::int64_t own_ = 0;             // of a single group
};

}  // namespace hindsight

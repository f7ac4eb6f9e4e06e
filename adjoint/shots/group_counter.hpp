// A number that all groups add to.
#pragma once

#include <cstdint>
#include <functional>

#include "adjoint/shots/shot_groups.hpp"

namespace hindsight {

/// It is rank 0's, which others ask by messages and which answers when it serves, and it begins with 0. (MPI's
/// one-sided communication would need no answers, but there is none between nodes where a site has switched it off.)
class GroupCounter {
 public:
  /// @param groups outlive it.
  explicit GroupCounter(const ShotGroups& groups) : groups_(groups) {}

  /// @returns what it was before, on all ranks of the group. Returns, in other groups than the first, when that serves.
  /// Collective over the group.
  std::int64_t add(std::int64_t number);
  /// Rank 0 answers who waits; on others, nothing. Costs about a microsecond.
  void serve();
  /// Returns when all groups have come here, and it begins with 0 again. Rank 0 serves until then, and calls
  /// `meanwhile` again and again. Collective over all groups.
  void restart(const std::function<void()>& meanwhile = {});

 private:
  const ShotGroups& groups_;
  std::int64_t counter_ = 0;  // on rank 0
};

}  // namespace hindsight

// The ranks of a run in groups of equal size, each of which works on one shot at a time.
#pragma once

#include "runtime/communicator.hpp"

namespace hindsight {

/// Group g has the ranks g*size to (g + 1)*size - 1. Communicators are its own.
class ShotGroups {
 public:
  /// @param count of groups; divides the ranks. @throws InputError naming what divides them. Collective.
  ShotGroups(const Communicator& world, int count);
  ~ShotGroups();
  ShotGroups(const ShotGroups&) = delete;
  ShotGroups& operator=(const ShotGroups&) = delete;

  int count() const { return world_.size() / group_.size(); }
  /// Of this rank's group.
  int index() const { return world_.rank() / group_.size(); }
  const Communicator& world() const { return world_; }
  const Communicator& group() const { return group_; }
  /// The ranks that have this rank's number in their groups, in the order of groups: they own the same cells.
  const Communicator& across() const { return across_; }

 private:
  static MPI_Comm split(const Communicator& world, int color);
  Communicator world_, group_, across_;
};

}  // namespace hindsight

// The ranks of a run in groups of equal size, each of which works on one shot at a time.
#pragma once

#include <functional>

#include "runtime/communicator.hpp"

namespace hindsight {

/// Of messages between groups, which differ so that none is taken for another.
enum ShotTag : int {
  tag_of_heads = 19001,
  tag_of_sums,
  tag_of_calls,
  tag_of_questions,
  tag_of_answers,
  tag_of_commits
};

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

  /// Asks the other groups to end what they are at: this one has failed, or stops. Collective over the group.
  void call_off() const;
  /// Whether one of them has asked for that since clear(), as far as rank 0 of the group knows; false on the others.
  bool is_called_off() const;
  /// Forgets who asked. Collective over all groups.
  void clear() const;
  /// All groups work; what the ranks of a group throw, all ranks throw, and what a rank throws alone, it throws alone.
  /// Collective over all groups.
  void together(const std::function<void()>& work) const;
  /// Whether all ranks of this group come here soon: what they have thrown, they have thrown together.
  bool have_met() const;

 private:
  static MPI_Comm split(const Communicator& world, int color);
  Communicator world_, group_, across_;
  mutable bool has_called_ = false;
};

}  // namespace hindsight

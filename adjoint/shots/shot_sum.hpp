// What shots of several groups give, added up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "adjoint/shots/part_log.hpp"
#include "adjoint/shots/shot_groups.hpp"
#include "adjoint/shots/tree_sum.hpp"
#include "runtime/error.hpp"

namespace hindsight {

/// The sum over all shots in TreeSum's tree, of which each group adds up what it has worked on as far as it can. At the
/// end each rank of another group sends the nodes that it has to the rank of group 0 that owns the same cells (8 bytes
/// a number, a message per node, which are at most as many as shots, and one before), and gets the sum from there.
class ShotSum {
 public:
  /// @param shots of all groups. @param log where parts wait that are more than `most` on this rank; null: all wait in
  /// memory. It must outlive this.
  ShotSum(std::size_t shots, const ShotGroups& groups, PartLog* log = nullptr, std::size_t most = 0)
      : groups_(groups), sum_(shots), log_(log), most_(most) {}

  void add(std::size_t shot, ShotPart part) { enter(shot, shot + 1, WaitingPart(std::move(part))); }
  void leave_out(std::size_t shot) { enter(shot, shot + 1, std::nullopt); }
  /// The sum over the shots of a node of the tree, or none, as for_each() gave it: they are done.
  void enter(std::size_t first, std::size_t end, std::optional<WaitingPart> sum);
  /// Calls visit(first, end, sum) with the nodes of this group's sum.
  template <class Visit>
  void for_each(const Visit& visit) const {
    sum_.for_each(visit);
  }
  /// Parts that wait for others on this rank, and those of them in memory.
  std::size_t waiting() const { return sum_.waiting(); }
  std::size_t waiting_in_memory() const;
  /// What this rank has sent to others.
  struct Traffic {
    std::int64_t messages = 0, bytes = 0;
  };
  const Traffic& sent() const { return sent_; }
  /// Once every shot was added, or left out, by some group; none where all were left out. Collective over all groups,
  /// which throw together.
  std::optional<ShotPart> total();

 private:
  void send();
  bool receive();
  ShotPart receive(int group) const;
  template <class T>
  void send(const std::vector<T>& numbers, MPI_Datatype type, int tag);
  const ShotGroups& groups_;
  TreeSum<WaitingPart> sum_;
  PartLog* log_;
  std::size_t most_;
  Traffic sent_;
};

}  // namespace hindsight

// What shots of several groups give, added up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "adjoint/shots/shot_groups.hpp"
#include "adjoint/shots/tree_sum.hpp"

namespace hindsight {

/// Numbers that a shot gives, on each rank its own: an objective, derivatives by scalars, those by the rank's cells.
struct ShotPart {
  std::vector<double> numbers;
  ShotPart& operator+=(const ShotPart& other) {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += other.numbers[i];
    return *this;
  }
};

/// The sum over all shots in TreeSum's tree, of which each group adds up what it has worked on as far as it can. At the
/// end each rank of another group sends the nodes that it has to the rank of group 0 that owns the same cells (8 bytes
/// a number, a message per node, which are at most as many as shots, and one before), and gets the sum from there.
class ShotSum {
 public:
  /// @param shots of all groups.
  ShotSum(std::size_t shots, const ShotGroups& groups) : groups_(groups), sum_(shots) {}

  void add(std::size_t shot, ShotPart part) { sum_.add(shot, std::move(part)); }
  void leave_out(std::size_t shot) { sum_.leave_out(shot); }
  /// The sum over the shots of a node of the tree, or none, as for_each() gave it: they are done.
  void enter(std::size_t first, std::size_t end, std::optional<ShotPart> sum) {
    sum_.enter(first, end, std::move(sum));
  }
  /// Calls visit(first, end, sum) with the nodes of this group's sum.
  template <class Visit>
  void for_each(const Visit& visit) const {
    sum_.for_each(visit);
  }
  /// Parts that wait for others on this rank.
  std::size_t waiting() const { return sum_.waiting(); }
  /// What this rank has sent to others.
  struct Traffic {
    std::int64_t messages = 0, bytes = 0;
  };
  const Traffic& sent() const { return sent_; }
  /// Once every shot was added, or left out, by some group; none where all were left out. Collective over all groups.
  std::optional<ShotPart> total();

 private:
  void send();
  void receive();
  template <class T>
  void send(const std::vector<T>& numbers, MPI_Datatype type, int tag);
  const ShotGroups& groups_;
  TreeSum<ShotPart> sum_;
  Traffic sent_;
};

}  // namespace hindsight

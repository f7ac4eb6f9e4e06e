// Sums over shots that do not show in which order these were done.
#pragma once

#include <bit>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

namespace hindsight {

/// Adds up parts with the numbers 0 to count - 1 in one tree, whatever the order in which they come: a node over
/// several numbers adds the sum of the first 2^k of them, the largest power below their count, and that of the others.
/// A part may be left out; the sum is that of the same tree without it. Parts that wait for others are kept: if they
/// come in order, no more than log2(count) + 1.
/// @tparam Part is moved, and added to by `Part& operator+=(const Part&)`.
template <class Part>
class TreeSum {
 public:
  explicit TreeSum(std::size_t count) : count_(count) {}

  void add(std::size_t number, Part part) { enter(number, number + 1, std::move(part)); }
  void leave_out(std::size_t number) { enter(number, number + 1, std::nullopt); }
  /// The sum of a node of the tree, or none; its parts must not be added any more.
  void enter(std::size_t first, std::size_t end, std::optional<Part> sum);
  /// Calls visit(first, end, sum) with the nodes that are kept, in order; sum is none where all in it were left out.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [first, node] : nodes_) visit(first, node.end, node.sum);
  }
  template <class Visit>
  void for_each(const Visit& visit) {
    for (auto& [first, node] : nodes_) visit(first, node.end, node.sum);
  }
  /// Parts that are kept now.
  std::size_t waiting() const {
    std::size_t parts = 0;
    for (const auto& [first, node] : nodes_) parts += node.sum.has_value() ? 1 : 0;
    return parts;
  }
  bool is_complete() const { return nodes_.contains(0) && nodes_.at(0).end == count_; }
  /// Of a complete sum; none when all parts were left out.
  std::optional<Part> take() {
    if (!is_complete()) throw std::logic_error("a sum over shots is not complete");
    return std::move(nodes_.extract(nodes_.begin()).mapped().sum);
  }

 private:
  struct Node {
    std::size_t end = 0;
    std::optional<Part> sum;
  };

  /// The node above [first, end), of the tree over all.
  std::pair<std::size_t, std::size_t> above(std::size_t first, std::size_t end) const {
    std::size_t from = 0, to = count_;
    while (true) {
      const std::size_t middle = from + std::bit_floor(to - from - 1);
      const bool is_left = first < middle;
      if ((is_left ? from : middle) == first && (is_left ? middle : to) == end) return {from, to};
      (is_left ? to : from) = middle;
    }
  }

  std::size_t count_;
  std::map<std::size_t, Node> nodes_;  // by their first number
};

template <class Part>
void TreeSum<Part>::enter(std::size_t first, std::size_t end, std::optional<Part> sum) {
  while (first > 0 || end < count_) {
    const auto [from, to] = above(first, end);
    const auto other = nodes_.find(first == from ? end : from);
    if (other == nodes_.end() || other->second.end != (first == from ? to : first)) break;
    std::optional<Part> left = std::move(other->second.sum), right = std::move(sum);
    nodes_.erase(other);
    if (first == from) std::swap(left, right);
    if (left && right) *left += *right;
    sum = left ? std::move(left) : std::move(right);
    first = from;
    end = to;
  }
  const auto next = nodes_.upper_bound(first);
  const bool overlaps =
      (next != nodes_.begin() && std::prev(next)->second.end > first) || (next != nodes_.end() && next->first < end);
  if (overlaps) throw std::logic_error("a shot enters a sum twice");
  nodes_[first] = {end, std::move(sum)};
}

}  // namespace hindsight

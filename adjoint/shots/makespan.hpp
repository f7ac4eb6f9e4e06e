// In which order groups work on shots, and how long that takes.
#pragma once

#include <cstddef>
#include <vector>

namespace hindsight {

/// Shots that a group works on one after the other: those of a node of TreeSum's tree, of which one sum is left.
struct ShotBlock {
  std::size_t first = 0, end = 0;
};

/// Blocks that take equally long, as nearly as nodes of the tree can: so many at most, or one of each shot.
std::vector<ShotBlock> blocks_of_work(const std::vector<double>& seconds, std::size_t most);

/// Of each block.
std::vector<double> seconds_of(const std::vector<ShotBlock>& blocks, const std::vector<double>& seconds);

/// Parts of a TreeSum that wait at most where a group takes any of the blocks, which are at most so many, in any order;
/// with those that are added.
std::size_t most_waiting(std::size_t shots, std::size_t blocks);

/// When the last group ends, if each takes the next shot (or block) when it is free.
double makespan(const std::vector<double>& seconds, const std::vector<std::size_t>& order, int groups);

/// An order with which all groups end together, as nearly as can be found within some milliseconds: the longest first
/// (Graham, 1969: no order ends before 3/4 of the time that this one takes), or a better one. Of like ones the first
/// first.
std::vector<std::size_t> order_of_work(const std::vector<double>& seconds, int groups);

}  // namespace hindsight

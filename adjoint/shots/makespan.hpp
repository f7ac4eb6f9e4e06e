// In which order groups work on shots, and how long that takes.
#pragma once

#include <cstddef>
#include <vector>

namespace hindsight {

/// When the last group ends, if each takes the next shot when it is free.
double makespan(const std::vector<double>& seconds, const std::vector<std::size_t>& order, int groups);

/// An order with which all groups end together, as nearly as can be found within some milliseconds: the longest first
/// (Graham, 1969: no order ends before 3/4 of the time that this one takes), or a better one. Of like ones the first
/// first.
std::vector<std::size_t> order_of_work(const std::vector<double>& seconds, int groups);

}  // namespace hindsight

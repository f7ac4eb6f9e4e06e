#include "adjoint/shots/makespan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace hindsight {
namespace {

std::vector<std::size_t> longest_first(const std::vector<double>& seconds) {
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return seconds[a] > seconds[b]; });
  return order;
}

/// Which group does which shots: divisions are tried one after the other, each shot, the longest first, with the group
/// that is free first, then with others, unless that ends no sooner than the best division so far.
class Division {
 public:
  Division(const std::vector<double>& seconds, int groups)
      : seconds_(seconds),
        shots_(longest_first(seconds)),
        group_of_(seconds.size(), 0),
        ends_(static_cast<std::size_t>(groups), 0.0) {
    const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    least_ = std::max(all / groups, shots_.empty() ? 0.0 : seconds[shots_.front()]);
    divide(0);
  }

  /// By the times at which they begin.
  std::vector<std::size_t> order() const {
    std::vector<double> ends(ends_.size(), 0.0);
    std::vector<std::pair<double, std::size_t>> begins;
    for (std::size_t i = 0; i < shots_.size(); ++i) {
      begins.emplace_back(ends[best_[i]], shots_[i]);
      ends[best_[i]] += seconds_[shots_[i]];
    }
    std::ranges::stable_sort(begins, {}, &std::pair<double, std::size_t>::first);
    std::vector<std::size_t> all;
    for (const auto& [begin, shot] : begins) all.push_back(shot);
    return all;
  }

 private:
  void divide(std::size_t next) {
    constexpr double rounding = 1e-9;
    if (++tried_ > most_tried || best_end_ <= least_ * (1 + rounding)) return;
    if (next == shots_.size()) {
      best_end_ = std::ranges::max(ends_);
      best_ = group_of_;
      return;
    }
    std::vector<std::size_t> groups(ends_.size());
    std::iota(groups.begin(), groups.end(), 0);
    std::ranges::stable_sort(groups, {}, [&](std::size_t group) { return ends_[group]; });
    const double seconds = seconds_[shots_[next]];
    double before = -1.0;
    for (const std::size_t group : groups) {
      const double end = ends_[group];
      if (end == std::exchange(before, end) || end + seconds >= best_end_ * (1 - rounding)) continue;
      group_of_[next] = group;
      ends_[group] = end + seconds;
      divide(next + 1);
      ends_[group] = end;
    }
  }

  static constexpr int most_tried = 100'000;  // some milliseconds
  const std::vector<double>& seconds_;
  std::vector<std::size_t> shots_, group_of_, best_;  // groups by places in shots_
  std::vector<double> ends_;
  double least_ = 0.0, best_end_ = std::numeric_limits<double>::infinity();
  int tried_ = 0;
};

}  // namespace

double makespan(const std::vector<double>& seconds, const std::vector<std::size_t>& order, int groups) {
  std::vector<double> free(static_cast<std::size_t>(groups), 0.0);
  for (const std::size_t shot : order) *std::ranges::min_element(free) += seconds[shot];
  return std::ranges::max(free);
}

std::vector<std::size_t> order_of_work(const std::vector<double>& seconds, int groups) {
  constexpr std::size_t most_shots = 1000;
  if (groups == 1 || seconds.size() > most_shots) return longest_first(seconds);
  return Division(seconds, groups).order();
}

}  // namespace hindsight

// The cheapest schedule by exhaustive search over the states of the machine (Dijkstra's algorithm): no recurrence, no
// assumption about the shape of a schedule. For few steps and slots.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "adjoint/schedule/simulated_machine.hpp"

namespace hindsight::test {

struct SearchTier {
  std::int64_t units;
  double write = 0, read = 0;
};

/// What is searched. Records may be stored in the first tier only, and only if record_units > 0.
struct SearchProblem {
  int steps = 1;
  std::vector<SearchTier> tiers;
  double forward = 1, reverse = 1;  ///< reverse: recording and reversing, as restart schedules do
  int record_units = 0;
  bool record_gives_state = false;
  bool counts_records = false;  ///< cost = forward steps, recording ones included, instead of forward and reverse costs
};

/// The machine: which state is live (-1: none), whether its predecessor's record is live too, how many steps are not
/// reversed yet (steps + 1: the end was not reached), what each tier holds (bit k: state k; record k).
struct SearchState {
  int live = 0, live_record = -1, front = 0;
  std::vector<std::uint32_t> states;
  std::uint32_t records = 0;
  auto operator<=>(const SearchState&) const = default;
};

class ExhaustiveSearch {
 public:
  explicit ExhaustiveSearch(SearchProblem problem) : p_(std::move(problem)) {}

  /// The least cost; -1 when the steps cannot be reversed.
  double cost() {
    SearchState start;
    start.front = p_.steps + 1;
    start.states.assign(p_.tiers.size(), 0);
    reach(0, start);
    while (!queue_.empty()) {
      const auto [cost, state] = queue_.top();
      queue_.pop();
      if (cost > best_[state]) continue;
      if (state.front == 0) return cost;
      expand(cost, state);
    }
    return -1;
  }

 private:
  using Entry = std::pair<double, SearchState>;

  void reach(double cost, SearchState state) {
    const int useful = state.front > p_.steps ? p_.steps : state.front;  // later states and records serve no one
    const std::uint32_t mask = (std::uint32_t{1} << useful) - 1;
    for (std::uint32_t& tier : state.states) tier &= mask;
    state.records &= mask;
    const auto [found, is_new] = best_.try_emplace(state, cost);
    if (!is_new && found->second <= cost) return;
    found->second = cost;
    queue_.push({cost, state});
  }

  std::int64_t used(const SearchState& s, std::size_t tier) const {
    std::int64_t units = __builtin_popcount(s.states[tier]);
    if (tier == 0) units += std::int64_t{p_.record_units} * __builtin_popcount(s.records);
    return units;
  }

  void expand(double cost, const SearchState& s) {
    const int end = s.front > p_.steps ? p_.steps : s.front;
    if (s.live >= 0 && s.live < end) {
      step(cost, s, false);
      step(cost, s, true);
    }
    if (s.live_record >= 0 && s.live_record == s.front - 1) {
      SearchState next = s;
      next.front = s.live_record;
      next.live = next.live_record = -1;
      reach(cost + (p_.counts_records ? 0 : p_.reverse), next);
    }
    for (std::size_t t = 0; t < p_.tiers.size(); ++t) transfers(cost, s, t);
    if (p_.record_units > 0) records(cost, s);
  }

  /// Advance or record one step. The end is reached only by recording the last step.
  void step(double cost, const SearchState& s, bool record) {
    const bool reaches_end = s.front > p_.steps && s.live == p_.steps - 1;
    const bool reaches_front = s.front <= p_.steps && s.live == s.front - 1;
    if (!record && (reaches_end || reaches_front)) return;
    SearchState next = s;
    next.live = s.live + 1;
    next.live_record = record ? s.live : -1;
    if (reaches_end) next.front = p_.steps;
    const bool is_free = record && !p_.counts_records && (reaches_end || reaches_front);  // part of the reversal's cost
    if (record && !p_.counts_records && !is_free) return;  // restart states only: recorded just before the reversal
    reach(cost + (is_free ? 0 : p_.forward), next);
  }

  void transfers(double cost, const SearchState& s, std::size_t t) {
    const SearchTier& tier = p_.tiers[t];
    if (s.live >= 0 && s.live < p_.steps && (s.states[t] >> s.live & 1U) == 0 && used(s, t) < tier.units) {
      SearchState next = s;
      next.states[t] |= std::uint32_t{1} << s.live;
      reach(cost + tier.write, next);
    }
    for (int k = 0; k < p_.steps; ++k) {
      if ((s.states[t] >> k & 1U) == 0) continue;
      SearchState released = s;
      released.states[t] &= ~(std::uint32_t{1} << k);
      reach(cost, released);
      if (s.front > p_.steps) continue;  // before the end nothing is gained by going back
      SearchState loaded = s;
      loaded.live = k;
      loaded.live_record = -1;
      reach(cost + tier.read, loaded);
    }
  }

  void records(double cost, const SearchState& s) {
    if (s.live_record >= 0 && (s.records >> s.live_record & 1U) == 0 &&
        used(s, 0) + p_.record_units <= p_.tiers[0].units) {
      SearchState next = s;
      next.records |= std::uint32_t{1} << s.live_record;
      reach(cost, next);
    }
    for (int k = 0; k < p_.steps; ++k) {
      if ((s.records >> k & 1U) == 0) continue;
      SearchState released = s;
      released.records &= ~(std::uint32_t{1} << k);
      reach(cost, released);
      if (s.front > p_.steps) continue;
      SearchState loaded = s;
      loaded.live = p_.record_gives_state ? k + 1 : -1;
      loaded.live_record = k;
      reach(cost, loaded);
    }
  }

  SearchProblem p_;
  std::map<SearchState, double> best_;
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return a.first > b.first; }
  };
  std::priority_queue<Entry, std::vector<Entry>, Later> queue_;
};

/// cams, and where it can, mixed, take no more steps than any schedule of states and records.
inline void expect_fewest_with_records(int n, std::int64_t units, int record_units, bool gives_state) {
  ScheduleRequest request{n, {{0, units, 0}}};
  request.record_units = record_units;
  request.record_gives_state = gives_state;
  SearchProblem problem{n, {{units}}};
  problem.record_units = record_units;
  problem.record_gives_state = gives_state;
  problem.counts_records = true;
  const double fewest = ExhaustiveSearch(problem).cost();
  const std::string at = std::to_string(n) + " steps, " + std::to_string(units) + " units, records of " +
                         std::to_string(record_units) + (gives_state ? ", stiffly accurate" : "");
  EXPECT_EQ(static_cast<double>(simulate(schedules().find("cams"), request).total()), fewest) << at;
  if (record_units == 1 && !gives_state) {
    EXPECT_EQ(static_cast<double>(simulate(schedules().find("mixed"), request).total()), fewest) << at;
  }
}

}  // namespace hindsight::test

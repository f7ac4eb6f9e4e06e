// Shots that groups of ranks share, evaluation by evaluation: who does which, and what each gave.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/objective/term.hpp"
#include "adjoint/shots/shot_queue.hpp"
#include "adjoint/shots/shot_sum.hpp"

namespace hindsight {

/// What one of several experiments gave to an evaluation.
struct ShotResult {
  std::string name;
  double weight = 1.0;
  double objective = 0.0;  ///< of the shot alone, without its weight
  std::vector<Term::Residuals> residuals;
  std::int64_t steps = 0;
  double seconds = 0.0;  ///< of its sweeps
};

/// Collective over all groups, but for next() and what only looks: those over a group.
class SharedShots {
 public:
  /// @param groups null: the ranks of `comm` are the only one.
  SharedShots(const ShotGroups* groups, const Communicator& comm, std::size_t count);

  const ShotGroups& groups() const { return *groups_; }
  std::size_t count() const { return is_excluded_.size(); }
  /// An evaluation begins.
  void begin();
  /// The shot that this group works on next; none: no other is left. Those that took longest come first.
  std::optional<std::size_t> next();
  /// No group shall begin another one: this one's has failed.
  void stop() { queue_.skip(count()); }
  /// This group has worked on a shot. @param result the same on all ranks of the group.
  void enter(std::size_t shot, ShotResult result);
  /// This group has found that a shot fails, in the first evaluation.
  void exclude(std::size_t shot, std::string reason);
  /// An evaluation ends: what the others found. @param failure of this group, with which the evaluation fails; the same
  /// for all ranks of the group. @returns the first group's failure; none: all shots were done or are excluded.
  std::optional<std::string> end(const std::optional<std::string>& failure);

  bool is_first() const { return is_first_; }
  bool is_excluded(std::size_t shot) const { return is_excluded_[shot]; }
  /// Those that were excluded in the evaluation that has ended, with reasons, in order.
  const std::vector<std::pair<std::size_t, std::string>>& newly_excluded() const { return excluded_; }
  /// Of the shots that count, in order; names and weights are for who has them.
  const std::vector<std::optional<ShotResult>>& results() const { return results_; }

 private:
  void share_results();
  void share_exclusions();
  void sort();
  std::unique_ptr<ShotGroups> own_;
  const ShotGroups* groups_;
  ShotQueue queue_;
  std::vector<std::size_t> order_;
  std::vector<bool> is_excluded_;
  std::vector<std::optional<ShotResult>> results_;
  std::vector<std::pair<std::size_t, std::string>> excluded_;
  bool is_first_ = true;
};

}  // namespace hindsight

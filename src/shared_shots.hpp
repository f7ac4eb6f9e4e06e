// Shots that groups of ranks share, evaluation by evaluation: who does which, and what each gave.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "adjoint/objective/term.hpp"
#include "adjoint/shots/group_counter.hpp"
#include "adjoint/shots/shot_sum.hpp"
#include "runtime/error.hpp"

namespace hindsight {

/// What one of several experiments gave to an evaluation.
struct ShotResult {
  std::string name;
  double weight = 1.0;
  double objective = 0.0;  ///< of the shot alone, without its weight
  std::vector<Term::Residuals> residuals;
  std::int64_t steps = 0;
  double seconds = 0.0;                ///< of its sweeps
  std::vector<double> simulated = {};  ///< what misfits saw, one after the other (Session::keep_simulated())
};

/// Collective over all groups, but for next() and what only looks: those over a group.
class SharedShots {
 public:
  /// @param groups null: the ranks of `comm` are the only one. @param shuffle the seed of random orders, for tests.
  SharedShots(const ShotGroups* groups, const Communicator& comm, std::size_t count,
              std::optional<unsigned> shuffle = {});

  const ShotGroups& groups() const { return *groups_; }
  std::size_t count() const { return is_excluded_.size(); }
  /// Which shots evaluations are of from now on; first all. Between evaluations, the same in all groups.
  void select(std::vector<bool> shots) { is_selected_ = std::move(shots); }
  /// How many are selected, excluded ones among them.
  std::size_t selected() const;
  /// Whether the evaluation is of the shot.
  bool takes_part(std::size_t shot) const { return is_selected_[shot] && !is_excluded_[shot]; }
  /// An evaluation begins. @param kept shots of it that this group has worked on before, or is about to.
  void begin(const std::vector<std::size_t>& kept = {});
  /// The shot that this group works on next; none: no other is left. Those that took longest come first.
  std::optional<std::size_t> next();
  /// No group shall begin another one: this one's has failed.
  void stop() { queue_.add(static_cast<std::int64_t>(count())); }
  /// To be called now and then while this group works: others may wait in next() until the first one has.
  void serve() { queue_.serve(); }
  /// This group has worked on a shot. @param result the same on all ranks of the group.
  void enter(std::size_t shot, ShotResult result);
  /// This group has found that a shot fails, in the first evaluation that is of it.
  void exclude(std::size_t shot, std::string reason);
  /// An evaluation ends: what the others found. @param failure of this group, with which the evaluation fails; the same
  /// for all ranks of the group. @throws the gravest failure of any group: other errors before those of the numerics,
  /// and these before Stopped; of like ones the first group's. @param meanwhile called while rank 0 waits for others.
  void end(const std::optional<Error>& failure, const std::function<void()>& meanwhile);
  /// An evaluation was worked out before. @param results of all shots that count. @param excluded in this evaluation.
  void recall(std::vector<std::optional<ShotResult>> results,
              std::vector<std::pair<std::size_t, std::string>> excluded);

  /// Whether no evaluation before was of the shot.
  bool is_first(std::size_t shot) const { return !is_tried_[shot]; }
  /// Those that were excluded in the evaluation that has ended, with reasons, in order.
  /// While one is under way: by this group.
  const std::vector<std::pair<std::size_t, std::string>>& newly_excluded() const { return excluded_; }
  /// Of the shots that count, in order; names and weights are for who has them. While an evaluation is under way, those
  /// that this group has worked on.
  const std::vector<std::optional<ShotResult>>& results() const { return results_; }

 private:
  void share_results();
  void share_simulated();
  void share_exclusions();
  void sort();
  void take_as_tried();
  std::unique_ptr<ShotGroups> own_;
  const ShotGroups* groups_;
  GroupCounter queue_;
  std::vector<std::size_t> order_;
  std::vector<bool> is_selected_, is_excluded_;
  std::vector<bool> is_tried_;  // by an evaluation that has ended
  std::vector<bool> is_kept_;   // not for the queue in this evaluation
  std::vector<std::optional<ShotResult>> results_;
  std::vector<std::pair<std::size_t, std::string>> excluded_;
  std::optional<std::mt19937> shuffle_;
};

}  // namespace hindsight

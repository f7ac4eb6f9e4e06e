// Optimal checkpointing on a free fast tier above slower ones, by counting: no table grows with the number of steps.
//
// A state kept in a slow tier is the start of a *spine*: it is read again and again, each time to advance to and
// reverse another piece of its segment, the latest first. The pieces of a spine of level b have levels b, b+1, b+2,
// ...: a step of a piece of level t has been advanced t times before its piece's turn comes. A piece is a spine itself,
// or a *leaf* of that tier, which belongs to the next faster one; a leaf of the slow tiers is reversed in the fast tier
// by Revolve, which offers C(c-1+rho, rho) steps at repetition t+rho with c slots. A tier with M slots nests M spines,
// so a spine has C(d-1+x, x) places for spines d deeper and x levels up. All places are taken lowest first; what is
// left to choose is how many spines (writes) and how many leaves (reads, plus one) there are. In two tiers the result
// equals the dynamic program of Herrmann and Pallez (H-Revolve, ACM TOMS 46, 2020) in every case tried (see the tests).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "adjoint/schedule/schedule.hpp"

namespace hindsight {

/// A tier below the free one.
struct SlowTier {
  Tier tier = Tier::disk;
  std::int64_t slots = 0;  ///< of this many, at least 1
  double write = 0, read = 0;
};

/// Everything below `level`, and `extra` of what is at it.
struct LevelCut {
  std::int64_t level = 0, extra = 0;
};

class LeafSteps;

class Levels {
 public:
  struct Problem {
    std::int64_t steps = 1;
    Tier fast = Tier::host;
    std::int64_t fast_slots = 0;  ///< may be 0
    std::vector<SlowTier> slow;   ///< the faster first; writes and reads must not get cheaper
    double forward = 1;           ///< cost of a plain step
  };
  /// The cheapest found: exact for one slow tier; for two a search that ends in a minimum of its neighbourhood.
  /// Time and memory grow with the logarithm of the steps (and with the number of levels).
  static Levels best(const Problem& problem);

  /// Plain steps and transfers.
  double cost() const { return cost_; }
  /// No schedule costs less than this; proven by branch and bound until it reaches `enough` or `boxes` boxes were cut.
  double lower_bound(double enough, int boxes = 100'000) const;
  /// `endless` when 64 bits do not count them.
  std::int64_t plain() const { return plain_; }
  std::int64_t writes(std::size_t slow) const { return choice_[slow].spines; }
  std::int64_t reads(std::size_t slow) const { return choice_[slow].leaves; }
  ActionStream actions() const;
  /// Memory of a stream of actions over these tiers, at most.
  static std::int64_t bytes(std::int64_t steps, std::int64_t fast_slots, std::int64_t slow_slots);

 private:
  friend class LevelSearch;
  friend class LevelWalk;
  /// Of one slow tier: how many spines, and how many leaves beyond the one that each tree has anyway.
  struct Choice {
    std::int64_t spines = 0, leaves = 0;
    friend bool operator==(const Choice&, const Choice&) = default;
  };
  struct Cuts {
    LevelCut spines, leaves;
  };
  explicit Levels(const Problem& problem);
  /// Takes places for this choice; false when it has not enough places or too many leaves.
  bool take(const std::vector<Choice>& choice);

  Problem problem_;
  std::vector<Choice> choice_;
  std::vector<Cuts> cuts_;
  std::shared_ptr<const LeafSteps> leaf_;
  LevelCut steps_;
  double cost_ = 0;
  std::int64_t plain_ = 0;
  bool is_too_deep_ = false;  ///< the choice needs more levels than are tried
};

}  // namespace hindsight

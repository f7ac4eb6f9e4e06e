// How many spines, leaves and steps there are at each level (levels.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "adjoint/schedule/levels.hpp"

namespace hindsight {

__extension__ using Wide = __int128;

/// Counts by level, from level 0. Saturating.
using LevelCounts = std::vector<std::int64_t>;

/// Takes places level by level, lowest first.
class LevelTaker {
 public:
  /// As many as there are, until `amount` is reached; cut() tells where.
  static LevelTaker up_to(std::int64_t amount) { return {amount, {}, true}; }
  /// All below a cut; of those at it, at most cut.extra.
  static LevelTaker within(LevelCut cut) { return {cut.extra, cut, false}; }

  std::int64_t take(std::int64_t level, std::int64_t places);
  /// Nothing will be taken from `level` on.
  bool is_done(std::int64_t level) const { return counts_ ? left_ == 0 : level > cut_.level; }
  /// What is left to be taken (up_to), or of the extra ones (within).
  std::int64_t left() const { return left_; }
  LevelCut cut() const { return cut_; }

 private:
  LevelTaker(std::int64_t left, LevelCut cut, bool counts) : left_(left), cut_(cut), counts_(counts) {}
  std::int64_t left_;
  LevelCut cut_;
  bool counts_;
};

/// No step is repeated that often in a choice worth having.
inline constexpr std::int64_t deepest_level = std::int64_t{1} << 20;

/// Memory that grow_leaves() uses again.
struct LevelScratch {
  LevelCounts roots, taken;
};

/// From the trees in one tier to their leaves, in place; cut off at level `deepest`. counts[t] trees begin at level t;
/// each may grow a spine with `nested` further spines one inside the other below it.
void grow_leaves(LevelCounts& counts, std::int64_t nested, LevelTaker& spines, LevelTaker& leaves,
                 LevelScratch& scratch, std::int64_t deepest = deepest_level);

/// The steps that leaves offer with c slots of the fast tier.
class LeafSteps {
 public:
  LeafSteps(std::int64_t slots, std::int64_t steps);
  /// beta(c, r), saturating beyond the number of steps.
  std::int64_t up_to_repetition(std::int64_t r) const;
  /// All steps of a leaf at level t that are repeated less than `repetition` times; at least 1.
  std::int64_t below(std::int64_t t, std::int64_t repetition) const {
    return t < repetition ? up_to_repetition(repetition - 1 - t) : 1;
  }
  /// Further ones repeated exactly that often.
  std::int64_t at(std::int64_t t, std::int64_t repetition) const {
    return t < repetition ? up_to_repetition(repetition - t) - up_to_repetition(repetition - 1 - t) : 0;
  }
  std::int64_t below(const LevelCounts& leaves, std::int64_t repetition) const;
  std::int64_t at(const LevelCounts& leaves, std::int64_t repetition) const;
  /// The repetitions of the steps of below(), summed, as far as below() does not saturate.
  Wide repetitions_below(const LevelCounts& leaves, std::int64_t repetition) const;

 private:
  std::int64_t slots_, most_;
  std::vector<std::int64_t> beta_;  // until it passes the number of steps; not for c < 2
};

/// Saturating sum and product of counts that are not negative.
std::int64_t saturating_sum(std::int64_t a, std::int64_t b);
std::int64_t saturating_product(std::int64_t a, std::int64_t b);

}  // namespace hindsight

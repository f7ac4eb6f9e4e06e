// The actions of levels, from the sizes of its pieces: the latest piece of a spine is reversed first.
#include <algorithm>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/level_counts.hpp"
#include "adjoint/schedule/levels.hpp"

namespace hindsight {

/// Walks the places in the order in which they are reversed.
class LevelWalk {
 public:
  /// What a subtree may still take of the places at the cuts, per slow tier, and of the steps.
  struct Extra {
    std::int64_t spines[2] = {0, 0}, leaves[2] = {0, 0}, steps = 0;
  };
  /// A spine whose pieces are being reversed. Its state is in slot `depth` of its tier.
  struct Spine {
    std::size_t tier;
    std::int64_t depth, level, begin, end;
    Extra extra;
    bool is_live;
  };
  struct Piece {
    std::size_t tier;
    std::int64_t depth, level, begin, end;
    Extra extra;
  };

  explicit LevelWalk(const Levels& levels) : levels_(levels), steps_(*levels.leaf_) {
    constexpr std::size_t usual_levels = 64;
    for (LevelCounts* counts : {&leaves_, &scratch_.roots, &scratch_.taken}) counts->reserve(usual_levels);
  }

  Extra all() const {
    Extra extra;
    for (std::size_t k = 0; k < levels_.cuts_.size(); ++k) {
      extra.spines[k] = levels_.cuts_[k].spines.extra;
      extra.leaves[k] = levels_.cuts_[k].leaves.extra;
    }
    extra.steps = levels_.steps_.extra;
    return extra;
  }

  /// Makes a piece a spine if its place is taken, else a leaf of its tier, that is a piece of the faster one.
  /// @returns true for a spine; false when it is a leaf of all slow tiers.
  bool becomes_spine(Piece& piece) const {
    if (levels_.cuts_.empty()) return false;
    for (;; --piece.tier, piece.depth = 0) {
      const LevelCut cut = levels_.cuts_[piece.tier].spines;
      std::int64_t& extra = piece.extra.spines[piece.tier];
      if (piece.depth < levels_.problem_.slow[piece.tier].slots) {
        if (piece.level < cut.level) return true;
        if (piece.level == cut.level && extra > 0) {
          --extra;
          return true;
        }
      }
      if (piece.tier == 0) return false;
    }
  }

  /// The latest piece of a spine that is not reversed yet. Takes its share from the spine.
  Piece next_piece(Spine& spine, bool is_first) {
    if (!is_first) {
      ++spine.level;
      if (spine.level == levels_.cuts_[spine.tier].leaves.level) --spine.extra.leaves[spine.tier];
    }
    Piece piece{spine.tier, spine.depth + 1, spine.level, 0, spine.end, {}};
    piece.begin = spine.end - take_share(piece, spine.extra);
    spine.end = piece.begin;
    return piece;
  }

  const Levels& levels() const { return levels_; }

 private:
  /// Gives a piece as much of the extra places as it can take. @returns its number of steps.
  std::int64_t take_share(Piece& piece, Extra& from) {
    LevelCounts& leaves = leaves_;
    leaves.assign(static_cast<std::size_t>(piece.level) + 1, 0);
    leaves.back() = 1;
    std::int64_t depth = piece.depth;
    for (std::size_t k = piece.tier + 1; k-- > 0; depth = 0) {
      const std::int64_t nested = levels_.problem_.slow[k].slots - 1 - depth;
      LevelTaker spines = LevelTaker::within({levels_.cuts_[k].spines.level, from.spines[k]});
      LevelTaker more = LevelTaker::within({levels_.cuts_[k].leaves.level, from.leaves[k]});
      if (nested >= 0) {
        grow_leaves(leaves, nested, spines, more, scratch_);
        piece.extra.spines[k] = from.spines[k] - spines.left();
        piece.extra.leaves[k] = from.leaves[k] - more.left();
        from.spines[k] = spines.left();
        from.leaves[k] = more.left();
      }
    }
    const std::int64_t repetition = levels_.steps_.level;
    piece.extra.steps = std::min(from.steps, steps_.at(leaves, repetition));
    from.steps -= piece.extra.steps;
    return steps_.below(leaves, repetition) + piece.extra.steps;
  }

  const Levels& levels_;
  const LeafSteps& steps_;
  LevelCounts leaves_;
  LevelScratch scratch_;
};

namespace {

ActionStream level_actions(Levels levels, Levels::Problem problem) {
  LevelWalk walk(levels);
  const std::int64_t n = problem.steps;
  CountedVector<LevelWalk::Spine> open;
  std::int64_t nested = 0;
  for (std::size_t k = 0; k < problem.slow.size(); ++k) nested += std::min(problem.slow[k].slots, levels.writes(k));
  open.reserve(static_cast<std::size_t>(std::min(nested, n)));
  const SlotOrder order({problem.fast, 0}, {problem.fast, 1});
  BinomialSweep sweep({0, n, problem.fast_slots}, order);
  LevelWalk::Piece piece{problem.slow.size() - 1, 0, 0, 0, n, walk.all()};
  for (;;) {
    // The first state of the piece is live.
    if (walk.becomes_spine(piece)) {
      co_yield Save{{problem.slow[piece.tier].tier, piece.depth}, piece.begin, Content::state};
      open.push_back({piece.tier, piece.depth, piece.level, piece.begin, piece.end, piece.extra, true});
    } else {
      sweep.restart({piece.begin, piece.end, problem.fast_slots, n - 1}, order);
      for (ActionBatch batch; sweep.next(batch);)
        for (const Action& action : batch) co_yield action;
    }
    if (open.empty()) break;
    LevelWalk::Spine& spine = open.back();
    const Slot slot{problem.slow[spine.tier].tier, spine.depth};
    const std::int64_t begin = spine.begin;
    if (!spine.is_live) co_yield Load{slot, begin, Content::state};
    piece = walk.next_piece(spine, spine.is_live);
    spine.is_live = false;
    if (piece.begin == begin) {
      co_yield Release{slot};
      open.pop_back();
    } else {
      co_yield Advance{begin, piece.begin};
    }
  }
  co_yield Done{};
}

}  // namespace

std::int64_t Levels::bytes(std::int64_t steps, std::int64_t fast_slots, std::int64_t slow_slots) {
  const auto spine = static_cast<std::int64_t>(sizeof(LevelWalk::Spine));
  return BinomialSweep::bytes(steps, fast_slots) + spine * std::min(slow_slots, steps);
}

ActionStream Levels::actions() const {
  return level_actions(*this, problem_);
}

}  // namespace hindsight

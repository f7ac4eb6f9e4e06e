#include "adjoint/schedule/levels.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/level_counts.hpp"

namespace hindsight {

Levels::Levels(const Problem& problem)
    : problem_(problem),
      cuts_(problem.slow.size()),
      leaf_(std::make_shared<const LeafSteps>(problem.fast_slots, problem.steps)) {}

bool Levels::take(const std::vector<Choice>& choice) {
  choice_ = choice;
  is_too_deep_ = false;
  LevelCounts leaves{1};
  LevelScratch scratch;
  std::int64_t count = 1;
  for (std::size_t k = choice.size(); k-- > 0;) {
    LevelTaker spines = LevelTaker::up_to(choice[k].spines), more = LevelTaker::up_to(choice[k].leaves);
    grow_leaves(leaves, problem_.slow[k].slots - 1, spines, more, scratch);
    is_too_deep_ = static_cast<std::int64_t>(leaves.size()) >= deepest_level;
    if (is_too_deep_) return false;
    if (spines.left() > 0 || more.left() > 0) return false;
    cuts_[k] = {spines.cut(), more.cut()};
    count += choice[k].leaves;
  }
  const std::int64_t n = problem_.steps, c = problem_.fast_slots;
  if (count > n || (c == 0 && count < n)) return false;
  const LeafSteps& steps = *leaf_;
  std::int64_t low = 0, high = 1;  // below(low) <= n < below(high), unless every step is a leaf
  if (count < n) {
    if (const std::int64_t last = steps_.level; last > 0) {  // that of the choice before is near
      if (steps.below(leaves, last) <= n) {
        low = last;
        high = last + 1;
      } else {
        high = last;
        if (steps.below(leaves, last - 1) <= n) low = last - 1;
      }
    }
    for (std::int64_t width = 1; steps.below(leaves, high) <= n; width *= 2) {
      low = high;
      high += width;
    }
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (steps.below(leaves, middle) <= n ? low : high) = middle;
    }
  }
  steps_ = {low, n - steps.below(leaves, low)};
  const Wide plain = steps.repetitions_below(leaves, low) + static_cast<Wide>(steps_.extra) * low;
  plain_ = plain > endless ? endless : static_cast<std::int64_t>(plain);
  cost_ = problem_.forward * static_cast<double>(plain);
  for (std::size_t k = 0; k < choice.size(); ++k)
    cost_ += problem_.slow[k].write * static_cast<double>(choice[k].spines) +
             problem_.slow[k].read * static_cast<double>(choice[k].leaves);
  return true;
}

/// Finds the numbers of spines and leaves. The cost is nearly convex in each of them: bisection on its slope, then a
/// look at the neighbours on both sides; tier within tier, the slowest outside.
class LevelSearch {
 public:
  explicit LevelSearch(const Levels::Problem& problem) : levels_(problem), current_(problem.slow.size()) {}

  Levels best() {
    const std::size_t tiers = current_.size();
    best_ = current_;
    consider();
    if (tiers > 0) {
      reach_ = tiers == 1 ? 16 : 1;
      for (Levels::Choice& guess : current_)  // with few spines there are many levels, slow to count
        guess = {levels_.problem_.steps / 32 + 1, levels_.problem_.steps / 16 + 1};
      if (tiers == 1 && levels_.problem_.slow[0].slots == 1) current_[0] = {1, 1};
      minimise(tiers - 1);
      if (tiers > 1) climb();
    }
    for (std::size_t k = 0; k < tiers; ++k) drop_idle_spines(k);
    if (!levels_.take(best_)) levels_.plain_ = endless;
    return levels_;
  }

 private:
  /// Of the current choice; what needs too many levels looks the worse the fewer spines it has.
  double consider() {
    if (!levels_.take(current_)) {
      double spines = 1;
      for (const Levels::Choice& choice : current_) spines += static_cast<double>(choice.spines);
      return levels_.is_too_deep_ ? 1e300 / spines : std::numeric_limits<double>::infinity();
    }
    if (levels_.cost_ < cost_) {
      cost_ = levels_.cost_;
      best_ = current_;
    }
    return levels_.cost_;
  }

  /// Least value of f on [low, high] and where, with f nearly convex, starting near `guess`.
  std::pair<double, std::int64_t> minimum(const std::function<double(std::int64_t)>& f, std::int64_t low,
                                          std::int64_t high, std::int64_t guess) const {
    guess = std::clamp(guess, low, high);
    const auto rises = [&](std::int64_t x) { return !(f(x + 1) < f(x)); };
    std::int64_t a = guess, b = guess;  // the slope turns in [a, b]
    if (guess < high && !rises(guess)) {
      for (std::int64_t width = 1; b < high && !rises(b); width *= 4) {
        a = b + 1;
        b = high - b > width ? b + width : high;
      }
    } else {
      for (std::int64_t width = 1; a > low && rises(a - 1); width *= 4) {
        b = a - 1;
        a = a - low > width ? a - width : low;
      }
    }
    while (a < b) {
      const std::int64_t middle = a + (b - a) / 2;
      if (rises(middle)) {
        b = middle;
      } else {
        a = middle + 1;
      }
    }
    std::pair<double, std::int64_t> best{f(a), a};
    for (std::int64_t x = std::max(low, a - reach_); x <= std::min(high, a + reach_); ++x)
      if (const double value = f(x); value < best.first) best = {value, x};
    return best;
  }

  /// The best spines and leaves of tiers 0 to k, the others' as they are.
  double minimise(std::size_t k) {
    const Levels::Problem& problem = levels_.problem_;
    const auto below = [&] { return k == 0 ? consider() : minimise(k - 1); };
    std::int64_t most = problem.steps - 1;  // leaves
    for (std::size_t j = k + 1; j < current_.size(); ++j) most -= current_[j].leaves;
    Levels::Choice guess = current_[k];
    current_[k] = {};
    const double without = below();
    if (most < 1) return without;
    const bool takes_all = k == 0 && problem.fast_slots == 0;  // then every step is a leaf
    const auto leaves_for = [&](std::int64_t spines) {
      current_[k].spines = spines;
      const auto f = [&](std::int64_t leaves) {
        current_[k].leaves = leaves;
        return below();
      };
      const auto best = minimum(f, takes_all ? most : std::min(spines, most), most, guess.leaves);
      guess.leaves = best.second;
      return best.first;
    };
    const bool is_single = problem.slow[k].slots == 1 && k + 1 == current_.size();
    const auto spines = minimum(leaves_for, 1, is_single ? 1 : most, guess.spines);
    if (without <= spines.first) {
      current_[k] = {};
      return below();
    }
    leaves_for(spines.second);
    current_[k] = {spines.second, guess.leaves};
    return below();
  }

  /// A spine that no leaf needs may have no place to stand on; where writes are free it would not show in the cost.
  void drop_idle_spines(std::size_t k) {
    if (!levels_.take(best_)) return;
    const std::int64_t plain = levels_.plain_;
    std::int64_t low = std::min<std::int64_t>(1, best_[k].spines), high = best_[k].spines;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      best_[k].spines = middle;
      if (levels_.take(best_) && levels_.plain_ <= plain) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    best_[k].spines = low;
  }

  /// From the best so far to a minimum of its neighbourhood in all numbers at once.
  void climb() {
    for (double before = std::numeric_limits<double>::infinity(); cost_ < before;) {
      before = cost_;
      const std::vector<Levels::Choice> centre = best_;
      for (int move = 0; move < 625; ++move) {
        current_ = centre;
        std::int64_t* const numbers[] = {&current_[0].spines, &current_[0].leaves, &current_[1].spines,
                                         &current_[1].leaves};
        int digits = move;
        bool is_valid = true;
        for (std::int64_t* number : numbers) {
          *number += digits % 5 - 2;
          digits /= 5;
          is_valid = is_valid && *number >= 0;
        }
        if (is_valid) consider();
      }
    }
  }

  Levels levels_;
  std::vector<Levels::Choice> current_, best_;
  std::int64_t reach_ = 16;
  double cost_ = std::numeric_limits<double>::infinity();
};

Levels Levels::best(const Problem& problem) {
  return LevelSearch(problem).best();
}

}  // namespace hindsight

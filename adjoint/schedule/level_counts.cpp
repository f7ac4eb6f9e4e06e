#include "adjoint/schedule/level_counts.hpp"

#include <algorithm>

#include "adjoint/schedule/binomial.hpp"

namespace hindsight {

std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? endless : sum;
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? endless : product;
}

std::int64_t LevelTaker::take(std::int64_t level, std::int64_t places) {
  if (counts_) {
    const std::int64_t taken = std::min(places, left_);
    left_ -= taken;
    if (places > 0) cut_ = taken == places ? LevelCut{level + 1, 0} : LevelCut{level, taken};
    return taken;
  }
  if (level != cut_.level) return level < cut_.level ? places : 0;
  const std::int64_t taken = std::min(places, left_);
  left_ -= taken;
  return taken;
}

void grow_leaves(LevelCounts& counts, std::int64_t nested, LevelTaker& spines, LevelTaker& leaves,
                 LevelScratch& scratch, std::int64_t deepest) {
  const auto tree_levels = static_cast<std::int64_t>(counts.size());
  LevelCounts &roots = scratch.roots, &taken = scratch.taken;
  roots.clear();
  taken.clear();
  std::int64_t any = 0;
  for (std::int64_t level = 0;
       level < deepest && !spines.is_done(level) && (level < tree_levels || (any > 0 && nested > 0)); ++level) {
    const std::int64_t here = level < tree_levels ? counts[static_cast<std::size_t>(level)] : 0;
    std::int64_t inner = 0;  // C(nested+x, x+1) places x levels above each root
    for (std::size_t t = 0; t < roots.size(); ++t)
      if (roots[t] > 0) {
        const std::int64_t x = level - static_cast<std::int64_t>(t);
        inner = saturating_sum(inner, nested > 0 ? saturating_product(roots[t], beta(nested - 1, x + 1)) : 0);
      }
    // One level's places are taken in one go, so that the cut describes them all; roots come first.
    const std::int64_t with_roots = saturating_sum(inner, saturating_product(here, saturating_sum(nested, 1)));
    const std::int64_t got = spines.take(level, with_roots);
    roots.push_back(std::min(got, here));
    taken.push_back(got);
    any = saturating_sum(any, got);
  }
  std::int64_t offering = 0;  // spines of lower levels, each of which has a place at this one
  for (std::int64_t level = 0; !leaves.is_done(level) && level < deepest; ++level) {
    const auto l = static_cast<std::size_t>(level);
    if (offering == 0 && l >= taken.size()) break;
    const std::int64_t got = leaves.take(level, offering);
    if (l >= counts.size()) counts.push_back(0);
    counts[l] = saturating_sum(counts[l], got);
    if (l < taken.size()) offering = saturating_sum(offering, taken[l]);
  }
}

LeafSteps::LeafSteps(std::int64_t slots, std::int64_t steps) : slots_(slots), most_(steps) {
  if (slots < 2) return;
  do beta_.push_back(beta(slots, static_cast<std::int64_t>(beta_.size())));
  while (beta_.back() <= steps);
}

std::int64_t LeafSteps::up_to_repetition(std::int64_t r) const {
  if (slots_ == 0) return 1;
  if (slots_ == 1) return r + 1;
  const auto index = static_cast<std::size_t>(r);
  return index < beta_.size() ? beta_[index] : endless;
}

std::int64_t LeafSteps::below(const LevelCounts& leaves, std::int64_t repetition) const {
  std::int64_t sum = 0;
  for (std::size_t t = 0; t < leaves.size() && sum <= most_; ++t)
    if (leaves[t] > 0)
      sum = saturating_sum(sum, saturating_product(leaves[t], below(static_cast<std::int64_t>(t), repetition)));
  return sum;
}

std::int64_t LeafSteps::at(const LevelCounts& leaves, std::int64_t repetition) const {
  std::int64_t sum = 0;
  for (std::size_t t = 0; t < leaves.size() && static_cast<std::int64_t>(t) < repetition; ++t)
    if (leaves[t] > 0)
      sum = saturating_sum(sum, saturating_product(leaves[t], at(static_cast<std::int64_t>(t), repetition)));
  return sum;
}

Wide LeafSteps::repetitions_below(const LevelCounts& leaves, std::int64_t repetition) const {
  Wide sum = 0;
  for (std::size_t t = 0; t < leaves.size(); ++t) {
    if (leaves[t] == 0) continue;
    const auto level = static_cast<std::int64_t>(t);
    const Wide steps = below(level, repetition), r = repetition - 1 - level, c = slots_;
    // sum over rho <= r of rho C(c-1+rho, rho) = c C(c+r, r-1) = beta(c, r) c r / (c+1)
    const Wide own = level < repetition ? steps * c * r / (c + 1) : 0;
    sum += leaves[t] * (own + steps * level);
  }
  return sum;
}

}  // namespace hindsight

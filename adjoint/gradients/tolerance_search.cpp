#include "adjoint/gradients/tolerance_search.hpp"

#include <algorithm>

namespace hindsight {
namespace {

constexpr double aim = 0.4, least = 0.15;  // of what is left of the accepted error
constexpr int most_attempts = 8;
constexpr double coarsest = 0.25;  // tolerance

}  // namespace

double ToleranceSearch::next(double measured) const {
  constexpr double largest_change = 64.0, smallest_change = 1e-4;
  const double own = measured - floor_;
  const double factor = own > 0 ? aim * room() / own : largest_change;
  return std::min(coarsest, attempt_ * std::clamp(factor, smallest_change, largest_change));
}

bool ToleranceSearch::saw(double measured, bool is_used) {
  const bool is_good = measured <= accepted_, is_enough = measured >= floor_ + least * room();
  const bool is_best = is_good && (!best_ || measured > *best_);
  if (is_best) best_ = measured;
  const double following = next(measured);
  is_over_ = ++attempts_ == most_attempts || !is_used || (is_good && is_enough) || following == attempt_;
  if (is_over_) return is_best;
  attempt_ = following;
  predicted_ = floor_ + aim * room();
  return is_best;
}

}  // namespace hindsight

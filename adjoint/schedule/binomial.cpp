#include "adjoint/schedule/binomial.hpp"

#include <algorithm>

namespace hindsight {
namespace {

__extension__ using Wide = __int128;

/// value * up / down, exact and without overflow between.
std::int64_t scale(std::int64_t value, std::int64_t up, std::int64_t down) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(value, up, &product)) return product / down;
  return static_cast<std::int64_t>(static_cast<Wide>(value) * up / down);
}

}  // namespace

std::int64_t beta(std::int64_t s, std::int64_t r) {
  const std::int64_t small = std::min(s, r);
  const std::int64_t large = std::max(s, r);
  Wide value = 1;
  for (std::int64_t i = 1; i <= small; ++i) {  // at most 64 factors: each at least doubles the value
    value = value * (static_cast<Wide>(large) + i) / i;
    if (value > endless) return endless;
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t repetition(std::int64_t length, std::int64_t s) {
  std::int64_t low = 0;
  std::int64_t high = length - 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (beta(s, middle) >= length) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::int64_t binomial_plain_steps(std::int64_t length, std::int64_t s) {
  if (length <= s + 1) return length - 1;                                           // r = 0 or 1
  if (s < (1 << 30) && length <= (s + 1) * (s + 2) / 2) return 2 * length - s - 2;  // r = 2
  const std::int64_t r = repetition(length, s);
  if (r == 0) return 0;
  const Wide spared = static_cast<Wide>(beta(s, r - 1)) * (s + r) / (s + 1);
  const Wide plain = static_cast<Wide>(r) * length - spared;
  return plain > endless ? endless : static_cast<std::int64_t>(plain);
}

BinomialSweep::BinomialSweep(const Segment& segment, SlotOrder order) : order_(order) {
  restart(segment, order);
}

BinomialSweep::Part BinomialSweep::first_part(std::int64_t begin, std::int64_t length, std::int64_t slots) {
  const std::int64_t r = repetition(length, slots);
  return {begin, r, r > 0 ? beta(slots, r - 1) : 0};
}

void BinomialSweep::restart(const Segment& segment, SlotOrder order) {
  const std::int64_t length = segment.end - segment.begin;
  order_ = order;
  last_ = segment.last;
  live_ = segment.is_live;
  kept_ = segment.is_kept;
  started_ = false;
  end_ = segment.end;
  slots_ = segment.slots;
  open_.clear();
  open_.reserve(static_cast<std::size_t>(std::max<std::int64_t>(1, std::min(segment.slots, length))));
  open_.push_back(first_part(segment.begin, length, segment.slots));
}

/// Cuts `part` (two steps or more) down to the steps before its next checkpoint and returns the steps from there on.
/// It is optimal to put that checkpoint m steps ahead whenever beta(s, r-2) <= m <= beta(s, r-1) and
/// beta(s-1, r-1) <= l-m <= beta(s-1, r). Taken is the place that leads to the fewest saves: the part behind it has
/// beta(s-1, r-1) + beta(s-2, r-1) steps where the bounds allow. r and below mean nothing in a part of one step.
BinomialSweep::Part BinomialSweep::split(Part& part, std::int64_t end, std::int64_t slots) {
  const std::int64_t s = slots;
  const std::int64_t r = part.r;
  const std::int64_t right_below = scale(part.below, s, s + r - 1);                  // beta(s-1, r-1)
  const std::int64_t left_below = scale(part.below, r - 1, s + r - 1);               // beta(s, r-2)
  const std::int64_t next_below = s > 1 ? scale(right_below, s - 1, s + r - 2) : 0;  // beta(s-2, r-1)
  const std::int64_t wanted = end - part.begin - right_below - next_below;
  const std::int64_t left = std::clamp(wanted, std::max<std::int64_t>(1, left_below), part.below);
  const Part right{part.begin + left, r, right_below};
  part.r = r - 1;
  part.below = left_below;
  if (left == left_below && left > 1) {
    part.r = r - 2;
    part.below = scale(left_below, r - 2, s + r - 2);  // beta(s, r-3)
  }
  return right;
}

std::int64_t BinomialSweep::starts(std::int64_t length, std::int64_t slots) {
  if (slots == 1) return length;
  Part part = first_part(0, length, slots);
  std::int64_t count = 1;
  for (std::int64_t end = length; end > 1; ++count) end = split(part, end, slots).begin;
  return count;
}

bool BinomialSweep::next(ActionBatch& batch) {
  batch.clear();
  if (open_.empty()) return false;
  Part& top = open_.back();
  const std::int64_t length = end_ - top.begin;
  if (!started_) {
    started_ = true;
    if (!kept_ && length > 1) {
      batch.add(Save{order_[0], top.begin, Content::state});
    } else {
      kept_ = kept_ || length == 1;  // then nothing is in the slot
    }
  }
  const std::size_t depth = open_.size() - 1;
  if (!live_) batch.add(Load{order_[depth], top.begin, Content::state});
  std::int64_t step = top.begin;
  if (length > 1) {
    const Part right = split(top, end_, slots_ - static_cast<std::int64_t>(depth));
    batch.add(Advance{top.begin, right.begin});
    if (end_ - right.begin > 1) {
      batch.add(Save{order_[depth + 1], right.begin, Content::state});
      live_ = true;
      open_.push_back(right);
      return true;
    }
    step = end_ = right.begin;
  }
  batch.add(Record{step});
  if (step == last_) batch.add(Turn{step + 1});
  batch.add(Reverse{step});
  live_ = false;
  if (step == top.begin) {
    if (depth > 0 || !kept_) batch.add(Release{order_[depth]});
    end_ = top.begin;
    open_.pop_back();
  }
  return true;
}

}  // namespace hindsight

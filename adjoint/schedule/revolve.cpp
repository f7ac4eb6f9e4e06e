// Revolve: the fewest plain steps for n known and s slots of equal cost (Griewank, Walther 2000, TOMS 799).
//
// beta(s, r) = C(s+r, s) is the longest segment that s slots reverse when no step is advanced more than r times. A
// segment of l steps with s slots has the repetition r where beta(s, r-1) < l <= beta(s, r). It is optimal to put its
// next checkpoint m steps ahead whenever beta(s, r-2) <= m <= beta(s, r-1) and beta(s-1, r-1) <= l-m <= beta(s-1, r).
#include <algorithm>
#include <limits>
#include <vector>

#include "adjoint/schedule/kinds.hpp"

namespace hindsight {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// value * up / down, exact and without overflow between.
std::int64_t scale(std::int64_t value, std::int64_t up, std::int64_t down) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(value, up, &product)) return product / down;
  return static_cast<std::int64_t>(static_cast<Wide>(value) * up / down);
}

/// beta(s, r), or `most` where it is larger. At most 64 factors: each at least doubles the value.
std::int64_t beta(std::int64_t s, std::int64_t r) {
  const std::int64_t small = std::min(s, r);
  const std::int64_t large = std::max(s, r);
  Wide value = 1;
  for (std::int64_t i = 1; i <= small; ++i) {
    value = value * (static_cast<Wide>(large) + i) / i;
    if (value > most) return most;
  }
  return static_cast<std::int64_t>(value);
}

/// The least r with beta(s, r) >= length.
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

/// Steps begin to end-1, to be reversed with `slots` slots, the one that holds state `begin` included.
struct Segment {
  std::int64_t begin, end, slots;
  std::int64_t r;      ///< repetition
  std::int64_t below;  ///< beta(slots, r-1), less than the length
  std::int64_t length() const { return end - begin; }
};

/// Cuts `segment` (two steps or more) down to the part before its next checkpoint and returns the part from there on.
/// r and below mean nothing in a part of one step. Of the optimal places for the checkpoint it takes the one that leads
/// to the fewest saves: the part behind it has beta(s-1, r-1) + beta(s-2, r-1) steps where the bounds on m allow.
Segment split(Segment& segment) {
  const std::int64_t s = segment.slots;
  const std::int64_t r = segment.r;
  const std::int64_t right_below = scale(segment.below, s, s + r - 1);               // beta(s-1, r-1)
  const std::int64_t left_below = scale(segment.below, r - 1, s + r - 1);            // beta(s, r-2)
  const std::int64_t next_below = s > 1 ? scale(right_below, s - 1, s + r - 2) : 0;  // beta(s-2, r-1)
  const std::int64_t wanted = segment.length() - right_below - next_below;
  const std::int64_t left = std::clamp(wanted, std::max<std::int64_t>(1, left_below), segment.below);
  const Segment right{segment.begin + left, segment.end, s - 1, r, right_below};
  segment.end = right.begin;
  segment.r = r - 1;
  segment.below = left_below;
  if (left == left_below && left > 1) {
    segment.r = r - 2;
    segment.below = scale(left_below, r - 2, s + r - 2);  // beta(s, r-3)
  }
  return right;
}

Slot slot_of(std::size_t depth) {
  return {Tier::host, static_cast<std::int64_t>(depth)};
}

/// The open segments lie on a stack, the latest in time on top; the state at the begin of each is in the slot of its
/// depth.
ActionStream actions(std::int64_t steps, std::int64_t slots) {
  std::vector<Segment> open;
  const std::int64_t r = repetition(steps, slots);
  open.push_back({0, steps, slots, r, r > 0 ? beta(slots, r - 1) : 0});
  bool live = true;  // the live state is the one at the top's begin
  if (steps > 1) co_yield Save{slot_of(0), 0, Content::state};
  while (!open.empty()) {
    Segment& top = open.back();
    const std::size_t depth = open.size() - 1;
    if (!live) co_yield Load{slot_of(depth), top.begin, Content::state};
    std::int64_t step = top.begin;
    if (top.length() > 1) {
      const Segment right = split(top);
      co_yield Advance{top.begin, right.begin};
      if (right.length() > 1) {
        co_yield Save{slot_of(depth + 1), right.begin, Content::state};
        open.push_back(right);
        live = true;
        continue;
      }
      step = right.begin;
    }
    co_yield Record{step};
    if (step == steps - 1) co_yield Turn{steps};
    co_yield Reverse{step};
    live = false;
    if (step == top.begin) {
      if (steps > 1) co_yield Release{slot_of(depth)};
      open.pop_back();
    }
  }
  co_yield Done{};
}

std::int64_t slots_for(const ScheduleRequest& request) {
  return take_host_slots("revolve", request, 1, std::max<std::int64_t>(1, request.steps - 1));
}

ActionStream start(const ScheduleRequest& request) {
  const std::int64_t slots = slots_for(request);
  return actions(request.steps, slots);
}

/// r n - C(s+r, r-1).
std::int64_t plain_steps(const ScheduleRequest& request) {
  const std::int64_t s = slots_for(request);
  const std::int64_t n = request.steps;
  const std::int64_t r = repetition(n, s);
  if (r == 0) return 0;
  const Wide spared = static_cast<Wide>(beta(s, r - 1)) * (s + r) / (s + 1);
  const Wide plain = static_cast<Wide>(r) * n - spared;
  if (plain > most) refuse_endless("revolve", n);
  return static_cast<std::int64_t>(plain);
}

}  // namespace

ScheduleKind revolve_schedule() {
  return {"revolve", "the fewest plain steps for the slots given (n known, one tier)", start, plain_steps, slots_for};
}

}  // namespace hindsight

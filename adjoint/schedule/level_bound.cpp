// A proven lower bound on the cost of any schedule that H-Revolve's recurrence can make, by branch and bound over the
// numbers of spines and leaves.
//
// With given numbers, taking all places lowest first is optimal: for every level it gives the most spines, therefore
// the most leaves, therefore the most places for spines of the faster tier, and so the most steps of few repetitions
// below that level. Without the demand that every leaf has a step, the repetitions only fall when more spines or leaves
// may be taken. So a box of numbers costs at least the repetitions at its upper corner and the transfers at its lower
// one.
#include <algorithm>
#include <array>
#include <cmath>
#include <queue>

#include "adjoint/schedule/level_counts.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t levels_counted = 4096;  // places above are counted as if they were here

/// Numbers of spines and leaves per slow tier: {spines 0, leaves 0, spines 1, leaves 1}.
using Numbers = std::array<std::int64_t, 4>;

struct Box {
  Numbers low, high;
  double bound;
  friend bool operator<(const Box& a, const Box& b) { return a.bound > b.bound; }  // the least on top of the queue
};

class Bounds {
 public:
  Bounds(const Levels::Problem& problem, const LeafSteps& leaf) : problem_(problem), leaf_(leaf) {}

  /// The fewest repetitions of n steps with at most these numbers.
  double repetitions(const Numbers& most) const {
    LevelCounts leaves{1};
    LevelScratch scratch;
    for (std::size_t k = problem_.slow.size(); k-- > 0;) {
      LevelTaker spines = LevelTaker::up_to(most[2 * k]), more = LevelTaker::up_to(most[2 * k + 1]);
      grow_leaves(leaves, problem_.slow[k].slots - 1, spines, more, scratch, levels_counted);
    }
    const std::int64_t n = problem_.steps;
    const auto below = [&](std::int64_t repetition) {
      std::int64_t sum = 0;
      for (std::size_t t = 0; t < leaves.size() && static_cast<std::int64_t>(t) < repetition && sum <= n; ++t)
        if (leaves[t] > 0)
          sum =
              saturating_sum(sum, saturating_product(leaves[t], leaf_.below(static_cast<std::int64_t>(t), repetition)));
      return sum;
    };
    std::int64_t low = 0, high = 1;
    while (below(high) < n && high < levels_counted) {
      low = high;
      high *= 2;
    }
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (below(middle) < n ? low : high) = middle;
    }
    LevelCounts counted(leaves.begin(), leaves.begin() + std::min<std::ptrdiff_t>(low, std::ssize(leaves)));
    return static_cast<double>(leaf_.repetitions_below(counted, low)) +
           static_cast<double>(n - below(low)) * static_cast<double>(low);
  }

  double transfers(const Numbers& numbers) const {
    double cost = 0;
    for (std::size_t i = 0; i < 2 * problem_.slow.size(); ++i) cost += price(i) * static_cast<double>(numbers[i]);
    return cost;
  }
  double price(std::size_t number) const {
    return number % 2 == 0 ? problem_.slow[number / 2].write : problem_.slow[number / 2].read;
  }

  /// Keeps what an optimum can have: a spine has a leaf more than none, there are no leaves without a spine.
  /// @returns false when nothing is left.
  bool tighten(Box& box) const {
    for (std::size_t k = 0; k < 2 * problem_.slow.size(); k += 2) {
      box.high[k] = std::min(box.high[k], box.high[k + 1]);
      box.low[k + 1] = std::max(box.low[k + 1], box.low[k]);
      if (box.low[k + 1] > 0) box.low[k] = std::max<std::int64_t>(box.low[k], 1);
      if (box.high[k] == 0) box.high[k + 1] = 0;
      if (box.low[k] > box.high[k] || box.low[k + 1] > box.high[k + 1]) return false;
    }
    box.bound = std::max(box.bound, problem_.forward * repetitions(box.high) + transfers(box.low));
    return true;
  }

  /// The number whose range leaves most open; -1 for a single point.
  int widest(const Box& box) const {
    int widest = -1;
    double most = -1;
    for (std::size_t i = 0; i < 2 * problem_.slow.size(); ++i) {
      const auto range = static_cast<double>(box.high[i] - box.low[i]);
      if (range > 0 && price(i) * range > most) {
        most = price(i) * range;
        widest = static_cast<int>(i);
      }
    }
    return widest;
  }

 private:
  const Levels::Problem& problem_;
  const LeafSteps& leaf_;
};

}  // namespace

double Levels::lower_bound(double enough, int boxes) const {
  const Bounds bounds(problem_, *leaf_);
  std::priority_queue<Box> queue;
  Box all{{}, {}, 0};
  all.high.fill(problem_.steps - 1);
  if (!bounds.tighten(all)) return 0;
  queue.push(all);
  while (queue.top().bound < enough && boxes-- > 0) {
    const Box box = queue.top();
    const int number = bounds.widest(box);
    if (number < 0) break;
    queue.pop();
    const auto i = static_cast<std::size_t>(number);
    const double low = static_cast<double>(box.low[i]) + 1, high = static_cast<double>(box.high[i]) + 1;
    const auto middle = std::clamp(static_cast<std::int64_t>(std::sqrt(low * high)) - 1, box.low[i], box.high[i] - 1);
    Box left = box, right = box;
    left.high[i] = middle;
    right.low[i] = middle + 1;
    for (Box* half : {&left, &right})
      if (bounds.tighten(*half)) queue.push(*half);
    if (queue.empty()) return cost_;
  }
  return std::min(cost_, queue.top().bound);
}

}  // namespace hindsight

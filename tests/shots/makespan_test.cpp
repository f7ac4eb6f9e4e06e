// Orders in which groups take shots, beside the best one that there is.
#include "adjoint/shots/makespan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace hindsight {
namespace {

/// The earliest end that any division of the shots among groups has, by trying all that can be better.
class BestDivision {
 public:
  BestDivision(std::vector<double> seconds, int groups)
      : seconds_(std::move(seconds)), ends_(static_cast<std::size_t>(groups), 0.0) {
    std::ranges::sort(seconds_, std::greater<>());
    for (const double s : seconds_) total_ += s;
    best_ = makespan(seconds_, order_of_work(seconds_, groups), groups);
    divide(0);
  }
  double seconds() const { return best_; }

 private:
  void divide(std::size_t shot) {
    const double least = std::max(total_ / static_cast<double>(ends_.size()), seconds_[0]);
    if (best_ <= least * (1 + 1e-12)) return;
    if (shot == seconds_.size()) {
      best_ = std::min(best_, std::ranges::max(ends_));
      return;
    }
    for (std::size_t g = 0; g < ends_.size(); ++g) {
      if (std::find(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(g), ends_[g]) !=
          ends_.begin() + static_cast<std::ptrdiff_t>(g))
        continue;  // as one before
      if (ends_[g] + seconds_[shot] >= best_) continue;
      ends_[g] += seconds_[shot];
      divide(shot + 1);
      ends_[g] -= seconds_[shot];
    }
  }
  std::vector<double> seconds_, ends_;
  double total_ = 0.0, best_ = std::numeric_limits<double>::infinity();
};

TEST(Makespan, OfTheOrderOfWorkIsNearTheBest) {
  double worst = 1.0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> any(0.0, 1.0);
    std::vector<double> seconds;
    for (int shot = 0; shot < 14; ++shot) seconds.push_back(std::pow(30.0, any(random)));  // 1 : 30
    seconds[0] = 1.0;
    seconds[1] = 30.0;
    for (const int groups : {1, 2, 3, 4}) {
      const double mine = makespan(seconds, order_of_work(seconds, groups), groups),
                   best = BestDivision(seconds, groups).seconds();
      worst = std::max(worst, mine / best);
      EXPECT_LE(mine, 1.05 * best) << "seed " << seed << ", " << groups << " groups";
    }
  }
  RecordProperty("worst", std::to_string(worst));
  std::printf("at most %.4f times the best\n", worst);
}

TEST(Makespan, IsThatOfGroupsThatTakeTheNextShotWhenTheyAreFree) {
  EXPECT_EQ(makespan({3, 1, 2, 2}, {0, 1, 2, 3}, 2), 5.0);
  EXPECT_EQ(makespan({3, 1, 2, 2}, order_of_work({3, 1, 2, 2}, 2), 2), 4.0);
  EXPECT_EQ(order_of_work({3, 1, 2, 2}, 1), (std::vector<std::size_t>{0, 2, 3, 1}));
  EXPECT_EQ(makespan({3, 1, 2, 2}, {0, 1, 2, 3}, 1), 8.0);
}

}  // namespace
}  // namespace hindsight

// Reading ahead, on actions that are written down.
#include "adjoint/sweep/prefetch.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hindsight {
namespace {

ActionStream stream_of(std::vector<Action> actions) {
  for (const Action& action : actions) co_yield action;
}

constexpr Slot disk(std::int64_t index) {
  return {Tier::disk, index};
}

const std::vector<Action> actions = {Save{disk(0), 0, Content::state},
                                     Advance{0, 4},
                                     Save{disk(1), 4, Content::state},
                                     Advance{4, 8},
                                     Turn{8},
                                     Load{disk(1), 4, Content::state},
                                     Advance{4, 7},
                                     Save{disk(1), 7, Content::state},
                                     Load{{Tier::host, 0}, 7, Content::state},
                                     Load{disk(1), 7, Content::state},
                                     Load{disk(0), 0, Content::state},
                                     Done{}};

/// What is begun before each action.
std::vector<std::vector<std::int64_t>> begun(int most, const std::vector<bool>& accepts = {}) {
  PerTier slots{};
  slots[static_cast<std::size_t>(Tier::disk)] = 2;
  Prefetcher prefetcher(stream_of(actions), most, slots);
  std::vector<std::vector<std::int64_t>> all;
  std::size_t asked = 0;
  for (const Action& action : actions) {
    all.emplace_back();
    prefetcher.before(action, [&](Slot slot) {
      EXPECT_EQ(slot.tier, Tier::disk);
      if (asked < accepts.size() && !accepts[asked++]) return false;
      all.back().push_back(slot.index);
      return true;
    });
  }
  return all;
}

/// Loads come in order, none before the last save of its slot, and none of another tier.
TEST(Prefetch, BeginsLoadsInTheirOrderOnceTheirSaveIsDone) {
  const auto all = begun(1);
  std::vector<std::int64_t> order;
  for (const auto& now : all) order.insert(order.end(), now.begin(), now.end());
  EXPECT_EQ(order, (std::vector<std::int64_t>{1, 1, 0}));
  for (std::size_t i = 0; i <= 2; ++i) EXPECT_TRUE(all[i].empty()) << i;  // slot 1 is saved by action 2
  EXPECT_EQ(all[3], (std::vector<std::int64_t>{1}));
  for (std::size_t i = 4; i <= 7; ++i) EXPECT_TRUE(all[i].empty()) << i;  // it is saved again by action 7
  EXPECT_EQ(all[8], (std::vector<std::int64_t>{1}));
}

TEST(Prefetch, ReadsNoMoreAheadThanItMay) {
  for (const int most : {1, 2, 3}) {
    std::int64_t ahead = 0;
    const auto all = begun(most);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      ahead += static_cast<std::int64_t>(all[i].size());
      EXPECT_LE(ahead, most);
      const auto* load = std::get_if<Load>(&actions[i]);
      if (load != nullptr && load->slot.tier == Tier::disk) --ahead;
    }
    EXPECT_EQ(ahead, 0);
  }
}

TEST(Prefetch, AsksAgainForWhatCouldNotBegin) {
  const auto all = begun(1, {false, false, true});
  EXPECT_TRUE(all[3].empty());
  EXPECT_TRUE(all[4].empty());
  EXPECT_EQ(all[5], (std::vector<std::int64_t>{1}));
}

}  // namespace
}  // namespace hindsight

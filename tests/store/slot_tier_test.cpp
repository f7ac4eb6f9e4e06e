// A slow tier under random use gives back what it was given; its arena never fragments.
#include "adjoint/store/slot_tier.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "adjoint/store/codecs/codecs.hpp"
#include "tests/store/rows.hpp"

namespace hindsight {
namespace {

const StateShape shape = shape_of_fields(2, {7, 5, 3}, 100, 16, 100, 400);
constexpr std::int64_t padded = 900;

void fill(const Buffer& buffer, double value) {
  double number = 0.0;
  for (const std::int64_t row : test::rows_of(shape))
    for (std::int64_t i = 0; i < shape.arrays.front().cells[0]; ++i) buffer.data()[row + i] = value + 1e-3 * ++number;
}

bool holds(const Buffer& buffer, double value) {
  double number = 0.0;
  for (const std::int64_t row : test::rows_of(shape))
    for (std::int64_t i = 0; i < shape.arrays.front().cells[0]; ++i)
      if (buffer.data()[row + i] != value + 1e-3 * ++number) return false;
  return true;
}

/// A medium that takes a random while.
class MoodyMedium final : public Medium {
 public:
  MoodyMedium(std::int64_t pages, std::int64_t page_bytes) : memory_(pages, page_bytes) {}
  std::int64_t pages() const override { return memory_.pages(); }
  std::int64_t page_bytes() const override { return memory_.page_bytes(); }
  void write(std::int64_t offset, const void* from, std::int64_t bytes) override {
    wait();
    memory_.write(offset, from, bytes);
  }
  void read(std::int64_t offset, void* to, std::int64_t bytes) override {
    wait();
    memory_.read(offset, to, bytes);
  }
  void label(std::int64_t, const SlotLabel&) override {}
  void link(std::int64_t, std::int64_t) override {}
  void flush() override {}
  double* memory() const override { return nullptr; }
  bool outlives_process() const override { return false; }
  std::string description() const override { return "moody"; }

 private:
  static void wait() {
    thread_local std::mt19937 random(std::hash<std::thread::id>()(std::this_thread::get_id()));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 4 == 0 ? random() % 200 : 0));
  }
  MemoryMedium memory_;
};

void use_at_random(TierSettings settings, std::int64_t pages, std::int64_t page_bytes, const std::string& codec,
                   unsigned seed) {
  constexpr int most_held = 3;
  CodecSettings coding;
  coding.kind = codec;
  Pool pool(32, padded);
  SlotTier tier(settings, shape, std::make_unique<MoodyMedium>(pages, page_bytes), make_codec(coding),
                std::make_shared<TransferThreads>(2));
  std::mt19937 random(seed);
  std::map<std::int64_t, double> wanted;
  std::vector<std::pair<Buffer, double>> held;
  double next = 1.0;
  for (int i = 0; i < 3000; ++i) {
    const auto slot = static_cast<std::int64_t>(random() % static_cast<unsigned>(settings.slots));
    const unsigned what = random() % 100;
    const bool is_full = wanted.contains(slot);
    if (what < 35 && !is_full) {
      const Buffer state = pool.acquire();
      fill(state, next);
      tier.save(slot, state, i);
      wanted[slot] = next++;
    } else if (what < 60 && is_full) {
      held.emplace_back(tier.load(slot, pool), wanted[slot]);
      ASSERT_TRUE(held.back().first);
      ASSERT_TRUE(holds(held.back().first, held.back().second)) << i;
      if (held.size() > most_held) held.erase(held.begin());
    } else if (what < 75 && is_full) {
      tier.prefetch(slot, pool);
    } else if (what < 99 && is_full) {
      tier.release(slot);
      wanted.erase(slot);
    } else if (what == 99 && random() % 5 == 0) {
      tier.clear();
      wanted.clear();
    }
    for (const auto& [state, value] : held) ASSERT_TRUE(holds(state, value)) << "a state that is in use was written to";
  }
  EXPECT_EQ(tier.traffic().lost, 0);
  EXPECT_EQ(tier.traffic().damaged, 0);
  EXPECT_FALSE(tier.is_full());
}

TEST(SlotTier, GivesBackWhatItWasGiven) {
  for (const int queue : {0, 1, 2, 5})
    for (const int prefetch : {0, 1, 3}) {
      SCOPED_TRACE(std::to_string(queue) + " " + std::to_string(prefetch));
      use_at_random({6, queue, prefetch, 0}, 12, 4096, "none", static_cast<unsigned>(7 * queue + prefetch));
    }
}

TEST(SlotTier, GivesBackWhatWasCodedOverSeveralPages) {
  use_at_random({6, 2, 2, 0}, 24, 4096, "lz4", 1);
  use_at_random({6, 2, 2, 0}, 24, 4096, "zstd", 2);
}

TEST(SlotTier, TakesBackWhatWaitsToBeWritten) {
  Pool pool(8, padded);
  SlotTier tier({2, 2, 1}, shape, std::make_unique<ThrottledMedium>(std::make_unique<MemoryMedium>(2, 4096), 1e-5, 0.0),
                nullptr, std::make_shared<TransferThreads>(1));
  const Buffer state = pool.acquire();
  fill(state, 5.0);
  tier.save(0, state, 1);
  EXPECT_EQ(tier.load(0, pool).data(), state.data()) << "no copy is made of what is still in memory";
  tier.release(0);
  tier.save(0, state, 2);
  tier.finish();
  EXPECT_TRUE(holds(tier.load(0, pool), 5.0));
}

TEST(SlotTier, SaysWhenItIsFull) {
  Pool pool(8, padded);
  SlotTier tier({3, 1, 1}, shape, std::make_unique<MemoryMedium>(2, 4096), nullptr,
                std::make_shared<TransferThreads>(1));
  const Buffer state = pool.acquire();
  for (std::int64_t slot = 0; slot < 3; ++slot) tier.save(slot, state, slot);
  tier.finish();
  EXPECT_TRUE(tier.is_full());
  EXPECT_EQ(tier.slots_that_fit(), 2);
  EXPECT_FALSE(tier.load(2, pool));
  EXPECT_TRUE(tier.load(1, pool));
  tier.clear();
  EXPECT_FALSE(tier.is_full());
}

TEST(PageArena, UsesEveryPageHoweverScattered) {
  PageArena arena(64);
  std::mt19937 random(3);
  std::vector<std::pair<std::int64_t, std::int64_t>> chains;
  std::int64_t used = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto wanted = static_cast<std::int64_t>(1 + random() % 9);
    if (random() % 2 == 0) {
      const std::int64_t first = arena.allocate(wanted);
      ASSERT_EQ(first != PageArena::none, used + wanted <= 64) << "any free pages serve";
      if (first == PageArena::none) continue;
      chains.emplace_back(first, wanted);
      used += wanted;
    } else if (!chains.empty()) {
      const std::size_t at = random() % chains.size();
      std::int64_t length = 0;
      for (std::int64_t page = chains[at].first; page != PageArena::none; page = arena.next(page)) ++length;
      ASSERT_EQ(length, chains[at].second);
      arena.free(chains[at].first);
      used -= length;
      chains.erase(chains.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ASSERT_EQ(arena.in_use(), used);
  }
}

TEST(PageArena, RetiresNoMoreThanIsSpare) {
  PageArena arena(4);
  const std::int64_t a = arena.allocate(1), b = arena.allocate(1);
  arena.retire(a, 1);
  arena.retire(b, 1);
  EXPECT_EQ(arena.in_use(), 0);
  EXPECT_EQ(arena.allocate(4), PageArena::none);
  EXPECT_NE(arena.allocate(3), PageArena::none);
}

}  // namespace
}  // namespace hindsight

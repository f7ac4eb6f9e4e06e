// States stored as differences to others come back whatever is saved, released and damaged in whatever order.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "adjoint/store/codecs/codecs.hpp"
#include "adjoint/store/slot_tier.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t side = 24, page = 4096;

StateShape shape_of_states() {
  return shape_of_fields(2, {side, side, 1}, 0, side, side * side, side * side);
}

/// Rough, and much as it was at the step before: worth a difference.
double value_of(std::int64_t step, std::int64_t i) {
  if (i % 97 == 5) return -0.0;
  return std::sin(12.9898 * static_cast<double>(i)) + 1e-9 * static_cast<double>(step);
}

Buffer state_of(std::int64_t step, Pool& pool) {
  Buffer state = pool.acquire();
  for (std::int64_t i = 0; i < shape_of_states().doubles(); ++i) state.data()[i] = value_of(step, i);
  return state;
}

bool holds(const Buffer& state, std::int64_t step, double error) {
  for (std::int64_t i = 0; i < shape_of_states().doubles(); ++i) {
    const double wanted = value_of(step, i), is = state.data()[i];
    if (error > 0 ? !(std::fabs(is - wanted) <= error) : std::memcmp(&is, &wanted, sizeof is) != 0) return false;
  }
  return true;
}

/// Memory that fails on demand and knows the labels.
class Watched final : public Medium {
 public:
  explicit Watched(std::int64_t pages) : memory_(pages, page) {}
  std::int64_t pages() const override { return memory_.pages(); }
  std::int64_t page_bytes() const override { return page; }
  void write(std::int64_t offset, const void* from, std::int64_t bytes) override {
    if (writes_to_fail-- == 1) throw MediumError("written badly");
    memory_.write(offset, from, bytes);
  }
  void read(std::int64_t offset, void* to, std::int64_t bytes) override {
    if (offset <= bad_page * page && bad_page * page < offset + bytes) throw MediumError("read badly");
    memory_.read(offset, to, bytes);
  }
  void label(std::int64_t slot, const SlotLabel& label) override {
    const std::scoped_lock lock(mutex_);
    labels_[slot] = label;
  }
  void link(std::int64_t, std::int64_t) override {}
  void flush() override {}
  double* memory() const override { return nullptr; }
  bool outlives_process() const override { return false; }
  SlotLabel label_of(std::int64_t slot) {
    const std::scoped_lock lock(mutex_);
    return labels_[slot];
  }
  std::string description() const override { return "watched"; }
  std::atomic<int> writes_to_fail{0};      ///< the write that many calls from now on
  std::atomic<std::int64_t> bad_page{-1};  ///< to read

 private:
  MemoryMedium memory_;
  std::mutex mutex_;
  std::map<std::int64_t, SlotLabel> labels_;
};

struct Setting {
  CodecSettings codec{.kind = "zstd", .difference = true};
  TierSettings tier{8, 2, 2, 0};
  int threads = 2;
  double error = 0.0;
};

std::int64_t pages_of(const CodecSettings& codec, std::int64_t states) {
  return states * ((make_codec(codec)->bound(shape_of_states()) + page - 1) / page);
}

/// A tier, its medium, and states enough.
struct Stage {
  explicit Stage(const Setting& setting, std::int64_t states)
      : pool(setting.tier.queue + setting.tier.prefetch + 5, shape_of_states().doubles()),
        medium(new Watched(pages_of(setting.codec, states))),
        tier(setting.tier, shape_of_states(), std::unique_ptr<Medium>(medium), make_codec(setting.codec),
             std::make_shared<TransferThreads>(setting.threads)) {}
  void save(std::int64_t slot, std::int64_t step) { tier.save(slot, state_of(step, pool), step); }
  bool loads(std::int64_t slot, std::int64_t step, double error = 0.0) {
    const Buffer state = tier.load(slot, pool);
    return state && holds(state, step, error);
  }
  bool is_difference(std::int64_t slot) const { return medium->label_of(slot).reference.first_page >= 0; }
  Pool pool;
  Watched* medium;
  SlotTier tier;
};

TEST(SlotReferences, WholeStatesAndDifferencesTakeTurns) {
  Stage stage({}, 8);
  for (std::int64_t slot = 0; slot < 6; ++slot) stage.save(slot, slot);
  stage.tier.finish();
  for (std::int64_t slot = 0; slot < 6; ++slot) {
    EXPECT_EQ(stage.is_difference(slot), slot % 2 == 1);
    if (slot % 2 == 0) continue;
    const SlotLabel whole = stage.medium->label_of(slot - 1), difference = stage.medium->label_of(slot);
    EXPECT_EQ(difference.reference.first_page, whole.first_page);
    EXPECT_EQ(difference.reference.bytes, whole.bytes);
    EXPECT_EQ(difference.reference.checksum, whole.checksum);
    EXPECT_LT(difference.bytes, whole.bytes / 2);
  }
  EXPECT_EQ(stage.tier.traffic().differences, 3);
  stage.tier.release(5);
  stage.save(5, 50);  // a difference again: the whole one before it is still there
  stage.tier.finish();
  EXPECT_TRUE(stage.is_difference(5));
  for (const std::int64_t slot : {5, 4, 3, 2, 1, 0}) {
    EXPECT_TRUE(stage.loads(slot, slot == 5 ? 50 : slot));
    stage.tier.release(slot);
  }
  EXPECT_EQ(stage.tier.traffic().damaged, 0);
}

TEST(SlotReferences, OutliveTheirSlot) {
  Stage stage({}, 4);
  stage.save(0, 1);
  stage.save(1, 2);
  stage.tier.release(0);  // before or after it was written
  stage.save(0, 3);
  stage.save(2, 4);
  stage.tier.finish();
  EXPECT_TRUE(stage.is_difference(1));
  EXPECT_FALSE(stage.is_difference(0));
  EXPECT_FALSE(stage.is_difference(2)) << "as long as a released state is kept for its difference, none is made";
  EXPECT_TRUE(stage.loads(1, 2));
  EXPECT_TRUE(stage.loads(0, 3));
  EXPECT_TRUE(stage.loads(2, 4));
  stage.tier.release(1);
  stage.save(1, 5);
  stage.tier.finish();
  EXPECT_TRUE(stage.is_difference(1));
  EXPECT_TRUE(stage.loads(1, 5));
}

TEST(SlotReferences, ADamagedOneDamagesItsDifference) {
  for (const bool is_released : {false, true})
    for (const bool is_difference_read : {true, false}) {
      if (is_released && !is_difference_read) continue;
      Stage stage({}, 8);
      for (std::int64_t slot = 0; slot < 4; ++slot) stage.save(slot, slot);
      stage.tier.finish();
      if (is_released) stage.tier.release(0);
      stage.medium->bad_page = stage.medium->label_of(0).first_page;
      const std::int64_t first = is_difference_read ? 1 : 0;
      EXPECT_FALSE(stage.loads(first, first));
      EXPECT_EQ(stage.tier.problem(), "read badly");
      EXPECT_TRUE(is_released || !stage.loads(1 - first, 1 - first));
      EXPECT_TRUE(stage.loads(2, 2));
      EXPECT_TRUE(stage.loads(3, 3));
      stage.medium->bad_page = -1;
      for (std::int64_t slot = 0; slot < 2; ++slot) {  // as a driver does that has computed them again
        if (slot == 1 || !is_released) stage.tier.release(slot);
        stage.save(slot, 10 + slot);
      }
      EXPECT_TRUE(stage.loads(0, 10));
      EXPECT_TRUE(stage.loads(1, 11));
    }
}

TEST(SlotReferences, OneThatWasNotWrittenDamagesItsDifference) {
  for (const int queue : {0, 1, 2, 3}) {
    Stage stage({.tier = {8, queue, 1, 0}, .threads = 1}, 8);  // writes in the order of the states
    stage.medium->writes_to_fail = 1;
    for (std::int64_t slot = 0; slot < 4; ++slot) stage.save(slot, slot);
    stage.tier.finish();
    EXPECT_FALSE(stage.loads(0, 0));
    EXPECT_EQ(stage.loads(1, 1), !stage.is_difference(1));
    EXPECT_TRUE(stage.loads(2, 2));
    EXPECT_TRUE(stage.loads(3, 3));
    EXPECT_EQ(stage.tier.traffic().lost, 1);
  }
}

TEST(SlotReferences, OneThatFoundNoPlaceIsDoneWithout) {
  Stage stage({.tier = {8, 0, 1, 0}}, 1);
  stage.save(0, 0);
  stage.save(1, 1);
  std::int64_t slot = 2;
  while (!stage.tier.is_full()) stage.save(slot, slot), ++slot;
  EXPECT_FALSE(stage.loads(slot - 1, slot - 1));
  for (std::int64_t i = 0; i < slot - 1; ++i) EXPECT_TRUE(stage.loads(i, i));
}

/// Writes that have not begun are dropped while others begin, none of which may wait for one that was dropped.
TEST(SlotReferences, AreBrokenOffAtAnyMoment) {
  for (const int threads : {1, 2}) {
    Stage stage({.codec = {.kind = "lz4", .difference = true}, .tier = {8, 5, 1, 0}, .threads = threads}, 8);
    for (int i = 0; i < 2000; ++i) {
      for (std::int64_t slot = 0; slot < 1 + i % 7; ++slot) stage.save(slot, slot);
      stage.tier.clear();
    }
    stage.save(0, 0);
    EXPECT_TRUE(stage.loads(0, 0));
  }
}

/// Saves, loads, prefetches and releases in any order against a model, breaking off now and then.
void use_at_random(const Setting& setting, unsigned seed) {
  SCOPED_TRACE(setting.codec.kind + ", seed " + std::to_string(seed));
  const std::int64_t slots = setting.tier.slots;
  Stage stage(setting, slots + slots / 2);
  std::mt19937 random(seed);
  std::map<std::int64_t, std::int64_t> wanted;
  std::int64_t differences = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto slot = static_cast<std::int64_t>(random() % static_cast<unsigned>(slots));
    const unsigned what = random() % 100;
    const bool is_full = wanted.contains(slot);
    if (what < 40 && !is_full) {
      stage.save(slot, i);
      wanted[slot] = i;
    } else if (what < 60 && is_full) {
      ASSERT_TRUE(stage.loads(slot, wanted[slot], setting.error)) << i << " " << stage.tier.problem();
    } else if (what < 75 && is_full) {
      stage.tier.prefetch(slot, stage.pool);
    } else if (what < 99 && is_full) {
      stage.tier.release(slot);
      wanted.erase(slot);
    } else if (what == 99 && random() % 5 == 0) {
      differences += stage.tier.traffic().differences;
      stage.tier.clear();
      wanted.clear();
    }
  }
  EXPECT_EQ(stage.tier.traffic().lost + stage.tier.traffic().damaged, 0);
  EXPECT_GT(differences + stage.tier.traffic().differences, 100);
  while (!wanted.empty()) {
    stage.tier.release(wanted.begin()->first);
    wanted.erase(wanted.begin());
  }
  stage.tier.finish();
  for (std::int64_t slot = 0; slot < slots; ++slot) stage.save(slot, slot);  // no page was lost
  stage.tier.finish();
  EXPECT_FALSE(stage.tier.is_full());
}

TEST(SlotReferences, GiveBackWhatTheyWereGivenInAnyOrder) {
  unsigned seed = 0;
  for (const int queue : {0, 1, 2, 5})
    for (const int prefetch : {0, 1, 3})
      for (const int threads : {1, 2}) {
        use_at_random(
            {.codec = {.kind = "lz4", .difference = true}, .tier = {7, queue, prefetch, 0}, .threads = threads},
            ++seed);
        use_at_random({.codec = {.kind = "quantised", .difference = true, .tolerance = 1e-7},
                       .tier = {7, queue, prefetch, 0},
                       .threads = threads,
                       .error = 1.00001e-7},
                      ++seed);
      }
  for (const char* kind : {"zstd", "zfp", "float32"})
    use_at_random({.codec = {.kind = kind, .then = "zstd", .difference = true, .tolerance = 1e-9},
                   .tier = {6, 2, 2, 0},
                   .error = kind == std::string("zstd") ? 0.0 : 1e-7},
                  ++seed);
}

/// The same with transfers that fail: what is given back is right, and what is lost is computed again by others.
TEST(SlotReferences, GiveBackNothingWrongWhenTransfersFail) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const Setting setting{.tier = {7, static_cast<int>(seed % 3), static_cast<int>(seed % 4), 0}};
    Stage stage(setting, 14);
    std::mt19937 random(seed);
    std::map<std::int64_t, std::int64_t> wanted;
    std::int64_t missing = 0;
    for (int i = 0; i < 3000; ++i) {
      const auto slot = static_cast<std::int64_t>(random() % 7U);
      const unsigned what = random() % 100;
      const bool is_full = wanted.contains(slot);
      if (what < 40 && !is_full) {
        stage.save(slot, i);
        wanted[slot] = i;
      } else if (what < 60 && is_full) {
        const Buffer state = stage.tier.load(slot, stage.pool);
        ASSERT_TRUE(!state || holds(state, wanted[slot], 0.0)) << i;
        if (state) continue;
        ++missing;
        stage.tier.release(slot);
        wanted.erase(slot);
      } else if (what < 72 && is_full) {
        stage.tier.prefetch(slot, stage.pool);
      } else if (what < 95 && is_full) {
        stage.tier.release(slot);
        wanted.erase(slot);
      } else if (what >= 95) {
        stage.tier.finish();
        for (const auto& [other, step] : wanted) stage.tier.load(other, stage.pool);  // reads end as well
        stage.medium->bad_page = what < 98 ? static_cast<std::int64_t>(random() % 40U) : -1;
        stage.medium->writes_to_fail = static_cast<int>(random() % 4U);
      }
    }
    EXPECT_GT(missing, 0);
    stage.tier.finish();
    EXPECT_FALSE(stage.tier.is_full());
  }
}

}  // namespace
}  // namespace hindsight

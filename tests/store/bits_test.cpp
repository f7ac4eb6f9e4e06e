// ranks: 1 2 3
// Where states are kept and how they get there does not show in the gradient.

#include <algorithm>
#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

const std::vector<std::string> base = {"grid.x.cells=64", "grid.y.cells=48", "time.step=0.5", "time.to=40"};

/// More keys than those of `base`.
std::vector<std::string> with(const std::vector<std::string>& more) {
  std::vector<std::string> all = base;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Evaluation reference(const std::vector<std::string>& more = {}) {
  Session session(test::shipped_case("gray-scott", with(more)), test::self(), Sensitivities::adjoint);
  return session.gradient({});
}

SessionOptions options() {
  SessionOptions all;
  all.disk.scratch = testing::TempDir() + "bits";
  all.costs = "forward=1,reverse=3,disk.write=2,disk.read=2";
  return all;
}

/// @returns whether a rank stored a difference.
bool expect_bits(const std::vector<std::string>& more, const SessionOptions& how, const Evaluation& wanted) {
  std::string trace;
  std::vector<std::string> set = base;
  for (const std::string& key : more) {
    set.push_back(key);
    trace += key + " ";
  }
  SCOPED_TRACE(trace + (how.disk.direct ? "direct" : "buffered"));
  Session session(test::shipped_case("gray-scott", set), test::world(), Sensitivities::adjoint, how);
  for (int i = 0; i < 2; ++i) {
    const Evaluation mine = session.gradient({});
    test::expect_same_bits(session, mine, wanted);
    const ScheduleCounts& predicted = session.plan().schedule.predicted;
    EXPECT_TRUE(predicted.plain == unpredicted || predicted.plain == mine.counts.plain) << mine.counts.plain;
    EXPECT_EQ(mine.counts.repaired, 0);
    EXPECT_LE(mine.counts.peak[1], predicted.peak[1]);
    EXPECT_LE(mine.counts.peak[2], predicted.peak[2]);
  }
  std::int64_t differences = 0;
  for (const SlotTier* tier : session.tiers().all()) differences += tier != nullptr ? tier->traffic().differences : 0;
  return test::world().any(differences > 0);
}

TEST(StoreBits, HostDiskAndBoth) {
  const Evaluation wanted = reference();
  for (const bool direct : {true, false}) {
    SessionOptions how = options();
    how.disk.direct = direct;
    expect_bits({"checkpoints.host=200 slots"}, how, wanted);
    expect_bits({"checkpoints.host=9 slots"}, how, wanted);
    expect_bits({"checkpoints.host=0 slots", "checkpoints.disk=100 slots"}, how, wanted);
    expect_bits({"checkpoints.host=0 slots", "checkpoints.disk=10 slots", "checkpoints.schedule=hrevolve"}, how,
                wanted);
    for (const char* schedule : {"stride", "hrevolve", "multistage", "periodic", "diskrevolve", "twolevel"})
      expect_bits({"checkpoints.host=5 slots", "checkpoints.disk=100 slots", "checkpoints.period=6",
                   std::string("checkpoints.schedule=") + schedule},
                  how, wanted);
  }
}

/// Memory with a codec holds states, no stage records.
TEST(StoreBits, EveryScheduleInCodedHostMemory) {
  const Evaluation wanted = reference();
  std::vector<std::string> refused;
  for (const ScheduleKind& kind : schedules().all()) {
    try {
      expect_bits({"checkpoints={schedule: " + kind.name + ", period: 6, host: {size: 100 slots, codec: lz4}}"},
                  options(), wanted);
    } catch (const InputError& error) {
      refused.push_back(kind.name);
      const bool says_why = std::string(error.what()).find("it keeps stage records") != std::string::npos;
      EXPECT_EQ(says_why, kind.name == "cams") << error.what();
    }
  }
  // Most need a disk; what the case steps cannot be walked back.
  EXPECT_EQ(refused, (std::vector<std::string>{"periodic", "twolevel", "mixed", "cams", "stride", "walk-back"}));
}

/// Steps so short that neighbours are worth a difference.
const std::vector<std::string> short_steps = {"time.step=0.001", "time.to=0.08"};

TEST(StoreBits, DifferencesToNeighbours) {
  const Evaluation wanted = reference(short_steps);
  const std::string coded = ", codec: zstd, difference: neighbour}";
  const auto expect_differences = [&](std::vector<std::string> set) {
    set.insert(set.end(), short_steps.begin(), short_steps.end());
    EXPECT_TRUE(expect_bits(set, options(), wanted));
  };
  for (const char* schedule : {"stride", "hrevolve", "multistage", "periodic", "diskrevolve", "twolevel"})
    expect_differences({"checkpoints.host=5 slots", "checkpoints.disk={size: 100 slots, queue: 2" + coded,
                        "checkpoints.period=6", std::string("checkpoints.schedule=") + schedule});
  for (const char* schedule : {"revolve", "uniform"})
    expect_differences({"checkpoints.host={size: 8 slots" + coded, std::string("checkpoints.schedule=") + schedule});
  for (const char* depths : {"queue: 0, prefetch: 0", "queue: 1, prefetch: 5", "queue: 16, prefetch: 1"})
    expect_differences({"checkpoints.host=4 slots", "checkpoints.schedule=stride",
                        std::string("checkpoints.disk={size: 60 slots, ") + depths + coded});
}

TEST(StoreBits, DifferencesWhereStatesAreGivenUpInAnyOrder) {
  const Evaluation wanted = reference(short_steps);
  for (const int slots : {3, 5, 8, 13, 20}) {
    SCOPED_TRACE(slots);
    std::vector<std::string> set = with(short_steps);
    set.push_back("checkpoints={schedule: online, host: {size: " + std::to_string(slots) +
                  " slots, codec: zstd, difference: neighbour}}");
    Session session(test::shipped_case("gray-scott", set), test::world(), Sensitivities::adjoint, options());
    for (int i = 0; i < 2; ++i) test::expect_same_bits(session, session.gradient({}), wanted);
    EXPECT_TRUE(test::world().any(session.tiers()[Tier::host]->traffic().differences > 0));
  }
}

TEST(StoreBits, QueuesAndPrefetchesOfAllDepths) {
  const Evaluation wanted = reference();
  for (const int queue : {0, 1, 2, 3, 5, 8, 16})
    for (const int prefetch : {0, 1, 2, 5, 16})
      for (const char* schedule : {"stride", "hrevolve"})
        expect_bits({"checkpoints.host=4 slots", std::string("checkpoints.schedule=") + schedule,
                     "checkpoints.disk={size: 60 slots, queue: " + std::to_string(queue) +
                         ", prefetch: " + std::to_string(prefetch) + "}"},
                    options(), wanted);
}

TEST(StoreBits, ManyGradientsInARow) {
  const Evaluation wanted = reference();
  std::vector<std::string> set = base;
  set.insert(set.end(), {"checkpoints.host=4 slots", "checkpoints.disk=60 slots", "checkpoints.schedule=stride"});
  Session session(test::shipped_case("gray-scott", set), test::world(), Sensitivities::adjoint, options());
  for (int i = 0; i < 50; ++i) test::expect_same_bits(session, session.gradient({}), wanted);
}

}  // namespace
}  // namespace hindsight

// ranks: 1 2 3
// Where states are kept and how they get there does not show in the gradient.
#include <unistd.h>

#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

const std::vector<std::string> base = {"grid.x.cells=64", "grid.y.cells=48", "time.step=0.5", "time.to=40"};

Evaluation reference() {
  Session session(test::shipped_case("gray-scott", base), test::self(), true, false, true);
  return session.gradient({});
}

PlanOptions options() {
  PlanOptions all;
  all.disk.scratch = test::world().broadcast("/tmp/hindsight-bits-" + std::to_string(getpid()));
  all.costs = "forward=1,reverse=3,disk.write=2,disk.read=2";
  return all;
}

void expect_bits(const std::vector<std::string>& more, const PlanOptions& how, const Evaluation& wanted) {
  std::string trace;
  std::vector<std::string> set = base;
  for (const std::string& key : more) {
    set.push_back(key);
    trace += key + " ";
  }
  SCOPED_TRACE(trace + (how.disk.direct ? "direct" : "buffered"));
  Session session(test::shipped_case("gray-scott", set), test::world(), true, false, true, how);
  for (int i = 0; i < 2; ++i) {
    const Evaluation mine = session.gradient({});
    test::expect_same_bits(session, mine, wanted);
    const ScheduleCounts& predicted = session.plan().schedule.predicted;
    EXPECT_EQ(mine.counts.plain, predicted.plain);
    EXPECT_EQ(mine.counts.repaired, 0);
    EXPECT_LE(mine.counts.peak[1], predicted.peak[1]);
    EXPECT_LE(mine.counts.peak[2], predicted.peak[2]);
  }
}

TEST(StoreBits, HostDiskAndBoth) {
  const Evaluation wanted = reference();
  for (const bool direct : {true, false}) {
    PlanOptions how = options();
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
  Session session(test::shipped_case("gray-scott", set), test::world(), true, false, true, options());
  for (int i = 0; i < 50; ++i) test::expect_same_bits(session, session.gradient({}), wanted);
}

}  // namespace
}  // namespace hindsight

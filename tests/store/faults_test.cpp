// ranks: 1 3
// Whatever goes wrong with the disk, on one rank alone too: the gradient keeps its bits, or the run ends with code 6.
#include <sys/mount.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "tests/store/faulty_file.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

const std::vector<std::string> small = {"grid.x.cells=32", "grid.y.cells=24", "time.step=0.5", "time.to=20"};

std::string scratch() {
  return testing::TempDir() + "faults";
}

/// Steps so short that neighbours are worth a difference.
const std::vector<std::string> short_steps = {"time.step=0.001", "time.to=0.04"};
const std::string differences = ", codec: zstd, difference: neighbour}";

/// @param more keys than the `small` ones.
Evaluation reference(const std::vector<std::string>& more = {}) {
  std::vector<std::string> set = small;
  set.insert(set.end(), more.begin(), more.end());
  Session session(test::shipped_case("gray-scott", set), test::self(), Sensitivities::adjoint);
  return session.gradient({});
}

using test::Faults;

/// A gradient with nearly all its states on a faulty disk; only the last rank is hit.
class Hit {
 public:
  explicit Hit(std::shared_ptr<Faults> faults, const std::string& disk = "{size: 60 slots}",
               const std::string& schedule = "stride", int period = 4, const std::vector<std::string>& more = {}) {
    std::vector<std::string> set = small;
    set.insert(set.end(), more.begin(), more.end());
    set.insert(set.end(), {"checkpoints.host=3 slots", "checkpoints.schedule=" + schedule, "checkpoints.disk=" + disk});
    if (period > 0) set.push_back("checkpoints.period=" + std::to_string(period));
    SessionOptions options;
    options.disk.scratch = scratch();
    options.costs = "forward=1,reverse=3,disk.write=0.5,disk.read=0.5";
    if (test::world().rank() == test::world().size() - 1) options.disk.open_file = test::faulty(faults);
    session_ = std::make_unique<Session>(test::shipped_case("gray-scott", set), test::world(), Sensitivities::adjoint,
                                         options);
    const std::scoped_lock lock(faults->mutex);  // the measurement's calls do not count
    faults->writes = faults->reads = 0;
    faults->read_at.clear();
  }
  Session& session() { return *session_; }
  Evaluation gradient() { return session_->gradient({}); }
  std::string warning() const { return session_->warnings().empty() ? "" : session_->warnings().back(); }

 private:
  std::unique_ptr<Session> session_;
};

TEST(Faults, ShortTransfersAreContinued) {
  const Evaluation wanted = reference();
  const auto faults = std::make_shared<Faults>();
  faults->most_at_once = 4096;
  Hit hit(faults);
  test::expect_same_bits(hit.session(), hit.gradient(), wanted);
  EXPECT_TRUE(hit.session().warnings().empty());
}

TEST(Faults, AnErrorThatPassesIsNotNoticed) {
  const Evaluation wanted = reference();
  const auto faults = std::make_shared<Faults>();
  Hit hit(faults);
  faults->failing_writes = {3};
  faults->failing_reads = {2, 7};
  const Evaluation mine = hit.gradient();
  EXPECT_EQ(mine.counts.repaired, 0);
  test::expect_same_bits(hit.session(), mine, wanted);
}

TEST(Faults, AStateThatCannotBeReadIsComputedAgain) {
  const Evaluation wanted = reference();
  for (const char* schedule : {"stride", "hrevolve", "multistage", "periodic"}) {
    SCOPED_TRACE(schedule);
    const auto faults = std::make_shared<Faults>();
    Hit hit(faults, "{size: 9 slots, queue: 0, prefetch: 1}", schedule);
    hit.gradient();
    if (!faults->read_at.empty()) faults->bad_for_reads = {faults->read_at.front()};
    const Evaluation mine = hit.gradient();
    EXPECT_GE(mine.counts.repaired, 1);
    EXPECT_GT(mine.counts.repairing_steps, 0);
    EXPECT_NE(hit.warning().find("computed again"), std::string::npos) << hit.warning();
    EXPECT_NE(hit.warning().find("Input/output error"), std::string::npos) << hit.warning();
    test::expect_same_bits(hit.session(), mine, wanted);
  }
}

TEST(Faults, AStateAndItsDifferenceAreComputedAgain) {
  const Evaluation wanted = reference(short_steps);
  for (const char* schedule : {"stride", "hrevolve", "multistage", "periodic"}) {
    SCOPED_TRACE(schedule);
    const auto faults = std::make_shared<Faults>();
    Hit hit(faults, "{size: 60 slots, queue: 0, prefetch: 1" + differences, schedule, 4, short_steps);
    hit.gradient();
    const SlotTier& disk = *hit.session().tiers()[Tier::disk];
    EXPECT_TRUE(test::world().any(disk.traffic().differences > 0));
    if (!faults->read_at.empty()) faults->bad_for_reads = {faults->read_at.front()};
    const Evaluation mine = hit.gradient();
    EXPECT_GE(mine.counts.repaired, 1);
    EXPECT_TRUE(faults->read_at.empty() || disk.traffic().damaged > 0);
    EXPECT_NE(hit.warning().find("computed again"), std::string::npos) << hit.warning();
    test::expect_same_bits(hit.session(), mine, wanted);
  }
}

TEST(Faults, AStateThatCannotBeWrittenIsComputedAgain) {
  const Evaluation wanted = reference();
  const auto faults = std::make_shared<Faults>();
  Hit hit(faults, "{size: 60 slots, queue: 0, prefetch: 0}");
  hit.gradient();
  if (!faults->read_at.empty()) faults->bad_for_writes = {faults->read_at.front()};
  const Evaluation mine = hit.gradient();
  EXPECT_EQ(mine.counts.repaired, 1);
  test::expect_same_bits(hit.session(), mine, wanted);
}

TEST(Faults, TooManyEndTheRunOnAllRanks) {
  const auto faults = std::make_shared<Faults>();
  Hit hit(faults, "{size: 60 slots, queue: 0, prefetch: 0}");
  for (std::int64_t call = 0; call < 1000; ++call) faults->failing_reads.insert(call);
  try {
    hit.gradient();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::resource);
    EXPECT_NE(std::string(error.what()).find("too many to go on"), std::string::npos) << error.what();
  }
  faults->failing_reads.clear();  // and the next gradient is right again
  test::expect_same_bits(hit.session(), hit.gradient(), reference());
}

TEST(Faults, ADiskThatIsFullFromTheStartShrinksThePlan) {
  const Evaluation wanted = reference();
  const auto faults = std::make_shared<Faults>();
  faults->room_to_reserve = 5 * 32 * 24 * 2 * 8;
  Hit hit(faults, "{size: 60 slots}", "stride", 0);
  ASSERT_NE(hit.session().tiers()[Tier::disk], nullptr);
  EXPECT_LE(hit.session().tiers()[Tier::disk]->settings().slots * test::world().size(), 60);
  EXPECT_NE(hit.warning().find("No space left on device"), std::string::npos) << hit.warning();
  test::expect_same_bits(hit.session(), hit.gradient(), wanted);
}

TEST(Faults, ADiskThatFillsUpShrinksThePlanAndTheRunBeginsAgain) {
  const Evaluation wanted = reference();
  const auto faults = std::make_shared<Faults>();
  Hit hit(faults, "{size: 60 slots}", "stride", 0);
  const std::int64_t slots = hit.session().tiers()[Tier::disk]->settings().slots;
  faults->room = 3 * hit.session().plan_inputs().slot_bytes[2];
  ASSERT_GT(slots, 4);
  test::expect_same_bits(hit.session(), hit.gradient(), wanted);
  EXPECT_LT(hit.session().plan_inputs().units[Tier::disk], slots);
  EXPECT_NE(hit.warning().find("No space left"), std::string::npos) << hit.warning();
}

TEST(Faults, AFullDiskEndsTheRunWhenTheScheduleAskedForDoesNotFit) {
  const auto faults = std::make_shared<Faults>();
  Hit hit(faults, "{size: 60 slots}", "stride", 2);
  faults->room = 3 * hit.session().plan_inputs().slot_bytes[2];
  try {
    hit.gradient();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::resource) << error.what();
  }
}

TEST(Faults, ASmallFileSystemFillsUp) {
  const std::string folder = scratch() + "-tmpfs";
  std::filesystem::create_directories(folder);
  int mounted = 0;
  if (test::world().is_root()) mounted = mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=200k") == 0 ? 1 : 0;
  MPI_Bcast(&mounted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (mounted == 0) GTEST_SKIP() << "mounting a file system needs root";
  {
    const Evaluation wanted = reference();
    const auto faults = std::make_shared<Faults>();
    Hit hit(faults, "{size: 60 slots, directory: " + folder + "}", "stride", 0);
    EXPECT_FALSE(hit.session().warnings().empty());
    EXPECT_EQ(hit.session().plan().request.capacities[Tier::disk] > 0, hit.session().tiers()[Tier::disk] != nullptr);
    test::expect_same_bits(hit.session(), hit.gradient(), wanted);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (!test::world().is_root()) return;
  umount(folder.c_str());
  std::filesystem::remove(folder);
}

TEST(Faults, AFolderThatVanishesIsNotMissed) {
  const Evaluation wanted = reference();
  const auto faults = std::make_shared<Faults>();
  Hit hit(faults);
  const std::string folder = scratch();  // collective
  if (test::world().is_root()) std::filesystem::remove_all(folder);
  MPI_Barrier(MPI_COMM_WORLD);
  test::expect_same_bits(hit.session(), hit.gradient(), wanted);
}

TEST(Faults, AFolderThatCannotBeMadeIsNamed) {
  try {
    Hit hit(std::make_shared<Faults>(), "{size: 60 slots, directory: /proc/nowhere}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::resource);
    EXPECT_NE(std::string(error.what()).find("/proc/nowhere"), std::string::npos) << error.what();
  }
}

TEST(Faults, OfAThousandFlippedBitsNoneChangesTheGradient) {
  const Evaluation wanted = reference();
  const auto faults = std::make_shared<Faults>();
  Hit hit(faults, "{size: 60 slots, queue: 0, prefetch: 1}");
  std::mt19937_64 random(20261121);
  const auto page = static_cast<std::uint64_t>(8 * hit.session().simulation().shape().bytes());
  std::int64_t repaired = 0, flips = 0;
  for (int i = 0; i < 1000; ++i) {
    {
      const std::scoped_lock lock(faults->mutex);
      faults->writes = faults->reads = faults->flips = 0;
      const std::uint64_t call = random() % 5;
      faults->flipped_write = i % 2 == 0 ? static_cast<std::int64_t>(call) : -1;
      faults->flipped_read = i % 2 == 1 ? static_cast<std::int64_t>(call) : -1;
      faults->flipped_bit = static_cast<std::int64_t>(random() % page);
    }
    const Evaluation mine = hit.gradient();
    repaired += mine.counts.repaired;
    flips += faults->flips;
    ASSERT_EQ(mine.objective, wanted.objective);
    test::expect_same_bits(hit.session(), mine, wanted);
  }
  EXPECT_EQ(flips, test::world().rank() == test::world().size() - 1 ? 1000 : 0);
  EXPECT_GE(repaired, 990);  // a state may be taken back before it was written
}

TEST(Faults, OfHundredsOfFlippedBitsInDifferencesNoneChangesTheGradient) {
  const Evaluation wanted = reference(short_steps);
  const auto faults = std::make_shared<Faults>();
  Hit hit(faults, "{size: 60 slots, queue: 0, prefetch: 1" + differences, "stride", 4, short_steps);
  std::mt19937_64 random(20261122);
  std::int64_t repaired = 0;
  for (int i = 0; i < 200; ++i) {
    {
      const std::scoped_lock lock(faults->mutex);
      faults->writes = faults->reads = 0;
      const auto call = static_cast<std::int64_t>(random() % 5);
      faults->flipped_write = i % 2 == 0 ? call : -1;
      faults->flipped_read = i % 2 == 1 ? call : -1;
      faults->flipped_bit = static_cast<std::int64_t>(random() % 20000);
    }
    const Evaluation mine = hit.gradient();
    repaired += mine.counts.repaired;
    ASSERT_EQ(mine.objective, wanted.objective);
    test::expect_same_bits(hit.session(), mine, wanted);
  }
  EXPECT_GE(repaired, 20);  // bits behind a state's bytes do not matter
}

}  // namespace
}  // namespace hindsight

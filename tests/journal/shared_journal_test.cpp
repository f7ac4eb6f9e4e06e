// ranks: 1 3
// Ranks agree on an epoch, whatever happens to one of them.
#include "io/journal/shared_journal.hpp"

#include <algorithm>
#include <random>

#include "runtime/error.hpp"
#include "tests/journal/payloads.hpp"
#include "tests/journal/power_loss.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

using Epochs = std::vector<std::vector<std::int64_t>>;

/// What rank 0 gets when every rank gives the lists with its number, dealt in turn.
std::int64_t agreed(const Epochs& lists) {
  const Communicator world = test::world();
  Epochs mine;
  for (std::size_t i = static_cast<std::size_t>(world.rank()); i < lists.size();
       i += static_cast<std::size_t>(world.size()))
    mine.push_back(lists[i]);
  return agreed_epoch(world, mine);
}

TEST(AgreedEpoch, IsTheNewestThatAllHave) {
  EXPECT_EQ(agreed({{7, 6}, {7, 6}, {7, 6}}), 7);
  EXPECT_EQ(agreed({{7, 6}, {6, 5}, {7, 6}}), 6);
  EXPECT_EQ(agreed({{7, 6}, {6}, {7, 6}, {6, 5}}), 6);
  EXPECT_EQ(agreed({{3}}), 3);
  EXPECT_EQ(agreed({{7, 5}, {6, 5}, {7, 6, 5}}), 5);
  EXPECT_EQ(agreed({{7, 6}, {5, 4}, {7, 6}}), -1);
  EXPECT_EQ(agreed({{7, 6}, {7, 6}, {}}), -1);
}

std::uint64_t seed_of(std::uint64_t trial, std::int64_t epoch, int life, int rank) {
  return ((trial * 1000 + static_cast<std::uint64_t>(epoch)) * 10 + static_cast<std::uint64_t>(life)) * 10 +
         static_cast<std::uint64_t>(rank);
}

/// Every rank's files in memory; one rank's power fails at a random call, and perhaps the others' afterwards.
class Ranks {
 public:
  explicit Ranks(std::uint64_t trial) : trial_(trial), random_(trial), files_(100 * trial + rank()) {}

  /// One life: opens, commits until one rank fails.
  void live(int life) {
    const int failing = static_cast<int>(random_() % static_cast<std::uint64_t>(world_.size()));
    const auto call = static_cast<std::int64_t>(random_() % 40);
    if (world_.rank() == failing) files_.disk().fail_at(call);
    try {
      SharedJournal journal = SharedJournal::open(files_, {"run/journal"}, world_);
      while (true) commit(journal, life);
    } catch (const ResourceError& error) {
      EXPECT_STREQ(error.what(), "the power failed");
    }
    const bool all_fail = random_() % 2 == 0;
    if (all_fail || world_.rank() == failing) files_.disk().restart();
  }

  /// All ranks are at one epoch, not older than the last committed, with what was committed last under its number.
  void examine() {
    const SharedJournal journal = SharedJournal::open(files_, {"run/journal"}, world_);
    EXPECT_EQ(world_.max(journal.epoch()), journal.epoch());
    ASSERT_GE(journal.epoch(), returned_);
    ASSERT_LE(journal.epoch(), returned_ + 1);
    const Bytes expected =
        journal.epoch() == 0
            ? Bytes{}
            : test::some_payload(seed_of(trial_, journal.epoch(), life_of_.at(journal.epoch()), world_.rank()));
    ASSERT_EQ(journal.load(), expected);
    returned_ = journal.epoch();
  }

 private:
  std::uint64_t rank() const { return static_cast<std::uint64_t>(world_.rank()); }
  void commit(SharedJournal& journal, int life) {
    const std::int64_t next = journal.epoch() + 1;
    life_of_[next] = life;
    journal.commit(test::some_payload(seed_of(trial_, next, life, world_.rank())));
    returned_ = next;
  }

  Communicator world_ = test::world();
  std::uint64_t trial_;
  std::mt19937_64 random_;  // the same on all ranks
  test::FilesInMemory files_;
  std::map<std::int64_t, int> life_of_;
  std::int64_t returned_ = 0;
};

TEST(SharedJournals, AgreeAfterOneRankFails) {
  for (std::uint64_t trial = 0; trial < 100 && !testing::Test::HasFailure(); ++trial) {
    SCOPED_TRACE(trial);
    Ranks ranks(trial);
    for (int life = 0; life < 5; ++life) {
      ranks.live(life);
      ranks.examine();
    }
  }
}

std::string problem(FileSystem& files) {
  try {
    SharedJournal::open(files, {"journal"}, test::world());
  } catch (const ResourceError& error) {
    return error.what();
  }
  return "";
}

TEST(SharedJournals, AMissingOrDamagedOneIsNamedOnAllRanks) {
  const Communicator world = test::world();
  if (world.size() == 1) return;
  const int last = world.size() - 1;
  const std::string name = "'journal." + std::to_string(last) + "'";
  test::FilesInMemory files(0);
  {
    SharedJournal journal = SharedJournal::create(files, {"journal"}, world);
    for (int i = 0; i < 3; ++i) journal.commit(Bytes(100));
  }
  if (world.rank() == last) files.open("journal." + std::to_string(last), OpenMode::existing)->write("x", 1, 0);
  if (world.rank() == last) files.open("journal." + std::to_string(last), OpenMode::existing)->write("x", 1, 4096);
  EXPECT_EQ(problem(files),
            "the journal " + name + " is damaged: first block: it has no header; second block: it has no header");
  if (world.rank() == last) files.remove("journal." + std::to_string(last));
  EXPECT_EQ(problem(files), "the journal " + name + " is missing; other ranks have theirs");
}

}  // namespace
}  // namespace hindsight

// ranks: 1 2 3
// The epoch that a run goes on from, on as many ranks or others.
#include "io/journal/kept_epoch.hpp"

#include "io/journal/block_entries.hpp"
#include "tests/journal/grid_values.hpp"

namespace hindsight {
namespace {

using test::expect_values;
using test::write_values;

Bytes payload(const Grid& grid, int number) {
  ArchiveWriter to(BlockEntries::version);
  BlockWriter writer(to, grid);
  write_values(writer, grid, number);
  return Bytes(to.bytes().begin(), to.bytes().end());
}

/// Journals of some ranks with so many epochs, whose values have their numbers.
void write_epochs(const Communicator& comm, const std::string& path, int count) {
  PosixFileSystem files;
  const Grid grid = test::line(comm);
  SharedJournal journal = SharedJournal::create(files, path, comm);
  for (int i = 1; i <= count; ++i) journal.commit(payload(grid, i));
}

/// Ranks among `before` whose cells are also a rank's among `after`, when ranks share cells evenly.
std::vector<int> ranks_that_share(int before, int after, int rank) {
  std::vector<int> ranks;
  for (int r = 0; r < before; ++r)
    if (r * after < (rank + 1) * before && rank * before < (r + 1) * after) ranks.push_back(r);
  return ranks;
}

TEST(KeptEpochs, AreEachRanksOwn) {
  const std::string path = test::empty_folder() + "/journal";
  PosixFileSystem files;
  write_epochs(test::world(), path, 3);
  const Grid grid = test::line(test::world());
  const SharedJournal journal = SharedJournal::open(files, path, test::world());
  std::optional<KeptEpoch> kept = KeptEpoch::of(journal, path, grid);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->number(), 3);
  EXPECT_EQ(kept->ranks(), std::vector<int>{test::world().rank()});
  EXPECT_TRUE(kept->reader().is_own());
  expect_values(kept->reader(), grid, 3);
}

TEST(KeptEpochs, AreNoneWhereNothingWasCommitted) {
  const std::string path = test::empty_folder() + "/journal";
  PosixFileSystem files;
  write_epochs(test::world(), path, 0);
  const Grid grid = test::line(test::world());
  EXPECT_FALSE(KeptEpoch::of(SharedJournal::open(files, path, test::world()), path, grid));
  EXPECT_FALSE(KeptEpoch::of_other_ranks(files, path, test::world().size(), grid));
  EXPECT_FALSE(KeptEpoch::of_other_ranks(files, path, test::world().size() + 1, grid)) << "killed before all were made";
  EXPECT_FALSE(KeptEpoch::of_other_ranks(files, path + "-of-nobody", 2, grid)) << "killed before one was made";
}

TEST(KeptEpochs, OfOtherRanksAreReadFromThoseThatOwnedCells) {
  const std::string folder = test::empty_folder();
  const int most = test::world().size();
  for (int before = 1; before <= most; ++before) {
    const std::string path = folder + "/journal-" + std::to_string(before);
    test::on_first_ranks(before, [&](const Communicator& comm) { write_epochs(comm, path, 2); });
    for (int after = 1; after <= most; ++after) {
      SCOPED_TRACE(std::to_string(before) + " ranks, then " + std::to_string(after));
      test::on_first_ranks(after, [&](const Communicator& comm) {
        PosixFileSystem files;
        const Grid grid = test::line(comm);
        std::optional<KeptEpoch> kept = KeptEpoch::of_other_ranks(files, path, before, grid);
        ASSERT_TRUE(kept);
        EXPECT_EQ(kept->number(), 2);
        EXPECT_EQ(kept->ranks(), ranks_that_share(before, after, comm.rank()));
        expect_values(kept->reader(), grid, 2);
      });
    }
  }
}

TEST(KeptEpochs, OfOtherRanksAreTheNewestThatAllHave) {
  const std::string path = test::empty_folder() + "/journal";
  PosixFileSystem files;
  const Grid grid = test::line(test::world()), whole = test::line(test::self());
  if (test::world().is_root()) {
    Journal::create(files, RankFiles(path).of(0), 4, payload(whole, 4)).commit(5, payload(whole, 5));
    Journal::create(files, RankFiles(path).of(1), 4, payload(whole, 4));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::optional<KeptEpoch> kept = KeptEpoch::of_other_ranks(files, path, 2, grid);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->number(), 4);
  expect_values(kept->reader(), grid, 4);
}

TEST(KeptEpochs, ThatAreMissingOrNotInCommonAreToldToAllRanks) {
  const std::string folder = test::empty_folder(), path = folder + "/journal";
  PosixFileSystem files;
  const Grid grid = test::line(test::world()), whole = test::line(test::self());
  const auto problem = [&](int ranks) {
    return test::resource_problem([&] { KeptEpoch::of_other_ranks(files, path, ranks, grid); });
  };
  if (test::world().is_root()) {
    Journal::create(files, RankFiles(path).of(0), 4, payload(whole, 4));
    Journal::create(files, RankFiles(path).of(1), 7, payload(whole, 7));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(problem(2), "the journals in '" + folder + "' have no epoch in common");
  EXPECT_EQ(problem(3), "the journal '" + path + ".2' is missing");
}

}  // namespace
}  // namespace hindsight

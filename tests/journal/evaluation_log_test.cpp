// ranks: 1 2 3
// Evaluations that were logged are given back to whoever goes on, on as many ranks or others.
#include "io/journal/evaluation_log.hpp"

#include "io/journal/shared_journal.hpp"
#include "tests/journal/grid_values.hpp"

namespace hindsight {
namespace {

using test::expect_values;
using test::write_values;

/// The log of one process of a run. What an epoch has of it is kept in a file per rank.
class Process {
 public:
  Process(const Communicator& comm, std::string folder, int generation)
      : comm_(comm),
        grid_(test::line(comm)),
        entries_(grid_),
        folder_(std::move(folder)),
        log_(files_, path("evaluations", generation, comm.rank()), comm, entries_) {}

  EvaluationLog& log() { return log_; }
  void add(int number) {
    log_.add([&](BlockWriter& to) { write_values(to, grid_, number); });
  }
  /// @returns whether there was one.
  bool recall(int number) {
    return log_.recall([&](BlockReader& from) { expect_values(from, grid_, number); });
  }
  void keep(int generation) {
    ArchiveWriter to(BlockEntries::version);
    const BlockWriter head(to, grid_);
    log_.save(to);
    log_.flush();
    EntryLog epoch = EntryLog::create(files_, path("epoch", generation, comm_.rank()));
    epoch.append(to.bytes());
  }
  /// Goes on with what `ranks` ranks have kept, as many as now or others.
  void go_on(int generation, int ranks) {
    std::vector<Bytes> parts;
    std::vector<std::string> logs;
    for (int rank = 0; rank < ranks; ++rank) {
      if (ranks == comm_.size() && rank != comm_.rank()) continue;
      std::int64_t at = 0;
      parts.push_back(EntryLog::open(files_, path("epoch", generation, rank), -1, OpenMode::read_only).read(at));
      logs.push_back(path("evaluations", generation, rank));
    }
    entries_.read(parts, "the epoch", [&](BlockReader& from) { log_.restore(from, logs); });
    log_.begin();
  }

 private:
  std::string path(const std::string& name, int generation, int rank) const {
    return RankFiles(folder_ + "/" + name + "-" + std::to_string(generation)).of(rank);
  }
  Communicator comm_;
  PosixFileSystem files_;
  Grid grid_;
  BlockEntries entries_;
  std::string folder_;
  EvaluationLog log_;
};

TEST(EvaluationLogs, GiveEntriesBackInOrder) {
  const std::string folder = test::empty_folder();
  {
    Process first(test::world(), folder, 0);
    first.log().begin();
    EXPECT_FALSE(first.recall(0));
    for (int i = 0; i < 3; ++i) first.add(i);
    EXPECT_EQ(first.log().count(), 3);
    first.keep(0);
  }
  Process second(test::world(), folder, 0);
  second.go_on(0, test::world().size());
  EXPECT_FALSE(second.log().is_new());
  EXPECT_EQ(second.log().recalled(), 3);
  EXPECT_EQ(second.log().count(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(second.log().has_next());
    EXPECT_TRUE(second.recall(i));
  }
  EXPECT_FALSE(second.log().has_next());
  EXPECT_FALSE(second.recall(3));
  EXPECT_EQ(second.log().recalled(), 3);
}

TEST(EvaluationLogs, ForgetWhatNoEpochCounts) {
  const std::string folder = test::empty_folder();
  {
    Process killed(test::world(), folder, 0);
    killed.log().begin();
    killed.add(0);
    killed.keep(0);
    killed.add(7);
    killed.add(8);
  }
  {
    Process second(test::world(), folder, 0);
    second.go_on(0, test::world().size());
    EXPECT_TRUE(second.recall(0));
    EXPECT_FALSE(second.recall(7));
    second.add(1);
    second.keep(0);
  }
  Process third(test::world(), folder, 0);
  third.go_on(0, test::world().size());
  EXPECT_TRUE(third.recall(0));
  EXPECT_TRUE(third.recall(1));
  EXPECT_FALSE(third.recall(8));
}

TEST(EvaluationLogs, EvaluateAgainFromWhereTheyAre) {
  const std::string folder = test::empty_folder();
  {
    Process first(test::world(), folder, 0);
    first.log().begin();
    for (int i = 0; i < 3; ++i) first.add(i);
    first.keep(0);
  }
  {
    Process second(test::world(), folder, 0);
    second.go_on(0, test::world().size());
    EXPECT_TRUE(second.recall(0));
    second.log().evaluate_again();
    EXPECT_FALSE(second.log().has_next());
    EXPECT_EQ(second.log().count(), 1);
    second.add(11);
    second.log().evaluate_again();  // nothing is left to forget
    EXPECT_EQ(second.log().count(), 2);
    second.keep(0);
  }
  Process third(test::world(), folder, 0);
  third.go_on(0, test::world().size());
  EXPECT_EQ(third.log().recalled(), 2);
  EXPECT_TRUE(third.recall(0));
  EXPECT_TRUE(third.recall(11));
}

TEST(EvaluationLogs, OfOtherRanksAreNewOnes) {
  const std::string folder = test::empty_folder();
  const int most = test::world().size();
  for (int before = 1; before <= most; ++before)
    for (int after = 1; after <= most; ++after) {
      if (before == after) continue;
      SCOPED_TRACE(std::to_string(before) + " ranks, then " + std::to_string(after));
      test::on_first_ranks(before, [&](const Communicator& comm) {
        Process first(comm, folder, 0);
        first.log().begin();
        for (int i = 0; i < 3; ++i) first.add(i);
        first.keep(0);
      });
      test::on_first_ranks(after, [&](const Communicator& comm) {
        Process second(comm, folder, 1);
        second.go_on(0, before);
        EXPECT_TRUE(second.log().is_new());
        EXPECT_EQ(second.log().recalled(), 3);
        EXPECT_EQ(second.log().count(), 0);
        EXPECT_TRUE(second.recall(0));
        second.add(0);
        second.log().evaluate_again();
        EXPECT_EQ(second.log().count(), 1) << "it holds what was added to it";
        second.add(21);
        second.keep(1);
      });
      test::on_first_ranks(after, [&](const Communicator& comm) {
        Process third(comm, folder, 1);
        third.go_on(1, after);
        EXPECT_FALSE(third.log().is_new());
        EXPECT_TRUE(third.recall(0));
        EXPECT_TRUE(third.recall(21));
        EXPECT_FALSE(third.log().has_next());
      });
    }
}

TEST(EvaluationLogs, DamageIsToldToAllRanks) {
  const std::string folder = test::empty_folder();
  const int last = test::world().size() - 1;
  const std::string damaged = folder + "/evaluations-0." + std::to_string(last);
  {
    Process first(test::world(), folder, 0);
    first.log().begin();
    first.add(0);
    first.keep(0);
  }
  Process second(test::world(), folder, 0);
  second.go_on(0, test::world().size());
  if (test::world().rank() == last) PosixFileSystem().open(damaged, OpenMode::existing)->write("x", 1, 20);
  EXPECT_EQ(test::resource_problem([&] { second.recall(0); }), "'" + damaged + "' is damaged at byte 0");
}

}  // namespace
}  // namespace hindsight

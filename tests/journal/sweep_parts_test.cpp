// ranks: 1 2
// Checkpoints of a run that was stopped, in files beside its journal.
#include "io/journal/sweep_parts.hpp"

#include "tests/journal/grid_values.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;
using test::expect_values;
using test::write_values;

class PartsOfSweeps : public ::testing::Test {
 protected:
  SweepParts parts() { return {files_, path_, rank_, entries_}; }
  std::int64_t keep(SweepParts& parts, int number) {
    return parts.keep([&](BlockWriter& to) { write_values(to, grid_, number); });
  }
  void expect(const SweepParts& parts, std::int64_t& place, int number) {
    parts.read(place, [&](BlockReader& from) { expect_values(from, grid_, number); });
  }
  std::string file(std::int64_t epoch) const { return SweepParts::file(path_, epoch, rank_); }

  PosixFileSystem files_;
  Grid grid_ = test::line(test::world());
  BlockEntries entries_{grid_};
  std::string path_ = test::empty_folder() + "/slots-0";
  int rank_ = test::world().rank();
};

TEST_F(PartsOfSweeps, PiecesLieOneBehindTheOther) {
  SweepParts first = parts();
  first.begin(5);
  const std::int64_t at_1 = keep(first, 1), at_2 = keep(first, 2), at_3 = keep(first, 3);
  first.flush();
  EXPECT_EQ(at_1, 0);
  EXPECT_EQ(at_3 - at_2, at_2 - at_1);
  EXPECT_EQ(file(5), path_ + "-1." + std::to_string(rank_));

  SweepParts second = parts();
  second.open(5, path_, {rank_});
  std::int64_t place = at_1;
  expect(second, place, 1);
  EXPECT_EQ(place, at_2);
  expect(second, place, 2);
  expect(second, place, 3);
  place = at_2;
  expect(second, place, 2);
}

TEST_F(PartsOfSweeps, EpochsTakeTurnsWithTwoFiles) {
  SweepParts first = parts();
  first.begin(1);
  EXPECT_FALSE(fs::exists(file(1))) << "an epoch without parts has no file";
  keep(first, 1);
  first.begin(2);
  keep(first, 2);
  first.flush();
  EXPECT_NE(file(1), file(2));
  EXPECT_TRUE(fs::exists(file(1))) << "of the newest epoch while the next one is written";
  first.begin(3);
  EXPECT_FALSE(fs::exists(file(1)));
  EXPECT_TRUE(fs::exists(file(2)));
  SweepParts second = parts();
  second.open(2, path_, {rank_});
  std::int64_t place = 0;
  expect(second, place, 2);
}

TEST_F(PartsOfSweeps, OfAnotherEpochOrMissingAreRefused) {
  SweepParts first = parts();
  first.begin(3);
  keep(first, 3);
  first.flush();
  const auto problem = [&](std::int64_t epoch, const std::vector<int>& ranks) {
    SweepParts second = parts();
    second.open(epoch, path_, ranks);
    std::int64_t place = 0;
    return test::resource_problem([&] { expect(second, place, 3); });
  };
  EXPECT_EQ(problem(3, {rank_}), "");
  EXPECT_EQ(problem(1, {rank_}), "the file of checkpoints is of a later epoch");
  EXPECT_EQ(problem(2, {rank_}), "the file of checkpoints '" + path_ + "-*' is missing");
  EXPECT_EQ(problem(3, {0, 1}), "the file of checkpoints '" + path_ + "-*' is missing");
}

TEST_F(PartsOfSweeps, SmallUnitsAreKeptTogether) {
  SweepParts some = parts();
  some.expect(1000);
  EXPECT_EQ(some.units_at_once(), 0) << "not wanted";
  some.want(true);
  EXPECT_EQ(some.units_at_once(), 65536 / (1000 + 96));
  EXPECT_EQ(some.bytes_of(7), 7 * (1000 + 96));
  some.expect(0);
  EXPECT_EQ(some.units_at_once(), 256);
  some.expect(1 << 20);
  EXPECT_EQ(some.units_at_once(), 1);
  some.want(false);
  EXPECT_EQ(some.units_at_once(), 0);
}

}  // namespace
}  // namespace hindsight

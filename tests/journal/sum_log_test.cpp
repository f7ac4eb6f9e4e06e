// ranks: 1 2 3
// Sums that wait in files: what an epoch names is there for whoever goes on, as many ranks or others, whatever begins
// after the epoch.
#include "io/journal/sum_log.hpp"

#include <filesystem>
#include <map>

#include "tests/journal/grid_values.hpp"

namespace hindsight {
namespace {

using test::expect_values;
using test::write_values;

class Process {
 public:
  Process(const Communicator& comm, const std::string& folder)
      : comm_(comm),
        grid_(test::line(comm)),
        entries_(grid_),
        path_(folder + "/sums-0"),
        sums_(files_, path_, comm.rank(), comm, entries_) {}
  SumLog& sums() { return sums_; }
  std::int64_t put(int number) {
    if (!sums_.is_open()) sums_.open();
    return sums_.put([&](BlockWriter& to) { write_values(to, grid_, number); });
  }
  void expect(std::int64_t place, int number) {
    sums_.get(place, [&](BlockReader& from) { expect_values(from, grid_, number); });
  }
  /// @param places of each of the ranks that wrote it.
  void expect_earlier(int file, const std::vector<std::int64_t>& places, int number) {
    std::vector<int> ranks;
    for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) ranks.push_back(rank);
    EarlierSums(files_, path_, ranks, entries_).get(file, places, [&](BlockReader& from) {
      expect_values(from, grid_, number);
    });
  }

 private:
  Communicator comm_;
  PosixFileSystem files_;
  Grid grid_;
  BlockEntries entries_;
  std::string path_;
  SumLog sums_;
};

TEST(SumLogs, GiveBackWhatTheNewestEpochNames) {
  const std::string folder = test::empty_folder();
  std::int64_t place = 0, later = 0;
  int file = 0;
  {
    Process first(test::world(), folder);
    for (int evaluation = 0; evaluation < 3; ++evaluation) {  // no epoch is of them
      first.sums().restart();
      first.put(evaluation);
    }
    first.sums().restart();
    first.put(7);
    place = first.put(8);
    file = first.sums().file();
    first.sums().committed();
    first.expect(place, 8);
    for (int evaluation = 0; evaluation < 3; ++evaluation) {  // each may overwrite the one before, but not that
      first.sums().restart();
      first.put(10 + evaluation);
      EXPECT_NE(first.sums().file(), file);
    }
  }
  {
    Process second(test::world(), folder);
    second.sums().restore(file);
    second.expect(place, 8);
    later = second.put(9);  // of the same evaluation
    second.expect(place, 8);
    second.expect(later, 9);
  }
  Process third(test::world(), folder);  // the second had no epoch
  third.sums().restore(file);
  third.expect(place, 8);
}

TEST(SumLogs, BeginAgainWhenNoEpochNamesThem) {
  const std::string folder = test::empty_folder();
  Process process(test::world(), folder);
  std::map<int, int> used;
  std::uintmax_t most = 0;
  for (int evaluation = 0; evaluation < 20; ++evaluation) {
    process.sums().restart();
    process.put(evaluation);
    if (evaluation % 3 != 0) process.sums().committed();  // within the evaluation
    ++used[process.sums().file()];
    const std::string path = SumLog::path_of(folder + "/sums-0", process.sums().file(), test::world().rank());
    most = std::max(most, std::filesystem::file_size(path));
    EXPECT_EQ(std::filesystem::file_size(path), most) << "of one entry, in evaluation " << evaluation;
  }
  EXPECT_EQ(used.size(), 2U);
}

/// Epochs of an evaluation that has put nothing there name nothing.
TEST(SumLogs, AreFreeAfterAnEpochThatNamesNothing) {
  const std::string folder = test::empty_folder();
  Process process(test::world(), folder);
  process.put(1);
  process.sums().committed();
  const int file = process.sums().file();
  process.sums().restart();
  EXPECT_FALSE(process.sums().is_open());
  process.sums().committed();
  process.sums().restart();
  EXPECT_EQ(process.sums().file(), 0);
  process.put(2);
  EXPECT_EQ(file, 0);
}

TEST(SumLogs, AreReadByOtherRanks) {
  const std::string folder = test::empty_folder();
  std::vector<double> places(static_cast<std::size_t>(test::world().size()), 0.0);
  int file = 0;
  {
    Process all(test::world(), folder);
    all.put(1);
    places[static_cast<std::size_t>(test::world().rank())] = static_cast<double>(all.put(2));
    file = all.sums().file();
  }
  test::world().sum(places);
  Process one(test::self(), folder);
  one.expect_earlier(file, {places.begin(), places.end()}, 2);
}

}  // namespace
}  // namespace hindsight

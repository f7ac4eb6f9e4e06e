// ranks: 1 2 3
// A run's journal from begin to end: what one process works out, another is given.
#include "src/run_journal.hpp"

#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/durations.hpp"
#include "tests/journal/grid_values.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;
using test::expect_values;
using test::write_values;

const char* const ramp = R"yaml(
case: ramp
grid: {x: {cells: 12}}
state: {u: {initial: "x"}}
equations: {dt(u): "-u"}
time: {step: 0.1, to: 1}
)yaml";

/// A process of a run in a folder, which evaluates nothing but says that it did.
class Process {
 public:
  Process(const std::string& folder, const Communicator& comm, Options options = {})
      : case_(test::text_case(ramp)),
        grid_(test::line(comm)),
        journal_(complete(std::move(options), folder), case_, comm) {
    journal_.bind(grid_);
  }
  static Options resuming(const Communicator& comm) {
    Options options;
    options.resume = true;
    options.ranks = comm.size();
    return options;
  }

  RunJournal& journal() { return journal_; }
  const Grid& grid() const { return grid_; }
  void begin() { journal_.begin(case_, 1000); }
  void evaluate(int number) {
    journal_.phase("gradient", 100);
    journal_.log([&](BlockWriter& to) { write_values(to, grid_, number); });
  }
  bool recall(int number) {
    return journal_.recall([&](BlockReader& from) { expect_values(from, grid_, number); });
  }
  /// Keeps a sweep that has done so many steps.
  void keep_sweep(int steps) {
    journal_.phase("gradient", 100);
    journal_.progress({.done = steps});
    journal_.keep([&](BlockWriter& to) { write_values(to, grid_, steps); });
  }
  /// What keep_sweep() kept.
  void expect_sweep(int steps) {
    BlockReader* const from = journal_.kept_sweep();
    ASSERT_NE(from, nullptr);
    expect_values(*from, grid_, steps);
    journal_.resumed();
  }

 private:
  static Options complete(Options options, const std::string& folder) {
    options.verb = "gradient";
    options.target = "test.yaml";
    options.out = folder;
    options.quiet = true;
    return options;
  }
  Case case_;
  Grid grid_;
  RunJournal journal_;
};

/// Files of ranks in a folder, without the ranks: "journal-0".
std::vector<std::string> work_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".0")) names.push_back(name.substr(0, name.size() - 2));
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(RunJournals, AProcessGoesOnWhereTheOneBeforeWas) {
  const std::string folder = test::empty_folder() + "/run";
  {
    Process first(folder, test::world());
    EXPECT_FALSE(first.journal().is_resumed());
    EXPECT_FALSE(first.journal().has_next());
    first.begin();
    first.journal().attach("output", [](ArchiveWriter& to) { to.write(17); });
    for (int i = 0; i < 2; ++i) first.evaluate(i);
    first.journal().settle();
    EXPECT_EQ(first.journal().epoch(), 1);
    first.keep_sweep(40);
    EXPECT_EQ(first.journal().epoch(), 2);
    first.evaluate(7);  // of which no epoch tells
  }
  {
    Process second(folder, test::world(), Process::resuming(test::world()));
    RunJournal& journal = second.journal();
    EXPECT_TRUE(journal.is_resumed());
    EXPECT_TRUE(journal.has_sweep());
    EXPECT_EQ(journal.recalled(), 2);
    EXPECT_TRUE(journal.read_attached("output", [](ArchiveReader& from) { EXPECT_EQ(from.get<int>(), 17); }));
    second.begin();
    EXPECT_EQ(journal.epoch(), 2);
    EXPECT_TRUE(second.recall(0));
    EXPECT_TRUE(second.recall(1));
    EXPECT_FALSE(second.recall(7));
    second.expect_sweep(40);
    EXPECT_EQ(journal.kept_sweep(), nullptr) << "said once";
    second.evaluate(2);
    journal.settle();
    EXPECT_EQ(journal.epoch(), 3);
    journal.finish();
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(work_files(folder), std::vector<std::string>());
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_TRUE(fs::exists(folder + "/run.json"));
  EXPECT_FALSE(fs::exists(folder + "/status.json"));
}

TEST(RunJournals, AnotherNumberOfRanksGoesOn) {
  const std::string base = test::empty_folder();
  const int most = test::world().size();
  for (int before = 1; before <= most; ++before)
    for (int after = 1; after <= most; ++after) {
      if (before == after) continue;
      SCOPED_TRACE(std::to_string(before) + " ranks, then " + std::to_string(after));
      const std::string folder = base + "/" + std::to_string(before) + "-" + std::to_string(after);
      test::on_first_ranks(before, [&](const Communicator& comm) {
        Process first(folder, comm);
        first.begin();
        first.evaluate(0);
        first.keep_sweep(30);
      });
      test::on_first_ranks(after, [&](const Communicator& comm) {
        Process second(folder, comm, Process::resuming(comm));
        EXPECT_TRUE(second.journal().is_new_log());
        EXPECT_TRUE(second.journal().checkpoint_tag().ends_with("-1"));
        second.begin();
        EXPECT_EQ(second.journal().epoch(), 0) << "of the new journals";
        EXPECT_TRUE(second.recall(0));
        second.evaluate(0);
        second.expect_sweep(30);
        second.keep_sweep(50);
      });
      test::on_first_ranks(after, [&](const Communicator& comm) {
        Process third(folder, comm, Process::resuming(comm));
        EXPECT_FALSE(third.journal().is_new_log());
        third.begin();
        EXPECT_TRUE(third.recall(0));
        EXPECT_FALSE(third.recall(1));
        third.expect_sweep(50);
        third.journal().finish();
      });
    }
}

/// Until the new journals have an epoch, the old ones count.
TEST(RunJournals, AMoveThatKeptNothingIsForgotten) {
  const std::string folder = test::empty_folder() + "/run";
  const int most = test::world().size();
  if (most == 1) return;
  test::on_first_ranks(1, [&](const Communicator& comm) {
    Process first(folder, comm);
    first.begin();
    first.evaluate(0);
    first.journal().settle();
  });
  {
    Process second(folder, test::world(), Process::resuming(test::world()));
    second.begin();
    EXPECT_TRUE(second.recall(0));
    second.evaluate(5);
  }
  test::on_first_ranks(1, [&](const Communicator& comm) {
    Process third(folder, comm, Process::resuming(comm));
    EXPECT_FALSE(third.journal().is_new_log());
    third.begin();
    EXPECT_TRUE(third.recall(0));
    EXPECT_FALSE(third.recall(5));
  });
}

TEST(RunJournals, SweepsThatCannotBeGoneOnWithAreNotKept) {
  const std::string folder = test::empty_folder() + "/run";
  {
    Process first(folder, test::world());
    first.begin();
    first.journal().keep_sweeps(false);
    first.keep_sweep(40);
  }
  {
    Process second(folder, test::world(), Process::resuming(test::world()));
    EXPECT_FALSE(second.journal().has_sweep());
    second.begin();
    second.keep_sweep(20);
  }
  Process third(folder, test::world(), Process::resuming(test::world()));
  EXPECT_TRUE(third.journal().has_sweep());
  third.journal().drop_sweep();
  third.begin();
  EXPECT_EQ(third.journal().kept_sweep(), nullptr);
}

TEST(RunJournals, WhatIsEvaluatedAgainIsRecalledNoMore) {
  const std::string folder = test::empty_folder() + "/run";
  {
    Process first(folder, test::world());
    first.begin();
    for (int i = 0; i < 3; ++i) first.evaluate(i);
    first.keep_sweep(40);
  }
  {
    Process second(folder, test::world(), Process::resuming(test::world()));
    second.begin();
    EXPECT_TRUE(second.recall(0));
    second.journal().evaluate_again();
    EXPECT_FALSE(second.journal().has_next());
    EXPECT_FALSE(second.journal().has_sweep());
    second.evaluate(11);
    second.journal().settle();
  }
  Process third(folder, test::world(), Process::resuming(test::world()));
  third.begin();
  EXPECT_TRUE(third.recall(0));
  EXPECT_TRUE(third.recall(11));
  EXPECT_FALSE(third.recall(2));
}

TEST(RunJournals, OutputIsFlushedBeforeAnEpoch) {
  const std::string folder = test::empty_folder() + "/run";
  Process only(folder, test::world());
  only.begin();
  std::int64_t calls = 0;
  only.journal().before_epoch([&] { EXPECT_EQ(only.journal().epoch(), calls++); });
  only.journal().settle();
  only.journal().settle();
  EXPECT_EQ(calls, 2);
  only.journal().before_epoch(nullptr);
  only.journal().settle();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(only.journal().epoch(), 3);
}

/// Seconds from now; until then no epoch is due.
Options stopping_after(double seconds) {
  Options options;
  options.stop_after = std::to_string(test::world().max(process_seconds()) + seconds) + "s";
  options.epoch = "1h";
  return options;
}

/// Looks until the journal stops the process. @returns what it says.
std::string stopped(RunJournal& journal) {
  try {
    for (int i = 0; i < 10'000; ++i) {
      usleep(1000);
      journal.pause_now();
    }
  } catch (const Stopped& stop) {
    return stop.what();
  }
  return "";
}

TEST(RunJournals, AProcessWhoseTimeIsUpStopsWithAnEpoch) {
  const std::string folder = test::empty_folder() + "/run";
  {
    Process first(folder, test::world(), stopping_after(3.0));
    first.begin();
    first.evaluate(0);
    EXPECT_EQ(stopped(first.journal()),
              "stopped because the time is up in epoch 1; go on with: hindsight resume " + folder);
  }
  if (test::world().is_root()) {
    const auto status = nlohmann::json::parse(std::ifstream(folder + "/status.json"));
    EXPECT_EQ(status["epoch"], 1);
    EXPECT_EQ(status["evaluations"], 1);
  }
  Process second(folder, test::world(), Process::resuming(test::world()));
  EXPECT_EQ(second.journal().recalled(), 1);
}

TEST(RunJournals, AProcessThatHasNoTimeAtAllSaysSo) {
  const std::string folder = test::empty_folder() + "/run";
  Options options;
  options.stop_after = "0.001s";
  Process only(folder, test::world(), options);
  only.begin();
  const std::string problem = test::resource_problem([&] { only.journal().pause_now(); });
  EXPECT_TRUE(problem.starts_with("--stop-after leaves no time for the run: ")) << problem;
}

/// Parts of a sweep are written when the process is about to stop, after an epoch without them.
TEST(RunJournals, AProcessThatStopsKeepsPartsOfItsSweep) {
  const std::string folder = test::empty_folder() + "/run";
  std::int64_t place = -1;
  {
    Process first(folder, test::world(), stopping_after(3.0));
    RunJournal& journal = first.journal();
    first.begin();
    journal.expect_parts(1000);
    journal.holds(3);
    EXPECT_EQ(journal.units_kept_at_once(), 0);
    journal.keep([&](BlockWriter&) { EXPECT_EQ(journal.units_kept_at_once(), 0); });
    while (!journal.is_due()) usleep(1000);
    std::vector<std::int64_t> at_once;
    const auto write = [&](BlockWriter& to) {
      at_once.push_back(journal.units_kept_at_once());
      if (at_once.back() > 0)
        place = journal.keep_part([&](BlockWriter& part) { write_values(part, first.grid(), 3); });
      write_values(to, first.grid(), 60);
    };
    EXPECT_THROW(journal.keep(write), Stopped);
    EXPECT_EQ(at_once, (std::vector<std::int64_t>{0, 65536 / (1000 + 96)}));
    EXPECT_EQ(journal.epoch(), 3);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(work_files(folder), (std::vector<std::string>{"evaluations-0", "journal-0", "slots-0-1"}));
  Process second(folder, test::world(), Process::resuming(test::world()));
  second.begin();
  BlockReader* const from = second.journal().kept_sweep();
  ASSERT_NE(from, nullptr);
  expect_values(*from, second.grid(), 60);
  second.journal().read_part(place, [&](BlockReader& part) { expect_values(part, second.grid(), 3); });
  second.journal().resumed();
}

}  // namespace
}  // namespace hindsight

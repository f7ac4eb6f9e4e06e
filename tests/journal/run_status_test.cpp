// How far a run is, in its file and in an epoch.
#include "io/journal/run_status.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/journal/grid_values.hpp"

namespace hindsight {
namespace {

using Json = nlohmann::json;

TEST(RunStatuses, AreReadFromTheirFile) {
  const std::string folder = test::empty_folder();
  RunStatus status(folder);
  status.begin("gradient", 400, 10.0);
  status.progress(SweepPosition::counted(100, 400));
  status.write(3, 7, 12.5);
  const Json json = Json::parse(std::ifstream(folder + "/status.json"));
  EXPECT_EQ(json["phase"], "gradient");
  EXPECT_EQ(json["done"], 100);
  EXPECT_EQ(json["total"], 400);
  EXPECT_EQ(json["part"], 0.25);
  EXPECT_EQ(json["seconds"], 2.5);
  EXPECT_EQ(json["evaluations"], 3);
  EXPECT_EQ(json["epoch"], 7);
  EXPECT_TRUE(std::regex_match(json["date"].get<std::string>(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
  EXPECT_EQ(json.size(), 8U);
  EXPECT_FALSE(std::filesystem::exists(folder + "/status.json.partial"));
}

TEST(RunStatuses, SayWhichStageTheRunIsAt) {
  const std::string folder = test::empty_folder();
  RunStatus status(folder);
  const auto written = [&] {
    status.write(0, 0, 0.0);
    return Json::parse(std::ifstream(folder + "/status.json"));
  };
  status.stage_begins(2, 3);
  EXPECT_TRUE(status.is_due(0.0));
  EXPECT_EQ(written()["stage"], Json({{"number", 2}, {"count", 3}}));
  status.stage_begins(0, 0);
  EXPECT_FALSE(written().contains("stage"));
}

TEST(RunStatuses, AreWrittenTwiceASecondAndWhenThereIsNews) {
  RunStatus status(test::empty_folder());
  EXPECT_TRUE(status.is_due(0.0));
  status.write(0, 0, 10.0);
  EXPECT_FALSE(status.is_due(10.49));
  EXPECT_TRUE(status.is_due(10.5));
  status.begin("forward", 1, 10.1);
  EXPECT_TRUE(status.is_due(10.1));
  status.write(0, 0, 10.1);
  status.progress(SweepPosition::counted(1, 1));
  EXPECT_FALSE(status.is_due(10.2));
  status.invalidate();
  EXPECT_TRUE(status.is_due(10.2));
}

TEST(RunStatuses, WithoutAFolderAreLostInSilence) {
  RunStatus status(test::empty_folder() + "/gone");
  EXPECT_NO_THROW(status.write(0, 0, 1.0));
}

TEST(RunStatuses, SayHowFarAnEvaluationIs) {
  RunStatus status("nowhere");
  EXPECT_EQ(status.text(), "");
  status.begin("gradient", 300, 0.0);
  status.progress(SweepPosition::counted(100, 300));
  EXPECT_EQ(status.text(), "gradient at 33 %");
  status.begin("forward", 0, 0.0);
  EXPECT_EQ(status.text(), "");
  status.progress({.done = 1200, .part = 0.25, .reached = {{.time = 1, .end = 4}}});
  EXPECT_EQ(status.text(), "forward at 25 %");
  status.progress({.done = 1200, .reached = {{.time = 1, .end = 4, .may_end_before = true}}});
  EXPECT_EQ(status.text(), "forward after 1200 steps");
}

TEST(RunStatuses, HaveTheTimeReachedWhereNoStepsAreKnown) {
  const std::string folder = test::empty_folder();
  const auto written = [&](const SweepPosition& position) {
    RunStatus status(folder);
    status.begin("forward", 0, 0.0);
    status.progress(position);
    status.write(0, 0, 1.0);
    return Json::parse(std::ifstream(folder + "/status.json"));
  };
  const Json adaptive = written({.done = 1200, .part = 0.25, .reached = {{.time = 1, .end = 4}}});
  EXPECT_EQ(adaptive["done"], 1200);
  EXPECT_EQ(adaptive["total"], 0);
  EXPECT_EQ(adaptive["part"], 0.25);
  EXPECT_EQ(adaptive["time"], 1);
  EXPECT_EQ(adaptive["end"], 4);
  const Json open = written({.done = 1200, .reached = {{.time = 1, .end = 4, .may_end_before = true}}});
  EXPECT_FALSE(open.contains("part"));
  EXPECT_FALSE(open.contains("end"));
  EXPECT_EQ(open["latest_end"], 4);
}

/// What a process that goes on has.
RunStatus passed_on(const RunStatus& status, double now) {
  const Grid grid = test::line(test::self());
  ArchiveWriter to(1);
  const BlockWriter head(to, grid);
  status.save(to, now);
  ArchiveReader archive(to.bytes(), 1, "an epoch");
  BlockReader from({&archive}, grid);
  RunStatus next("nowhere");
  next.restore(from);
  EXPECT_TRUE(archive.is_at_end());
  return next;
}

TEST(RunStatuses, CountTheSecondsOfAllProcesses) {
  RunStatus first("nowhere");
  first.begin("gradient", 200, 5.0);
  first.progress(SweepPosition::counted(50, 200));
  RunStatus second = passed_on(first, 8.0);
  EXPECT_EQ(second.text(), "gradient at 25 %");
  EXPECT_EQ(second.seconds_before(), 3.0);
  second.restart(100.0);
  second.go_on("gradient", 200);
  EXPECT_EQ(second.text(), "gradient at 25 %");
  EXPECT_EQ(second.seconds(104.0), 7.0);
  RunStatus third = passed_on(second, 104.0);
  EXPECT_EQ(third.seconds_before(), 7.0);
  second.finish(106.0);
  EXPECT_EQ(second.seconds_before(), 0.0);
  EXPECT_EQ(second.seconds(107.0), 1.0);
}

TEST(RunStatuses, BeginAtNoStep) {
  RunStatus status("nowhere");
  status.begin("gradient", 200, 0.0);
  status.progress(SweepPosition::counted(150, 200));
  status.begin("gradient", 200, 7.0);
  EXPECT_EQ(status.text(), "gradient at 0 %");
  EXPECT_EQ(status.seconds(9.0), 2.0);
}

}  // namespace
}  // namespace hindsight

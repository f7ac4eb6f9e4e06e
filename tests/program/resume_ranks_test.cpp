// starts: ranks
// A run of several ranks that is stopped goes on with the same bits, on other numbers of ranks too.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <regex>

#include "tests/program/resumed_run.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

using namespace test;

TEST_F(Resume, SignalsStopWithExitCode5OnAllRanks) {
  write_case();
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  for (const auto& [ranks, signal] : {std::pair(1, SIGTERM), {1, SIGINT}, {1, SIGUSR1}, {2, SIGUSR1}, {3, SIGUSR1}}) {
    const std::string folder = "signalled" + std::to_string(ranks) + "-" + std::to_string(signal);
    const int code =
        run_and_signal("gradient case.yaml --quiet --epoch 0.2s --out " + folder, ranks, signal, folder, "done", 4000);
    EXPECT_EQ(code, 5) << ranks << " ranks, signal " << signal << "\n" << output();
    EXPECT_EQ(run("resume " + folder, ranks), 0) << output();
    EXPECT_EQ(answer(folder), answer("whole")) << ranks << " ranks, signal " << signal;
  }
}

/// Records in memory are kept too, with what their reversal reads around each block of cells. Few steps that take long.
TEST_F(Resume, SignalsStopAmongStageRecords) {
  const std::string cams = "checkpoints: {schedule: cams, host: 60 slots}\n",
                    all = "checkpoints: {schedule: store-all, host: 1 GiB}\n";
  for (const auto& [method, ranks] : {std::pair("rk4", 1), {"rk4", 2}, {"rk4", 3}, {"euler", 1}, {"euler", 2}}) {
    SCOPED_TRACE(fmt::format("{} on {} ranks", method, ranks));
    const bool is_cams = method == std::string("rk4");
    write_case(is_cams ? cams : all, is_cams ? "30" : "120");
    slow_down();
    const std::string words = fmt::format("gradient case.yaml --epoch 0.1s --set time.method={} --out ", method);
    if (ranks == 1) {
      ASSERT_EQ(run(words + "whole"), 0) << output();
    }
    const auto whole = json("whole/result.json");
    EXPECT_EQ(whole["plan"]["content"], is_cams ? "state" : "record");
    const auto steps =
        whole["steps"]["forward"].get<std::int64_t>() + whole["steps"]["recomputed"].get<std::int64_t>() / 2;
    fs::remove_all("stopped");
    ASSERT_EQ(run_and_signal(words + "stopped", ranks, SIGUSR1, "stopped", "done", steps + 1), 5) << output();
    EXPECT_EQ(run("resume stopped", ranks), 0) << output();
    EXPECT_EQ(output().find("computed again"), std::string::npos) << output();
    EXPECT_EQ(answer("stopped"), answer("whole"));
  }
}

TEST_F(Resume, GoesOnWithAnotherNumberOfRanksWhenAsked) {
  write_case("checkpoints: {host: 30 slots, disk: 20 slots}\noutput: {every: 500}\n", "2500");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  ASSERT_EQ(run_and_signal("gradient case.yaml --out moved", 1, SIGUSR1, "moved", "done", 40000), 5) << output();
  EXPECT_EQ(run("resume moved", 3), 2);
  EXPECT_NE(output().find("say --ranks 3"), std::string::npos) << output();
  int code = run_and_signal("resume moved --ranks 3", 3, SIGUSR1, "moved", "done", 5000);
  if (code == 5) code = run("resume moved --ranks 2", 2);
  EXPECT_EQ(code, 0) << output();
  EXPECT_EQ(answer("moved"), answer("whole"));
  EXPECT_EQ(std::system("h5diff whole/fields.h5 moved/fields.h5 && h5diff whole/gradient.h5 moved/gradient.h5"), 0);
}

/// Rank 0 owns the same rows among 4 and among 5 ranks, the others do not.
TEST_F(Resume, AStoppedRunGoesOnOnMoreRanks) {
  write_case("checkpoints: {schedule: revolve, host: 12 slots}\n", "1200");
  write_text("case.yaml", std::regex_replace(contents("case.yaml"), std::regex("cells: 64"), "cells: 16"));
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  ASSERT_EQ(run_and_signal("gradient case.yaml --quiet --out moved", 4, SIGUSR1, "moved", "done", 1), 5) << output();
  EXPECT_EQ(run("resume moved --ranks 5", 5), 0) << output();
  EXPECT_EQ(answer("moved"), answer("whole"));
}

}  // namespace
}  // namespace hindsight

// A run folder loses nothing of worth to a new run: what can be gone on with, results of another verb, and
// files of others are refused before anything is computed, and finished results stay until those in their place are
// complete.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "io/hdf5/hdf5_handle.hpp"
#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

using namespace test;

class Folders : public test::OwnFolder {
 protected:
  Folders() { write_case("case.yaml", "decay"); }
  static void write_case(const std::string& file, const std::string& name, const std::string& step = "0.01") {
    std::ofstream(file) << "case: " << name << "\ngrid: {x: {cells: 8}}\nparameters: {a: 0.5, c: 1}\n"
                        << "state: {u: {initial: \"sin(2*pi*x)\"}}\nequations: {dt(u): \"-a*u\"}\ntime: {step: " << step
                        << ", to: 2}\nobjective: [{final: \"(u - c)^2\"}]\nunknowns: {a: {}, initial(u): {}}\n"
                        << "checkpoints: {schedule: revolve, host: 20 slots}\ninversion: {iterations: 3}\n"
                        << "output: {every: 0.5}\n";
  }
  static void write_text(const std::string& path, const std::string& text) {
    if (fs::path(path).has_parent_path()) fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  /// @returns the exit code.
  int run(const std::string& arguments) const {
    return run_command(command_line(arguments, 1) + " > " + here_ + "/output.txt 2>&1");
  }
  std::string output() const { return contents(here_ + "/output.txt"); }
  bool says(const std::string& text) const { return output().find(text) != std::string::npos; }
  /// The contents of all files below a folder, by path.
  static std::map<std::string, std::string> all_of(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) files[entry.path()] = contents(entry.path());
    return files;
  }
  static double objective(const std::string& folder) {
    return nlohmann::json::parse(std::ifstream(folder + "/result.json"))["objective"];
  }
  /// A run that was ended with its first epoch kept.
  void stop_one(const std::string& arguments, const std::string& folder) const {
    Process process(command_line(arguments + " --epoch 0.05s", 1) + " > " + here_ + "/output.txt 2>&1");
    const auto epoch = [&] {
      const auto status = nlohmann::json::parse(std::ifstream(folder + "/status.json"), nullptr, false);
      return status.is_object() ? status["epoch"].get<int>() : 0;
    };
    while (epoch() < 1 && !process.is_over()) usleep(2000);
    process.send(SIGINT);
    ASSERT_EQ(process.wait(), 5) << output();
  }
  void expect_refused(const std::string& arguments, const std::string& folder, const std::vector<std::string>& said) {
    SCOPED_TRACE(arguments);
    const auto before = all_of(folder);
    EXPECT_EQ(run(arguments), 2) << output();
    for (const std::string& text : said) EXPECT_TRUE(says(text)) << output();
    EXPECT_TRUE(says("--overwrite") && says("--out")) << output();
    EXPECT_TRUE(all_of(folder) == before);
  }
};

TEST_F(Folders, EachVerbHasOneOfItsOwnByDefault) {
  for (const std::string verb : {"run", "gradient", "invert", "check"}) {
    const int code = run(verb + " case.yaml");
    EXPECT_TRUE(code == 0 || code == 3 || code == 4) << output();
    EXPECT_TRUE(fs::exists("runs/decay/" + verb + "/run.json")) << verb;
  }
  write_case("case.yaml", "other");
  run("case.yaml");
  EXPECT_TRUE(fs::exists("runs/other/invert/result.json"));
}

TEST_F(Folders, ResultsOfAnotherVerbAreRefused) {
  run("invert case.yaml --out R");
  ASSERT_TRUE(fs::exists("R/estimate.h5")) << output();
  expect_refused("check case.yaml --out R", "R", {"holds the results of hindsight invert of decay"});
  expect_refused("run case.yaml --out R", "R", {"holds the results of hindsight invert of decay"});
  run("check case.yaml --out R --overwrite");
  EXPECT_TRUE(fs::exists("R/check.json")) << output();
  EXPECT_FALSE(fs::exists("R/estimate.h5") || fs::exists("R/result.json"));
}

TEST_F(Folders, ARunThatCanBeGoneOnWithIsRefused) {
  ASSERT_EQ(run("gradient case.yaml --out whole --set time.step=2e-6"), 0) << output();
  stop_one("gradient case.yaml --out R --set time.step=2e-6", "R");
  const std::string stopped = "hindsight gradient of decay, which was stopped or killed and has kept epoch";
  expect_refused("gradient case.yaml --out R --set time.step=2e-6", "R", {stopped, "hindsight resume "});
  expect_refused("run case.yaml --out R", "R", {stopped, "hindsight resume "});
  ASSERT_EQ(run("resume R"), 0) << output();
  EXPECT_EQ(objective("R"), objective("whole"));
  EXPECT_EQ(run("gradient case.yaml --out R"), 0) << output();

  stop_one("gradient case.yaml --out S --set time.step=2e-6", "S");
  EXPECT_EQ(run("run case.yaml --out S --overwrite"), 0) << output();
  EXPECT_FALSE(fs::exists("S/gradient.h5"));
  EXPECT_EQ(nlohmann::json::parse(std::ifstream("S/result.json"))["verb"], "run");
}

TEST_F(Folders, FilesOfOthersAreRefusedAndStay) {
  write_text("R/fields.h5", "mine");
  write_text("R/notes.txt", "mine");
  write_text("R/estimate.h5", "mine");
  expect_refused("run case.yaml --out R", "R", {"'estimate.h5', 'fields.h5', 'notes.txt'"});
  ASSERT_EQ(run("run case.yaml --out R --overwrite"), 0) << output();
  EXPECT_NE(contents("R/fields.h5"), "mine");
  for (const char* name : {"R/notes.txt", "R/estimate.h5"}) EXPECT_EQ(contents(name), "mine") << name;

  write_text("S/result.json", "mine");
  expect_refused("check case.yaml --out S", "S", {"'result.json'"});
  fs::create_directories("T/result.json");
  EXPECT_EQ(run("run case.yaml --out T --overwrite"), 2);
  EXPECT_TRUE(says("is a folder")) << output();
}

TEST_F(Folders, WhatTheProgramAndItsScriptsPutThereIsNotOthers) {
  ASSERT_EQ(run("run case.yaml --out R"), 0) << output();
  for (const char* name : {"R/R.png", "R/.nfs000012", "R/scratch/checkpoints-0123456789abcdef-0-rank0.h5"})
    write_text(name, "ours");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(run("run case.yaml --out R --json R/answer.json"), 0) << output();
  EXPECT_FALSE(fs::exists("R/R.png"));  // of results that are gone
  EXPECT_FALSE(fs::exists("R/scratch"));
}

TEST_F(Folders, FilesThatTheCaseReadsAreNeverRemoved) {
  write_text("data.csv", "time,x,value\n1,0.5,0.3\n");
  std::ofstream("field.yaml") << "case: field\ngrid: {x: {cells: 8}}\nparameters: {a: 0.5}\n"
                                 "state: {u: {initial: 1}}\nequations: {dt(u): \"-a*u\"}\ntime: {step: 0.1, to: 1}\n"
                                 "objective: [{misfit: {of: u, data: R/fields.h5}}]\n";
  fs::create_directories("R");
  fs::copy_file("data.csv", "R/fields.h5");
  EXPECT_EQ(run("run field.yaml --out R --overwrite"), 2);
  EXPECT_TRUE(says("the case reads")) << output();
  EXPECT_EQ(contents("R/fields.h5"), contents("data.csv"));
}

TEST_F(Folders, FinishedResultsStayUntilTheirSuccessorIsComplete) {
  ASSERT_EQ(run("gradient case.yaml --out R"), 0) << output();
  const auto before = all_of("R");
  const auto expect_as_before = [&] {
    for (const auto& [path, bytes] : before) EXPECT_TRUE(contents(path) == bytes) << path;
  };
  EXPECT_EQ(run("gradient case.yaml --out R --set checkpoints.host=1000"), 2) << output();
  EXPECT_TRUE(all_of("R") == before);
  const double old = objective("R");
  stop_one("gradient case.yaml --out R --set time.step=2e-6", "R");
  expect_as_before();
  EXPECT_EQ(run("status R"), 0);
  EXPECT_TRUE(says("stopped; go on with: hindsight resume R") && says("an earlier run's results stay")) << output();
  expect_refused("gradient case.yaml --out R", "R", {"which was stopped or killed"});
  ASSERT_EQ(run("resume R"), 0) << output();
  EXPECT_NE(objective("R"), old);
  EXPECT_FALSE(fs::exists("R/successor"));

  stop_one("gradient case.yaml --out R --set time.step=1e-6", "R");
  const double now = objective("R");
  EXPECT_EQ(run("clean R"), 0);  // gives up the successor alone
  EXPECT_EQ(objective("R"), now);
  EXPECT_EQ(run("resume R"), 0);
  EXPECT_TRUE(says("is complete")) << output();
}

/// At every third of the calls that change a file of the run, up to the last.
TEST_F(Folders, ASuccessorThatIsKilledAnywhereIsFinishedByResume) {
  ASSERT_EQ(run("gradient case.yaml --out R"), 0) << output();
  const double old = objective("R");
  ASSERT_EQ(run("gradient case.yaml --out new --set time.step=0.02"), 0) << output();
  const double wanted = objective("new");
  ASSERT_NE(old, wanted);
  const std::string fields = contents("R/fields.h5");
  for (int call = 1;; call += 3) {
    SCOPED_TRACE(call);
    fs::remove_all("S");
    fs::copy("R", "S", fs::copy_options::recursive);
    const int code = run("gradient case.yaml --out S --set time.step=0.02 --die-at " + std::to_string(call));
    const bool is_said_complete = fs::exists("S/result.json");
    EXPECT_TRUE(!is_said_complete || (contents("S/fields.h5") == fields) == (objective("S") == old));
    if (code == 0) {
      EXPECT_GT(call, 30);
      break;
    }
    if (run("resume S") != 0) {
      ADD_FAILURE() << output();
      break;
    }
    const bool has_begun = objective("S") == wanted;  // else it was killed before it said that it would
    EXPECT_TRUE(has_begun || (objective("S") == old && call < 6));
    EXPECT_FALSE(fs::exists("S/successor") || fs::exists("S/successor-complete") || fs::exists("S/lock"));
    EXPECT_TRUE(!has_begun || all_of("S").size() == all_of("new").size());
  }
}

TEST_F(Folders, ARunThatHasKeptNothingIsBegunAgain) {
  EXPECT_NE(run("gradient case.yaml --out R --die-at 12"), 0);
  ASSERT_TRUE(fs::exists("R/run.json"));
  EXPECT_EQ(run("run case.yaml --out R"), 0) << output();
  EXPECT_EQ(nlohmann::json::parse(std::ifstream("R/result.json"))["verb"], "run");
}

TEST_F(Folders, ARunThatFailedForGoodSaysSo) {
  const std::string diverging = "gradient case.yaml --out R --set parameters.a=-1e90";
  EXPECT_EQ(run(diverging), 3) << output();
  for (const char* again : {"", "resume R"}) {
    if (*again != 0) {
      EXPECT_EQ(run(again), 3) << output();
    }
    EXPECT_EQ(run("status R"), 0);
    EXPECT_TRUE(says("failed, as it would again: ") && says("--overwrite") && !says("go on with")) << output();
    EXPECT_EQ(run("status R --json -"), 0);
    const nlohmann::json status = nlohmann::json::parse(output());
    EXPECT_EQ(status["state"], "failed");
    EXPECT_NE(status["failure"].get<std::string>(), "");
  }
  EXPECT_EQ(run("gradient case.yaml --out R --overwrite"), 0) << output();
  EXPECT_EQ(run("status R"), 0);
  EXPECT_TRUE(says("complete") && !says("failed")) << output();
}

TEST_F(Folders, AnOdeThatFailedLeavesItsOutputs) {
  std::ofstream("ode.yaml")
      << "case: ode\nstate: {u: {initial: 1}}\nparameters: {a: 1}\nequations: {dt(u): \"a*u^2\"}\n"
      << "time: {step: 0.05, to: 4}\nobjective: [{final: u}]\nunknowns: {a: {}}\n"
      << "output: {every: 0.1}\n";
  EXPECT_EQ(run("gradient ode.yaml --out R"), 3) << output();
  const Hdf5File file(H5Fopen("R/fields.h5.partial", H5F_ACC_RDONLY, H5P_DEFAULT), "open", "R");
  const Hdf5Dataset dataset(H5Dopen2(file, "/u", H5P_DEFAULT), "open", "R");
  std::vector<double> u(41, -1.0);
  ASSERT_GE(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, u.data()), 0);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(u[i], 1 / (1 - 0.1 * static_cast<double>(i)), 1e-3) << i;
}

TEST_F(Folders, ACheckThatFailedForGoodSaysSo) {
  EXPECT_EQ(run("check case.yaml --out C --set parameters.a=-1e90"), 3) << output();
  EXPECT_EQ(run("status C"), 0);
  EXPECT_TRUE(says("failed, as it would again")) << output();
  EXPECT_EQ(run("invert case.yaml --out I --set parameters.a=-1e90"), 3) << output();
  EXPECT_EQ(run("status I"), 0);
  EXPECT_TRUE(says("failed, as it would again")) << output();
}

TEST_F(Folders, OutputIsPlannedAndLeavesNothing) {
  fs::create_directories("others/scratch");
  for (const char* name : {"result.json", "fields.h5", "fields.h5.partial", "case.yaml"})
    write_text(std::string("others/scratch/") + name, "of others");
  const auto before = all_of("others");
  for (const char* where : {"", " --out others", " --out others/scratch", " --out others/R"}) {
    SCOPED_TRACE(where);
    EXPECT_EQ(run("plan case.yaml --json plan.json" + std::string(where)), 0) << output();
    EXPECT_GT(nlohmann::json::parse(std::ifstream("plan.json"))["output_seconds"], 0.0);
    EXPECT_FALSE(fs::exists("runs"));
    EXPECT_TRUE(all_of("others") == before);
    for (const auto& entry : fs::recursive_directory_iterator(".")) EXPECT_NE(entry.path().filename().string()[0], '.');
  }
  ASSERT_EQ(run("gradient case.yaml --out R"), 0) << output();
  EXPECT_GT(nlohmann::json::parse(std::ifstream("R/result.json"))["plan"]["predicted"]["output_seconds"], 0.0);
}

TEST_F(Folders, ARunThatCannotBeginLeavesNone) {
  EXPECT_EQ(run("gradient case.yaml --set checkpoints.host=1000"), 2) << output();
  EXPECT_EQ(run("gradient case.yaml --set checkpoints.host=1000 --set checkpoints.disk=20000"), 2) << output();
  EXPECT_EQ(run("gradient case.yaml --set case=../x"), 2) << output();
  EXPECT_FALSE(fs::exists("runs"));
  EXPECT_FALSE(fs::exists("../x"));
}

}  // namespace
}  // namespace hindsight

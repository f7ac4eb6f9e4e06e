// A run that is taken over from a process that cannot be seen, and lives: that process ends, what it writes until then
// and afterwards counts for nothing, and the taker's results have the right bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"
#include "tests/whole.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

using namespace test;

/// As another host, as far as its locks say.
std::string elsewhere(const std::string& command) {
  return std::string("unshare ") + (geteuid() == 0 ? "" : "--map-root-user ") +
         "--uts sh -c 'hostname elsewhere; exec " + command + "'";
}

bool can_be_elsewhere() {
  return run_command(elsewhere("true") + " > /dev/null 2>&1") == 0;
}

class Takeover : public test::OwnFolder {
 protected:
  Takeover() {
    std::ofstream("case.yaml") << R"yaml(
case: waves
grid: {x: {cells: 48, to: 1}, y: {cells: 32, to: 1}}
parameters: {D: 1e-4, a: {field: "1 + 0.3*sin(2*pi*x)"}}
state: {u: {initial: "0.5 + 0.4*sin(2*pi*x)*cos(2*pi*y)"}}
equations: {dt(u): "D*lap(u) + a*u*(1 - u)*(u - 0.3)"}
time: {method: rk4, step: 0.1, to: 150}
objective: [{final: "u^2"}, {integral: "u^4"}]
unknowns: {D: {}, a: {}}
checkpoints: {schedule: hrevolve, host: 6 slots, disk: 20 slots}
output: {every: 15}
)yaml";
  }
  void SetUp() override {
    if (!can_be_elsewhere()) GTEST_SKIP() << "no process can be hidden here: unshare --uts is not allowed";
  }
  /// @returns the exit code.
  int run(const std::string& arguments, int ranks = 1) const {
    return run_command(command_line(arguments, ranks) + " > " + here_ + "/output.txt 2>&1");
  }
  std::string output() const { return contents(here_ + "/output.txt"); }
  static std::string owner_output() { return contents("owner.txt"); }
  static std::string owner_command(const std::string& arguments, int ranks = 1) {
    return elsewhere(command_line(arguments, ranks)) + " > owner.txt 2>&1";
  }
  static void wait_for(const std::string& file, Process& owner) {
    while (!fs::exists(file) && !owner.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  /// Until a part of the owner's steps is done.
  static void wait_for_part(double part, Process& owner) {
    const auto done = [] {
      const auto status = nlohmann::json::parse(std::ifstream("R/status.json"), nullptr, false);
      return status.is_object() ? status["done"].get<double>() / status["total"].get<double>() : 0.0;
    };
    while (done() < part && !owner.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  /// What makes the case's gradient take so many seconds on this machine, or some more: an owner does not end before it
  /// is taken from.
  std::string lasting(double seconds, int ranks = 1) const {
    EXPECT_EQ(run("gradient case.yaml --out probe", ranks), 0) << output();
    const auto probe = nlohmann::json::parse(std::ifstream("probe/result.json"));
    const double factor = std::ceil(std::max(1.0, seconds / probe["seconds"]["gradient"].get<double>()));
    return fmt::format(" --set time.to={} --set output.every={}", 150 * factor, 15 * factor);
  }
  /// Takes the run over. The owner sleeps until the lock is taken, so that it does not end before. @returns the taker's
  /// exit code.
  int take(Process& owner, const std::string& arguments, int ranks = 1) const {
    const std::string lock = contents("R/lock");
    owner.send_to_all(SIGSTOP);
    Process taker(command_line(arguments, ranks) + " > " + here_ + "/output.txt 2>&1");
    for (int i = 0; i < 2000 && contents("R/lock") == lock && !taker.is_over(); ++i)  // it may sleep in a change
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    owner.send_to_all(SIGCONT);
    return taker.wait();
  }
  /// Those of a run that nobody disturbs.
  void expect_right_results(const std::string& set) const {
    const std::string words = "gradient case.yaml --out whole" + set;
    if (!fs::exists("whole") && run(words) != 0) FAIL() << output();
    const auto of = [](const std::string& folder) {
      const auto all = nlohmann::json::parse(std::ifstream(folder + "/result.json"));
      return all["objective"].dump() + all["gradient"].dump();
    };
    EXPECT_EQ(of("R"), of("whole"));
    EXPECT_EQ(run_command("h5diff whole/fields.h5 R/fields.h5 && h5diff whole/gradient.h5 R/gradient.h5"), 0);
    for (const auto& entry : fs::directory_iterator("R"))
      EXPECT_TRUE(fs::exists("whole/" + entry.path().filename().string())) << entry.path();
    std::ifstream log("R/log.jsonl");
    int finished = 0;
    for (std::string line; std::getline(log, line);) {
      const auto event = nlohmann::json::parse(line, nullptr, false);
      ASSERT_TRUE(event.is_object()) << line;
      finished += event["event"] == "finished";
    }
    EXPECT_EQ(finished, 1);
  }
  /// Who took it, or, where the taker was the faster one, that it has ended.
  static void expect_told(int code) {
    EXPECT_EQ(code, 6) << owner_output();
    const auto says = [said = owner_output()](const char* text) { return said.find(text) != std::string::npos; };
    EXPECT_TRUE(says("was taken by process") || says("a process that took it has ended")) << owner_output();
  }
};

TEST_F(Takeover, TheOwnerEndsAndTheTakerGoesOn) {
  const std::string set = lasting(1.5);
  Process owner(owner_command("gradient case.yaml --out R --epoch 0.05s" + set));
  wait_for_part(0.1, owner);
  EXPECT_EQ(run("resume R"), 6);
  EXPECT_NE(output().find("say --take-lock"), std::string::npos) << output();
  ASSERT_EQ(take(owner, "resume R --take-lock"), 0) << output();
  EXPECT_NE(output().find("going on with epoch"), std::string::npos) << output();
  expect_told(owner.wait());
  expect_right_results(set);
}

TEST_F(Takeover, AllRanksOfTheOwnerEnd) {
  const int many = is_whole() ? 3 : 2;  // with the taker's, as many again: they take turns on few cores
  const std::string set = lasting(1.0, many);
  for (const int ranks : {many, 1}) {  // of the taker
    SCOPED_TRACE(ranks);
    fs::remove_all("R");
    Process owner(owner_command("gradient case.yaml --out R --epoch 0.05s" + set, many));
    wait_for_part(0.01, owner);
    ASSERT_EQ(take(owner, "resume R --take-lock --ranks " + std::to_string(ranks), ranks), 0) << output();
    expect_told(owner.wait());
    expect_right_results(set);
  }
}

/// However late the owner writes on: it sleeps while the taker works, and wakes when all is done.
TEST_F(Takeover, AnOwnerWhoWakesUpLateChangesNothing) {
  const std::string set = lasting(1.5);
  Process owner(owner_command("gradient case.yaml --out R --epoch 0.3s" + set));
  wait_for_part(0.1, owner);
  int code = 6;
  for (int i = 0; i < 20 && code == 6; ++i) {  // again, if it sleeps in the middle of a change
    owner.send(SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * i));
    owner.send(SIGSTOP);
    code = run("resume R --take-lock");
  }
  ASSERT_EQ(code, 0) << output();
  owner.send(SIGCONT);
  EXPECT_EQ(owner.wait(), 6) << owner_output();
  EXPECT_NE(owner_output().find("is gone: a process that took it has ended"), std::string::npos) << owner_output();
  expect_right_results(set);
}

TEST_F(Takeover, OfARunThatIsBeingPrepared) {
  const std::string set = lasting(1.5);
  for (const char* const file : some_of({"R/lock", "R/run.json", "R/journal-0.0"}, {"R/lock", "R/journal-0.0"})) {
    SCOPED_TRACE(file);
    fs::remove_all("R");
    Process owner(owner_command("gradient case.yaml --out R --epoch 1h" + set));
    wait_for(file, owner);
    ASSERT_EQ(take(owner, "gradient case.yaml --out R --take-lock" + set), 0) << output();
    expect_told(owner.wait());
    expect_right_results(set);
  }
}

/// The taker is killed before it has copied all; whoever goes on takes over from the first owner again.
TEST_F(Takeover, ThatIsKilledIsDoneAgain) {
  const std::string set = lasting(1.5);
  for (const int call : some_of({4, 9, 14, 19}, {4, 14})) {
    SCOPED_TRACE(call);
    fs::remove_all("R");
    Process owner(owner_command("gradient case.yaml --out R --epoch 0.05s" + set));
    wait_for_part(0.1, owner);
    EXPECT_NE(take(owner, "resume R --take-lock --die-at " + std::to_string(call)), 0) << output();
    ASSERT_EQ(run("resume R"), 0) << output();
    expect_told(owner.wait());
    expect_right_results(set);
  }
}

TEST_F(Takeover, NobodyIsDrivenOutForARunThatIsRefused) {
  const std::string set = lasting(1.5);
  Process owner(owner_command("gradient case.yaml --out R --epoch 0.05s" + set));
  wait_for_part(0.05, owner);
  EXPECT_EQ(run("run case.yaml --out R --take-lock" + set), 2) << output();
  EXPECT_EQ(owner.wait(), 0) << owner_output();
  expect_right_results(set);
}

TEST_F(Takeover, OfASuccessorKeepsTheEarlierRunUntilItIsComplete) {
  const std::string set = lasting(1.5);
  ASSERT_EQ(run("gradient case.yaml --out R"), 0) << output();
  const std::string earlier = contents("R/result.json");
  Process owner(owner_command("gradient case.yaml --out R --epoch 0.05s" + set));
  wait_for_part(0.1, owner);
  EXPECT_EQ(contents("R/result.json"), earlier);
  ASSERT_EQ(take(owner, "resume R --take-lock"), 0) << output();
  expect_told(owner.wait());
  expect_right_results(set);
}

/// Open MPI makes them for files that ranks on several nodes open; here it is told to prefer that, and to write files
/// of a process on its own as it does those of many.
TEST(SharedFilePointers, LeaveNoFiles) {
  fs::current_path(testing::TempDir());
  std::ofstream("case.yaml") << "case: decay\ngrid: {x: {cells: 8}}\nstate: {u: {initial: 1}}\nequations: {dt(u): -u}\n"
                                "time: {step: 1e-5, to: 2}\noutput: {every: 0.5}\n";
  const std::string as_many = "OMPI_MCA_io_ompio_priority=90 ";
  const std::string wish = as_many + "OMPI_MCA_sharedfp_lockedfile_priority=90 ";
  const std::string choice = as_many + "OMPI_MCA_sharedfp=lockedfile ";
  const auto command = [](const std::string& setting, const std::string& arguments) {
    std::string line = command_line(arguments, 1);
    return line.insert(line.find("PATH="), setting) + " > output.txt 2>&1";
  };
  const auto names = [](const std::string& part) {
    int count = 0;
    for (const auto& entry : fs::directory_iterator("R"))
      count += entry.path().string().find(part) != std::string::npos;
    return count;
  };
  for (const std::string& setting : {wish, choice}) {
    SCOPED_TRACE(setting);
    fs::remove_all("R");
    Process killed(command(setting, "run case.yaml --out R --epoch 0.05s"));
    while (!fs::exists("R/status.json") && !killed.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    killed.send(SIGKILL);
    ASSERT_EQ(killed.wait(), -1) << contents("output.txt");
    EXPECT_EQ(names("fields.h5.partial"), setting == wish ? 1 : 2);
    ASSERT_EQ(run_command(command(setting, "resume R")), 0) << contents("output.txt");
    EXPECT_EQ(names("partial"), 0);
  }
}

}  // namespace
}  // namespace hindsight

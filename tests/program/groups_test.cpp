// Groups of ranks that share shots, through the program: one gradient in every bit, whatever the groups, the order and
// the kills; failures that end all groups; bad input.
// starts: ranks
#include <fmt/format.h>

#include <filesystem>
#include <random>

#include "tests/program/resumed_run.hpp"
#include "tests/whole.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

using namespace test;

struct Division {
  int ranks, groups;
};

class Groups : public Resume {
 protected:
  /// Twelve shots that take from one to six times as long as the shortest.
  static void write_shots(const std::string& unknowns, int length = 40) {
    write_text("case.yaml", R"yaml(
case: waves
grid: {x: {cells: 32, to: 1}, y: {cells: 24, to: 1}}
parameters: {D: 1e-4, g: 1, a: {field: "1 + 0.3*sin(2*pi*x)"}}
state: {u: {initial: "0.5 + 0.4*sin(2*pi*x)*cos(2*pi*y)"}}
equations: {dt(u): "D*lap(u) + g*a*u*(1 - u)*(u - 0.3)"}
time: {method: rk4, step: 0.1, to: 100}
objective: [{final: "u^2"}, {integral: "u^4"}, {penalty: "1e-3*a^2"}]
shots: shots.csv
)yaml" + ("unknowns: " + unknowns) +
                                "\ninversion: {iterations: 3}\ncheckpoints: {host: 20 slots}\n");
    std::string table = "shot,parameters.g,weight,time.to\n";
    for (int shot = 0; shot < 12; ++shot)
      table += fmt::format("s{},{},{},{}\n", shot, 0.2 + 0.1 * shot, shot % 3 + 1, length * (1 + shot % 6));
    write_text("shots.csv", table);
  }
  /// Starts the program, kills all of its processes after some time, and goes on until it ends by itself. @returns how
  /// often it was killed; 0 where it has failed.
  std::size_t run_killed(const std::string& words, const std::string& folder, const std::vector<Division>& divisions,
                         std::size_t kills, unsigned seed) {
    std::mt19937 random(seed);
    std::string next = words + " --epoch 0.05s --out " + folder;
    for (std::size_t i = 0; i < kills; ++i) {
      const Division& now = divisions[i % divisions.size()];
      Process process(command(fmt::format("{} --groups {} --shuffle-shots {}{}", next, now.groups, random() % 1000,
                                          next.starts_with("resume") ? fmt::format(" --ranks {}", now.ranks) : ""),
                              now.ranks) +
                      " > output.txt 2>&1");
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500 + random() % 1500);
      while (!process.is_over() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      const bool was_over = process.is_over();
      process.send_to_all(SIGKILL);
      const int code = process.wait();
      if (was_over) {
        EXPECT_EQ(code, 0) << output();
        return code == 0 ? i : 0;
      }
      if (fs::exists(folder + "/run.json")) next = "resume " + folder;
    }
    const Division& last = divisions[kills % divisions.size()];
    const int code = run(fmt::format("{} --groups {}{}", next, last.groups,
                                     next.starts_with("resume") ? fmt::format(" --ranks {}", last.ranks) : ""),
                         last.ranks);
    EXPECT_EQ(code, 0) << output();
    return code == 0 ? kills : 0;
  }
};

TEST_F(Groups, GiveOneGradientThroughKillsAndOtherGroups) {
  write_shots("{D: {bounds: [1e-5, 1e-3]}, a: {bounds: [0.5, 1.5]}}", 200);
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  std::vector<Division> changing = {{2, 2}, {1, 1}, {2, 1}, {4, 2}, {3, 3}, {4, 4}};
  if (is_whole()) changing.insert(changing.end(), {{6, 3}, {8, 4}});
  const std::vector<Division> same = {{2, 2}};
  for (const unsigned seed : {1U, 3U}) {
    const std::vector<Division>& divisions = seed == 3 ? same : changing;
    const std::string folder = fmt::format("killed{}", seed);
    EXPECT_GE(run_killed("gradient case.yaml", folder, divisions, is_whole() ? 20 : 4, seed), 2);
    ASSERT_EQ(answer(folder), answer("whole"));
    ASSERT_EQ(std::system(("h5diff whole/gradient.h5 " + folder + "/gradient.h5").c_str()), 0);
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      EXPECT_EQ(name.find("journal"), std::string::npos) << name;
      EXPECT_EQ(name.find("status"), std::string::npos) << name;
    }
  }
}

/// Sums that there is no memory for wait in the run's folder: one gradient, through kills and other groups.
TEST_F(Groups, KeepSumsInTheJournal) {
  write_shots("{D: {bounds: [1e-5, 1e-3]}, a: {bounds: [0.5, 1.5]}}");
  std::string table = "shot,parameters.g\n";
  for (int shot = 0; shot < 90; ++shot) table += fmt::format("s{},{}\n", shot, 0.2 + 0.01 * shot);
  write_text("shots.csv", table);
  const std::string words = "gradient case.yaml --set time.to=200 --set 'checkpoints.host=700 kB'";
  ASSERT_EQ(run("gradient case.yaml --set time.to=200 --out whole"), 0) << output();
  ASSERT_EQ(run("invert case.yaml --set time.to=60 --out estimate"), 0) << output();
  const std::string estimates = "invert case.yaml --set time.to=60 --set 'checkpoints.host=700 kB'";
  EXPECT_GE(run_killed(estimates, "killed", {{2, 2}}, is_whole() ? 20 : 6, 5), 1);
  EXPECT_EQ(answer("killed"), answer("estimate"));
  const std::int64_t roomy = json("whole/result.json")["memory"]["host"]["working"];
  ASSERT_EQ(run(words + " --out alone"), 0) << output();
  EXPECT_EQ(answer("alone"), answer("whole"));
  EXPECT_LT(json("alone/result.json")["memory"]["host"]["working"], roomy);
  for (const unsigned seed : {7U, 8U}) {
    const std::string folder = fmt::format("killed{}", seed);
    const std::vector<Division> changing = {{2, 2}, {1, 1}, {4, 2}, {3, 3}}, same = {{2, 2}};
    EXPECT_GE(run_killed(words, folder, seed == 7 ? same : changing, is_whole() ? 12 : 4, seed), 1);
    EXPECT_EQ(answer(folder), answer("whole"));
    ASSERT_EQ(std::system(("h5diff whole/gradient.h5 " + folder + "/gradient.h5").c_str()), 0);
    for (const auto& entry : fs::directory_iterator(folder))
      EXPECT_EQ(entry.path().filename().string().find("sums"), std::string::npos) << entry.path();
  }
}

TEST_F(Groups, GiveOneEstimateOfScalars) {
  write_shots("{D: {bounds: [1e-5, 1e-3]}}", 120);
  ASSERT_EQ(run("invert case.yaml --out whole"), 0) << output();
  EXPECT_GE(run_killed("invert case.yaml", "killed", {{2, 2}, {1, 1}, {4, 2}, {3, 3}}, is_whole() ? 20 : 4, 3), 2);
  EXPECT_EQ(answer("killed"), answer("whole"));
}

/// TAO's sums over cells follow the ranks of a group.
TEST_F(Groups, GiveOneEstimateOfFieldsOnTheSameRanksEach) {
  write_shots("{D: {bounds: [1e-5, 1e-3]}, a: {bounds: [0.5, 1.5]}}", is_whole() ? 40 : 16);
  ASSERT_EQ(run("invert case.yaml --groups 1 --out whole", 2), 0) << output();
  EXPECT_GE(run_killed("invert case.yaml", "killed", {{4, 2}, {2, 1}, {4, 2}}, is_whole() ? 20 : 3, 4), 1);
  EXPECT_EQ(answer("killed"), answer("whole"));
}

TEST_F(Groups, StopTogetherAndGoOn) {
  write_shots("{D: {}, a: {}}");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  ASSERT_EQ(run_and_signal("gradient case.yaml --groups 2 --out stopped", 2, SIGUSR1, "stopped", "done", 1000), 5)
      << output();
  EXPECT_NE(output().find("go on with: hindsight resume"), std::string::npos) << output();
  ASSERT_EQ(run("status stopped"), 0) << output();
  EXPECT_NE(output().find("of 12 shots done in this evaluation"), std::string::npos) << output();
  EXPECT_NE(output().find("on 2 ranks in 2 groups"), std::string::npos) << output();
  ASSERT_EQ(run("resume stopped", 2), 0) << output();
  EXPECT_EQ(answer("stopped"), answer("whole"));
  EXPECT_EQ(json("stopped/result.json")["provenance"]["groups"], 2);
}

/// Each group has files of its own.
TEST_F(Groups, KeepCheckpointsOnDisk) {
  write_shots("{D: {}, a: {}}");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  const std::string words = "gradient case.yaml --set \"checkpoints={host: 4 slots, disk: 40 slots}\" ";
  ASSERT_EQ(run_and_signal(words + "--groups 2 --out disk", 2, SIGUSR1, "disk", "done", 300), 5) << output();
  ASSERT_EQ(run("resume disk", 2), 0) << output();
  EXPECT_EQ(answer("disk"), answer("whole"));
}

TEST_F(Groups, AreEndedByOneOfThem) {
  write_shots("{D: {}, a: {}}");
  write_text("bad.csv", contents("shots.csv") + "bad,1e4,1,100\n");
  EXPECT_EQ(run("gradient case.yaml --set shots=bad.csv --groups 2 --out bad", 2), 3) << output();
  EXPECT_NE(output().find("shot 'bad': diverged"), std::string::npos) << output();
  EXPECT_EQ(run("gradient case.yaml --set \"shots={table: bad.csv, failing: exclude}\" --groups 3 --out good", 3), 0)
      << output();
  EXPECT_NE(output().find("shot 'bad' is excluded"), std::string::npos) << output();
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  EXPECT_EQ(json("good/result.json")["excluded_shots"][0]["name"], "bad");
  EXPECT_NEAR(json("good/result.json")["objective"].get<double>(), json("whole/result.json")["objective"].get<double>(),
              1e-10);
}

TEST_F(Groups, EndWhenARankDies) {
  write_shots("{D: {}, a: {}}");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  Process process(command("gradient case.yaml --groups 2 --epoch 0.05s --out died", 2) + " > output.txt 2>&1");
  while (status_of("died", "epoch") < 2 && !process.is_over())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  pid_t rank = 0;
  for (const pid_t id : process_tree(process.id()))
    if (contents(fmt::format("/proc/{}/comm", id)) == "hindsight\n") rank = id;
  ASSERT_GT(rank, 0);
  kill(rank, SIGKILL);
  EXPECT_NE(process.wait(), 0);
  EXPECT_EQ(run("resume died", 2), 0) << output();
  EXPECT_EQ(answer("died"), answer("whole"));
}

TEST_F(Groups, BadInputIsOneLine) {
  write_shots("{D: {}}");
  const auto expect = [&](const std::string& words, int ranks, const std::string& part) {
    EXPECT_EQ(run("gradient case.yaml --out bad " + words, ranks), 2) << output();
    EXPECT_NE(output().find(part), std::string::npos) << output();
    const std::string said = output().substr(output().find("hindsight:"));
    EXPECT_EQ(said.find("hindsight:", 1), std::string::npos) << said;
    EXPECT_TRUE(ranks > 1 || std::ranges::count(said, '\n') == 1) << said;
  };
  expect("--groups 2", 1, "--groups 2: 1 ranks cannot be divided");
  expect("--groups 2", 3, "possible: 1, 3");
  expect("--groups 2 --shot s1", 2, "the case has none");
  write_text("one.csv", "shot,parameters.g\nonly,1\n");
  expect("--groups 2 --set shots=one.csv", 2, "the case has 1 shots");
  write_text("none.csv", "shot,parameters.g\n");
  expect("--set shots=none.csv", 1, "none.csv");
  write_text("twice.csv", "shot,parameters.g\na,1\na,2\n");
  expect("--set shots=twice.csv", 1, "'a'");
  write_text("grid.csv", "shot,grid.x.cells\na,16\n");
  expect("--set shots=grid.csv", 1, "grid");
  write_text("unknown.csv", "shot,parameters.gg\na,16\n");
  expect("--set shots=unknown.csv", 1, "unknown.csv");
  expect("--set shots=missing.csv", 1, "missing.csv");
  write_text("all.csv", "shot,parameters.g\na,1e4\nb,1e4\n");
  expect("--set \"shots={table: all.csv, failing: exclude}\" --groups 2", 2, "none is left, all 2 are excluded");
}

TEST_F(Groups, AreAsManyAsShotsAndMemoryAllow) {
  write_shots("{D: {}, a: {}}");
  ASSERT_EQ(run("plan case.yaml", 4), 0) << output();
  EXPECT_NE(output().find("12 shots, on 4 groups of 1 rank"), std::string::npos) << output();
  EXPECT_NE(output().find("What groups of ranks give"), std::string::npos) << output();
  ASSERT_EQ(run("plan case.yaml --groups 2", 4), 0) << output();
  EXPECT_NE(output().find("on 2 groups of 2 ranks"), std::string::npos) << output();
}

}  // namespace
}  // namespace hindsight

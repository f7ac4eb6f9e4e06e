// Tables of runs, computed here.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

using namespace test;

class Sweeps : public test::OwnFolder {
 protected:
  Sweeps() {
    std::ofstream("decay.yaml") << R"yaml(
case: decay
parameters: {k: 0.8, s: 0}
state: {u: {initial: 1}}
equations: {dt(u): "-k*u + s*u^3"}
time: {step: 0.01, to: 10}
objective: [{final: u}]
unknowns: {k: {}}
)yaml";
  }
  static void write_table(const std::string& text) { std::ofstream("table.csv") << text; }
  int run(const std::string& arguments) { return run_command(command_line(arguments, 1) + " > output.txt 2>&1"); }
  static std::string output() { return contents("output.txt"); }
  static nlohmann::json json(const std::string& path) { return nlohmann::json::parse(std::ifstream(path)); }
};

TEST_F(Sweeps, RowsAreRunsOfTheirOwn) {
  write_table("name,parameters.k,parameters.s\na,0.1,0\nb,0.2,1000\nc,0.3,0\n");
  EXPECT_EQ(run("sweep table.csv decay.yaml --local 2 --json sent.json"), 3) << output();
  EXPECT_NE(output().find("2 complete 1 failed"), std::string::npos) << output();
  EXPECT_EQ(json("sent.json")["rows"][1]["state"], "failed");
  EXPECT_NE(json("sent.json")["rows"][1]["text"], "");
  ASSERT_EQ(run("gradient decay.yaml --set parameters.k=0.3 --set parameters.s=0 --out alone"), 0) << output();
  const nlohmann::json alone = json("alone/result.json"), row = json("runs/decay/table/c/result.json");
  EXPECT_EQ(alone["objective"], row["objective"]);
  EXPECT_EQ(alone["gradient"], row["gradient"]);
  EXPECT_EQ(run("status runs/decay/table --csv table-of-results.csv"), 0) << output();
  EXPECT_EQ(contents("table-of-results.csv")
                .find("name,state,parameters.k,parameters.s,objective,gradient k\na,complete,0.1,0,"),
            0U)
      << contents("table-of-results.csv");
}

TEST_F(Sweeps, WhatIsCompleteIsNotComputedAgain) {
  write_table("name,parameters.k\na,0.1\n");
  EXPECT_EQ(run("sweep table.csv decay.yaml --local 1 --out all"), 0) << output();
  const auto before = fs::last_write_time("all/a/result.json");
  write_table("name,parameters.k\na,0.1\nb,0.2\n");
  EXPECT_EQ(run("sweep table.csv decay.yaml --local 1 --out all"), 0) << output();
  EXPECT_EQ(fs::last_write_time("all/a/result.json"), before);
  EXPECT_EQ(contents("all/waiting.txt"), "b\n");
  EXPECT_EQ(run("sweep table.csv decay.yaml --local 1 --out all"), 0) << output();
  EXPECT_NE(output().find("all 2 rows are complete"), std::string::npos) << output();
  write_table("name,parameters.k\na,0.5\nb,0.2\n");  // another row under the same name
  EXPECT_EQ(run("sweep table.csv decay.yaml --local 1 --out all"), 0) << output();
  EXPECT_NE(fs::last_write_time("all/a/result.json"), before);
}

TEST_F(Sweeps, NothingBeginsWhenARowIsBad) {
  write_table("time.step\n0.1\n-1\n");
  EXPECT_EQ(run("sweep table.csv decay.yaml --local 1 --out all"), 2);
  EXPECT_NE(output().find("table.csv:3: this row: "), std::string::npos) << output();
  write_table("parameters.kk\n0.1\n");
  EXPECT_EQ(run("sweep table.csv decay.yaml --local 1 --out all"), 2);
  EXPECT_NE(output().find("the case has no parameter 'kk'; did you mean 'k'?"), std::string::npos) << output();
  EXPECT_FALSE(fs::exists("all"));
}

}  // namespace
}  // namespace hindsight

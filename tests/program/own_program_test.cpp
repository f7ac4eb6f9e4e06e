// starts: ranks
// A program with a method, a source of steps and a term of its own (own_parts.cpp) does all that the program does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

using namespace test;

class OwnProgram : public test::OwnFolder {
 protected:
  static std::string command(const std::string& arguments, int ranks) {
    std::string text = clean_environment;
    if (ranks > 1) text += "mpirun --oversubscribe --bind-to none -n " + std::to_string(ranks) + " ";
    return text + std::string(HINDSIGHT_OWN_PROGRAM) + " " + arguments;
  }
  int run(const std::string& arguments, int ranks = 1) {
    return run_command(command(arguments, ranks) + " > " + here_ + "/output.txt 2>&1");
  }
  std::string output() const { return contents(here_ + "/output.txt"); }
  static nlohmann::json result(const std::string& folder) {
    return nlohmann::json::parse(std::ifstream(folder + "/result.json"));
  }
  /// What must not differ, bit for bit.
  static std::string answer(const std::string& folder) {
    const nlohmann::json all = result(folder);
    return all["objective"].dump() + all["gradient"].dump();
  }
  static void write_case(const std::string& steps, double to) {
    std::ofstream("case.yaml") << R"yaml(
case: oscillators
grid: {x: {cells: 12, to: 1}, y: {cells: 9, to: 1}}
parameters: {k: 4.0}
state: {q: {initial: "1 + 0.5*sin(2*pi*x)*cos(2*pi*y)"}, p: {initial: 0}}
equations: {dt(q): p, dt(p): "-k*q"}
time: {method: verlet, steps: )yaml"
                               << steps << ", step: 0.02, to: " << to << R"yaml(}
objective: [{cube: q}, {integral: "p^2"}]
unknowns: {k: {}, initial(q): {}}
)yaml";
  }
  std::string gradient(const std::string& folder, const std::string& checkpoints, int ranks = 1) {
    EXPECT_EQ(run("gradient case.yaml --quiet --out " + folder + " --set \"checkpoints={" + checkpoints + "}\"", ranks),
              0)
        << checkpoints << ": " << output();
    return fs::exists(folder + "/result.json") ? answer(folder) : "none";
  }
};

/// J and dJ/dk of the same steps, cell by cell.
std::pair<double, double> by_the_formula(std::int64_t steps, double h) {
  constexpr double k = 4.0, pi = 3.14159265358979323846;
  double objective = 0.0, derivative = 0.0;
  for (int j = 0; j < 9; ++j)
    for (int i = 0; i < 12; ++i) {
      double q = 1 + 0.5 * std::sin(2 * pi * (i + 0.5) / 12) * std::cos(2 * pi * (j + 0.5) / 9), p = 0, dq = 0, dp = 0;
      double integral = 0, dintegral = 0;
      for (std::int64_t n = 0; n <= steps; ++n) {
        const double weight = n == 0 || n == steps ? 0.5 * h : h;
        integral += weight * p * p;
        dintegral += weight * 2 * p * dp;
        if (n == steps) break;
        const double push = i < 4 && j < 3 ? static_cast<double>(n) / 1024 : 0.0;
        const double half = p - 0.5 * h * k * q + h * push, dhalf = dp - 0.5 * h * (q + k * dq);
        q += h * half;
        dq += h * dhalf;
        p = half - 0.5 * h * k * q;
        dp = dhalf - 0.5 * h * (q + k * dq);
      }
      objective += (q * q * q + integral) / 108;
      derivative += (3 * q * q * dq + dintegral) / 108;
    }
  return {objective, derivative};
}

TEST_F(OwnProgram, GivesTheNumbersOfTheFormula) {
  write_case("fixed", 4);
  gradient("run", "host: 20 slots");
  const auto [objective, derivative] = by_the_formula(200, 0.02);
  const nlohmann::json found = result("run");
  EXPECT_NEAR(found["objective"].get<double>(), objective, 1e-12 * std::fabs(objective));
  EXPECT_NEAR(found["gradient"]["k"].get<double>(), derivative, 1e-12 * std::fabs(derivative));
}

TEST_F(OwnProgram, GoesThroughEverySchedule) {
  write_case("fixed", 4);
  const std::string wanted = gradient("store-all", "schedule: store-all, host: 400 slots");
  for (const char* checkpoints :
       {"schedule: none, host: 1 slots", "schedule: uniform, host: 40 slots", "schedule: revolve, host: 9 slots",
        "schedule: multistage, host: 5 slots, disk: 9 slots", "schedule: hrevolve, host: 5 slots, disk: 9 slots",
        "schedule: diskrevolve, host: 5 slots, disk: 99 slots",
        "schedule: diskrevolve-once, host: 5 slots, disk: 99 slots",
        "schedule: periodic, host: 5 slots, disk: 99 slots, period: 25",
        "schedule: twolevel, host: 5 slots, disk: 99 slots, period: 25", "schedule: mixed, host: 9 slots",
        "schedule: stride, host: 9 slots, disk: 99 slots", "schedule: online, host: 9 slots",
        "host: {size: 9 slots, codec: zstd}",
        "host: 4 slots, disk: {size: 20 slots, codec: lz4, difference: neighbour}"})
    EXPECT_EQ(gradient(fmt::format("run{}", std::hash<std::string>()(checkpoints)), checkpoints), wanted)
        << checkpoints;
}

TEST_F(OwnProgram, GoesThroughSchedulesThatLearnTheEnd) {
  write_case("by-distance", 4);
  const std::string wanted = gradient("online", "schedule: online, host: 9 slots");
  EXPECT_GT(result("online")["steps"]["forward"].get<std::int64_t>(), 220);
  EXPECT_EQ(gradient("few", "schedule: online, host: 3 slots"), wanted);
  EXPECT_EQ(gradient("auto", "host: 30 slots"), wanted);
  EXPECT_EQ(gradient("twolevel", "schedule: twolevel, host: 5 slots, disk: 200 slots, period: 25"), wanted);
}

TEST_F(OwnProgram, HasTheSameBitsOnOtherRanks) {
  for (const char* steps : {"fixed", "by-distance"}) {
    write_case(steps, 4);
    const std::string wanted = gradient(std::string(steps) + "1", "host: 9 slots, schedule: online");
    for (const int ranks : {2, 3})
      EXPECT_EQ(gradient(steps + std::to_string(ranks), "host: 9 slots, schedule: online", ranks), wanted);
  }
}

TEST_F(OwnProgram, RefusesDevicesForPartsThatVisitCells) {
  write_case("fixed", 4);
  const std::string on_device = "gradient case.yaml --quiet --backend emulated --out device";
  EXPECT_EQ(run(on_device), 2);
  EXPECT_EQ(output(),
            "hindsight: case.yaml:7:7: time.method 'verlet' computes on the host alone: run on the host (--backend "
            "host)\n");
  EXPECT_EQ(run(on_device + " --set time.method=rk4"), 2);
  EXPECT_EQ(output(),
            "hindsight: case.yaml:8:20: the term 'cube: q' computes on the host alone: run on the host (--backend "
            "host)\n");
  EXPECT_EQ(run(on_device + " --set time.method=rk4 --set time.steps=by-distance"), 2);
  EXPECT_NE(output().find("time.steps 'by-distance' computes on the host alone"), std::string::npos) << output();
  EXPECT_EQ(run(on_device + " --set time.method=rk4 --set \"objective=[{integral: p^2}]\""), 0) << output();
}

TEST_F(OwnProgram, SaysWhereATermIsThatItsKindRefuses) {
  write_case("fixed", 4);
  std::string text = contents("case.yaml");
  text.replace(text.find("cube: q"), 7, "cube: q*q");
  std::ofstream("squares.yaml") << text;
  EXPECT_EQ(run("gradient squares.yaml --quiet"), 2);
  EXPECT_EQ(output(), "hindsight: squares.yaml:8:20: a cube is of a field\n");
}

TEST_F(OwnProgram, IsCheckedAndGoesOnWhenItWasKilled) {
  for (const char* steps : {"fixed", "by-distance"}) {
    const std::string name = steps;
    write_case(steps, 4);
    EXPECT_EQ(run("check case.yaml --out check-" + name), 0) << output();
    write_case(steps, name == "fixed" ? 8000 : 800);
    const std::string wanted = gradient(name + "-whole", "host: 9 slots, schedule: online");
    const std::string begin = "gradient case.yaml --quiet --epoch 0.1s --out " + name +
                              " --set \"checkpoints={host: 9 slots, schedule: online}\"";
    int kills = 0;
    for (int wait = 400; !fs::exists(name + "/result.json") && kills < 50; wait += 50) {
      const bool has_begun = fs::exists(name + "/run.json");
      Process process(command(has_begun ? "resume --quiet --epoch 0.1s " + name : begin, 1) + " > output.txt 2>&1");
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      if (process.is_over()) break;
      process.send(SIGKILL);
      process.wait();
      ++kills;
    }
    if (!fs::exists(name + "/result.json")) {
      EXPECT_EQ(run("resume --quiet " + name), 0) << output();
    }
    EXPECT_GT(kills, 0);
    EXPECT_EQ(answer(name), wanted);
  }
}

}  // namespace
}  // namespace hindsight

// starts: ranks
// The shipped cases, through the program: derivatives are right with 1 and 3 ranks, inversions reach published numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/cuda/device.hpp"
#include "tests/places.hpp"
#include "tests/program/program.hpp"
#include "tests/whole.hpp"

namespace hindsight {
namespace {

using namespace test;

const std::string source = test::source_folder();

std::string folder() {
  const std::string path = testing::TempDir() + "cases";
  std::filesystem::create_directories(path);
  return path;
}

/// Runs the program in a process of its own. @returns its exit code.
int run(const std::string& arguments, int ranks = 1) {
  return run_command(command_line(arguments, ranks) + " > " + folder() + "/output.txt 2>&1");
}

std::string output() {
  return contents(folder() + "/output.txt");
}

nlohmann::json result(const std::string& run_folder) {
  std::ifstream file(run_folder + "/result.json");
  return nlohmann::json::parse(file);
}

class EveryCase : public ::testing::TestWithParam<const char*> {};

/// Large ones are on a coarser grid, but in the whole test.
std::string coarser(const std::string& name) {
  const std::map<std::string, std::pair<int, std::string>> coarse = {
      {"heat-conductivity", {20, " --set time.step=2e-3"}},
      {"allen-cahn", {21, ""}},
      {"navier-stokes-2d", {21, ""}},
      {"porous-flow", {24, ""}}};
  const auto found = coarse.find(name);
  if (found == coarse.end() || is_whole()) return "";
  const std::string cells = std::to_string(found->second.first);
  return " --set grid.x.cells=" + cells + " --set grid.y.cells=" + cells + found->second.second;
}

TEST_P(EveryCase, DerivativesAreRightWithOneAndThreeRanks) {
  const std::string set = coarser(GetParam());
  for (const int ranks : {1, 3})
    EXPECT_EQ(run("check " + source + "/cases/" + GetParam() + ".yaml" + set, ranks), 0) << output();
}

INSTANTIATE_TEST_SUITE_P(Cases, EveryCase,
                         ::testing::Values("lynx-hare", "school-influenza", "gray-scott", "heat-conductivity",
                                           "heat-conductivity-implicit", "allen-cahn", "kuramoto-sivashinsky",
                                           "navier-stokes-2d", "porous-flow", "burgers", "advection-3d", "lorenz96",
                                           "stochastic-allen-cahn", "pharmacokinetics", "robertson", "van-der-pol",
                                           "kinetics", "arrhenius"));

/// The data are computed, and tell the rates that they were computed with; or measured, and the least sum of squares of
/// the closed form of the solution is known.
TEST(Inversion, OfStiffProblemsAndEventsEndsWell) {
  const auto invert = [](const std::string& name) {
    EXPECT_EQ(run("invert " + source + "/cases/" + name + ".yaml --out " + folder() + "/" + name), 0) << output();
    const nlohmann::json all = result(folder() + "/" + name);
    EXPECT_EQ(all["inversion"]["gave_up"], false) << name;
    return all;
  };
  const nlohmann::json robertson = invert("robertson")["estimate"], van_der_pol = invert("van-der-pol")["estimate"];
  EXPECT_NEAR(robertson["k1"].get<double>(), 0.04, 1e-8);
  EXPECT_NEAR(robertson["k2"].get<double>(), 1e4, 1e-2);
  EXPECT_NEAR(robertson["k3"].get<double>(), 3e7, 1e1);
  EXPECT_NEAR(van_der_pol["mu"].get<double>(), 1000, 1e-4);
  EXPECT_NEAR(van_der_pol["initial(u)"].get<double>(), 2, 1e-7);
  EXPECT_NEAR(invert("kinetics")["estimate"]["k5"].get<double>(), 4, 1e-5);
  EXPECT_NEAR(invert("pharmacokinetics")["objective"].get<double>(), 23.532912702662, 1e-7);
}

const std::string cubic = R"yaml(
case: cubic
parameters: {a: 0.5}
state: {u: {initial: 1}}
equations: {dt(u): "a*u^3"}
time: {step: 0.01, to: 0.9}
objective: [{final: "(u - 30)^2"}]
unknowns: {a: {}}
inversion: {iterations: 200, gradient: 1e-6}
)yaml";

std::string cubic_file() {
  const std::string file = folder() + "/cubic.yaml";
  std::ofstream(file) << cubic;
  return file + " --out " + folder() + "/cubic ";
}

TEST(Inversion, RetreatsFromTrialsThatDiverge) {
  for (const int ranks : {1, 2}) {
    ASSERT_EQ(run("invert " + cubic_file(), ranks), 0) << output();
    EXPECT_NEAR(result(folder() + "/cubic")["estimate"]["a"].get<double>(), 0.55538149, 1e-8);
  }
}

TEST(Inversion, GivingUpExitsWith3AndLeavesItsResults) {
  EXPECT_EQ(run("invert " + cubic_file() + "--set 'objective=[{final: abs(u - 3)}]'"), 3) << output();
  EXPECT_EQ(result(folder() + "/cubic")["inversion"]["gave_up"], true);
  EXPECT_EQ(run("invert " + cubic_file() + "--set inversion.iterations=1 --set inversion.gradient=0"), 0) << output();
}

TEST(Inversion, OptionsOfPetscThatMeanNothingAreNamed) {
  EXPECT_EQ(run("invert " + cubic_file() + "--petsc '-tao_type foo'"), 2) << output();
  EXPECT_NE(output().find("foo"), std::string::npos) << output();
  EXPECT_EQ(run("invert " + cubic_file() + "--petsc '-tao_tpye bqnls -tao_gatol 1e-3'"), 0) << output();
  EXPECT_NE(output().find("nothing asked for -tao_tpye\n"), std::string::npos) << output();
}

TEST(Inversion, LynxHareReachesThePublishedEstimates) {
  const std::string out = folder() + "/lynx";
  ASSERT_EQ(run(source + "/cases/lynx-hare.yaml --out " + out), 0) << output();
  const nlohmann::json json = result(out);
  EXPECT_NEAR(2 * json["objective"].get<double>(), 2.018661, 1e-6);
  const std::pair<const char*, double> expected[] = {{"alpha", 0.540159},  {"beta", 0.0271654}, {"gamma", 0.796386},
                                                     {"delta", 0.0236946}, {"u0", 34.6024},     {"v0", 5.84451}};
  for (const auto& [name, value] : expected)
    EXPECT_NEAR(json["estimate"][name].get<double>(), value, 2e-5 * value) << name;
  EXPECT_NE(output().find("2.018661"), std::string::npos);
}

TEST(Inversion, SchoolInfluenzaReachesThePublishedEstimates) {
  const std::string out = folder() + "/school";
  ASSERT_EQ(run(source + "/cases/school-influenza.yaml --out " + out, 2), 0) << output();
  const nlohmann::json json = result(out);
  EXPECT_NEAR(2 * json["objective"].get<double>(), 4121.94, 0.005);
  EXPECT_NEAR(json["estimate"]["beta"].get<double>(), 1.669226, 2e-6);
  EXPECT_NEAR(json["estimate"]["gamma"].get<double>(), 0.4434502, 1e-6);
}

TEST(Program, DivergenceNamesFieldStepAndPlaceAndExits3) {
  const std::string out = folder() + "/diverged";
  EXPECT_EQ(run("run " + source + "/cases/gray-scott.yaml --set grid.x.cells=2048 --set time.to=20 --out " + out, 2),
            3);
  EXPECT_NE(output().find("field 'u' is not finite after step"), std::string::npos) << output();
  EXPECT_NE(output().find("x = "), std::string::npos) << output();
  EXPECT_FALSE(std::filesystem::exists(out + "/result.json"));
  EXPECT_FALSE(std::filesystem::exists(out + "/fields.h5"));
}

/// With outputs and files of results, from one rank and from two.
TEST(Program, AnEmulatedDeviceGivesTheHostsResults) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"lynx-hare", "--set time.step=0.05"},
      {"heat-conductivity", "--set grid.x.cells=16 --set grid.y.cells=16 --set time.step=5e-3"}};
  for (const auto& [name, set] : cases)
    for (const int ranks : {1, 2}) {
      if (ranks == 2 && name == "lynx-hare") continue;
      const std::string of = "gradient " + source + "/cases/" + name + ".yaml " + set + " --out " + folder() + "/";
      ASSERT_EQ(run(of + "host", ranks), 0) << output();
      ASSERT_EQ(run(of + "device --backend emulated", ranks), 0) << output();
      const auto read = [](const std::string& of_run) {
        return nlohmann::json::parse(std::ifstream(folder() + "/" + of_run + "/result.json"));
      };
      EXPECT_EQ(read("host")["objective"], read("device")["objective"]) << name;
      EXPECT_EQ(read("host")["gradient"], read("device")["gradient"]) << name;
      const std::string both = folder() + "/host/fields.h5 " + folder() + "/device/fields.h5";
      EXPECT_EQ(std::system(("h5diff " + both).c_str()), 0) << name;
    }
}

TEST(Program, ExitCodes) {
  EXPECT_EQ(run("schema"), 0);
  EXPECT_EQ(run("init pde"), 0);
  EXPECT_EQ(run("info"), 0);
  EXPECT_EQ(run("gradeint x.yaml"), 2);
  EXPECT_EQ(run("gradient nothing.yaml", 3), 2);
  EXPECT_EQ(run("schedule revolve --steps 10 --slots host=0"), 2);
  EXPECT_EQ(run("schedule revolve --steps 99999999999999999999"), 2);
  EXPECT_NE(output().find("more than can be counted"), std::string::npos) << output();
  if (cuda::report().devices == 0) {
    EXPECT_EQ(run("run " + source + "/cases/lynx-hare.yaml --backend cuda --out " + folder() + "/c"), 6);
  }
  EXPECT_EQ(run("run " + source + "/cases/lynx-hare.yaml --out /proc/nowhere"), 6);
  EXPECT_EQ(run("plan " + source + "/cases/gray-scott.yaml --set 'checkpoints.host=10 slots'"), 0) << output();
  EXPECT_EQ(run("explain " + source + "/cases/burgers.yaml"), 0) << output();
}

TEST(Program, RefusesPicturesThatWouldShowNothing) {
  const std::string plan = "plan " + source + "/cases/van-der-pol.yaml --picture " + folder() + "/p.svg ";
  EXPECT_EQ(run(plan), 2);
  EXPECT_NE(output().find("a picture of 100000 steps, as many as time.at most allows, would"), std::string::npos)
      << output();
  EXPECT_EQ(run(plan + "--set 'time.at most=2000'"), 0) << output();
}

/// Two ranks run one command, a third another. @returns the exit code of them all.
int run_apart(const std::string& two, const std::string& third) {
  const std::string command = clean_environment + "timeout 60 mpirun --oversubscribe -n 2 " + two + " : -n 1 " + third +
                              " > " + folder() + "/output.txt 2>&1";
  return run_command(command);
}

TEST(Program, AFailureOnOneRankEndsAll) {
  const std::string program = test::program_file(), out = folder() + "/apart";
  const std::string good = program + " run " + source + "/cases/gray-scott.yaml --out " + out;
  std::filesystem::remove_all(out);
  EXPECT_EQ(run_apart(good, "env HINDSIGHT_CACHE=/proc/nowhere " + good), 6) << output();
  EXPECT_NE(output().find("/proc/nowhere"), std::string::npos) << output();
  EXPECT_EQ(run_apart(good, program + " run " + folder() + "/no-such-case.yaml --out " + out), 2) << output();
  EXPECT_NE(output().find("no-such-case.yaml"), std::string::npos) << output();
  EXPECT_FALSE(std::filesystem::exists(out + "/result.json"));
}

/// How often `what` stands in the output.
int times_printed(const std::string& what) {
  int count = 0;
  const std::string text = output();
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Program, SeveralRanksSpeakOnce) {
  const std::string out = folder() + "/once";
  std::filesystem::remove_all(out);
  EXPECT_EQ(run("gradient " + source + "/cases/burgers.yaml --set time.stp=1 --out " + out, 3), 2) << output();
  EXPECT_EQ(times_printed("stp"), 2) << output();  // the override's place and the message
  EXPECT_EQ(times_printed("hindsight: "), 1) << output();
  EXPECT_FALSE(std::filesystem::exists(out + "/result.json"));
  EXPECT_EQ(run("gradient " + source + "/cases/burgers.yaml --set time.step=0.01 --out " + out, 3), 3) << output();
  EXPECT_EQ(times_printed("diverged"), 1) << output();
  EXPECT_FALSE(std::filesystem::exists(out + "/result.json"));
}

/// As a line and in the result.
TEST(Program, WarnsOfConditionsThatAreNeverMet) {
  const std::string out = folder() + "/unmet";
  for (const char* const verb : {"run", "gradient"}) {
    const std::string time = " --set 'time={step: 0.001, until: \"norm(u) > 1e9\", at most: 50}' ";
    ASSERT_EQ(run(verb + (" " + source) + "/cases/burgers.yaml --overwrite --out " + out + time), 0) << output();
    EXPECT_EQ(times_printed("warning: the condition of time.until was not met"), 1) << output();
    const std::string warnings = result(out)["warnings"].dump();
    EXPECT_NE(warnings.find("after 50 steps (time.at most)"), std::string::npos) << warnings;
  }
}

/// Failures that ranks agree on end them at once, without MPI's own words.
TEST(Program, RanksAgreeOnFilesAndValuesThatAreRefused) {
  const std::string burgers = source + "/cases/burgers.yaml --out " + folder() + "/agreed ";
  EXPECT_EQ(run("gradient " + burgers + "--json /nonexistent/x.json", 2), 6) << output();
  EXPECT_EQ(times_printed("/nonexistent/x.json"), 1) << output();
  EXPECT_EQ(times_printed("MPI_ABORT"), 0) << output();
  EXPECT_EQ(run("plan " + burgers + "--set time.step=1e-5 --picture " + folder() + "/p.svg", 2), 2) << output();
  EXPECT_EQ(times_printed("MPI_ABORT"), 0) << output();
  const std::string one_sided =
      "--set 'functions.target(x)=0' --set 'state.u.initial=x - 0.7' "
      "--set 'unknowns={initial(u): {scale: log}}'";
  EXPECT_EQ(run("invert " + burgers + one_sided, 2), 2) << output();
  EXPECT_EQ(times_printed("scale: log needs positive values"), 1) << output();
  EXPECT_EQ(times_printed("MPI_ABORT"), 0) << output();
}

TEST(Program, AResolvedCaseRunsAgainAndIsNotOverwritten) {
  const std::string first = folder() + "/first", second = folder() + "/second";
  ASSERT_EQ(run("gradient " + source + "/cases/lynx-hare.yaml --set time.step=0.02 --out " + first), 0) << output();
  const nlohmann::json before = result(first);
  ASSERT_EQ(run("gradient " + first + "/case.yaml --out " + second), 0) << output();
  EXPECT_EQ(result(second)["gradient"], before["gradient"]);
  EXPECT_EQ(run("gradient " + first + "/case.yaml --out " + first), 2) << output();
  EXPECT_EQ(result(first)["gradient"], before["gradient"]);
}

TEST(Program, NearMissesAreNamed) {
  EXPECT_EQ(run("gradeint x.yaml"), 2);
  EXPECT_NE(output().find("did you mean 'gradient'?"), std::string::npos) << output();
  const std::string gray = source + "/cases/gray-scott.yaml --set time.to=5 --out " + folder() + "/near ";
  EXPECT_EQ(run("gradient " + gray + "--set checkpoints.schedule=mixed"), 2) << output();
  EXPECT_EQ(run("gradient " + gray + "--set checkpoints.schedule=twolevel"), 2) << output();
  EXPECT_NE(output().find("checkpoints.period"), std::string::npos) << output();
  EXPECT_EQ(run("gradient " + gray + "--set checkpoints.host='9000000000000000 slots'"), 2) << output();
  EXPECT_EQ(run("gradient " + gray + "--set checkpoints.schedule=online"), 0) << output();
  EXPECT_EQ(output().find("predicted"), std::string::npos) << output();
  EXPECT_EQ(run("plan " + gray + "--cost forward=1"), 0) << output();
  EXPECT_NE(output().find("(as --cost says"), std::string::npos) << output();
}

TEST(Program, EveryAnswerCanBeJson) {
  ASSERT_EQ(run("schema --json -"), 0);
  EXPECT_EQ(nlohmann::json::parse(output())["title"], "A Hindsight case");
  ASSERT_EQ(run("explain " + source + "/cases/burgers.yaml --json -"), 0);
  EXPECT_GT(nlohmann::json::parse(output())["kernels"].size(), 3U);
}

/// What a step must move, in one walk or pass by pass, and what it takes.
TEST(Program, ExplainsHowStepsGoOverMemory) {
  const std::string file = folder() + "/plane.yaml";
  std::ofstream(file) << R"yaml(
case: plane
grid: {x: {cells: 640, to: 1}, y: {cells: 640, to: 1}}
parameters: {a: 0.01}
state: {u: {initial: "sin(2*pi*x)"}}
equations: {dt(u): "a*lap(u)"}
objective: [{final: u^2}]
unknowns: {a: {}}
time: {step: 1e-5, to: 1e-3}
)yaml";
  const auto step = [&](const std::string& more) {
    EXPECT_EQ(run("explain " + file + " --json -" + more), 0) << output();
    return nlohmann::json::parse(output())["step"];
  };
  const auto walked = step(""), small = step(" --set grid.x.cells=40 --set grid.y.cells=40");
  EXPECT_EQ(walked["bytes_read"], 8);  // the state alone
  EXPECT_EQ(walked["bytes_written"], 8);
  EXPECT_EQ(small["bytes_read"], 8 * (1 + 2 + 2 + 4));  // by four stages of RK4
  EXPECT_EQ(small["bytes_written"], 8 * 4);
  EXPECT_GT(walked["seconds_per_cell"], 0.0);
  EXPECT_GT(walked["bytes_per_second_of_a_copy"], 0.0);
  ASSERT_EQ(run("explain " + file), 0);
  for (const char* const line : {"\n  a step: in one walk over rows", "\nA step, per cell\n"})
    EXPECT_NE(output().find(line), std::string::npos) << line << output();
}

/// What events read is in the derivatives, and states jump backwards as they do forwards.
TEST(Program, ExplainsEvents) {
  const std::string file = folder() + "/events.yaml";
  std::ofstream(file) << R"yaml(
case: events
parameters: {k: 1, d: 2}
state: {u: {initial: 1}, w: {initial: 2}}
equations: {dt(u): "-k*u", dt(w): u}
events: [{at: [0.5, 1], set: {u: "u + d"}}, {at: 1, set: {u: "k*w"}}]
objective: [{final: u}]
unknowns: {d: {}, k: {}}
time: {step: 0.1, to: 2}
)yaml";
  ASSERT_EQ(run("explain " + file), 0) << output();
  for (const char* const line :
       {"  at t = 0.5, 1: d_u = d_u + d_d\n", "  at t = 1: d_u = d_k*w + d_w*k\n",
        "  at t = 1: lambda_u = 0\n  at t = 1: lambda_w = lambda_w + lambda_u*k\n  dJ/dd = ",
        "  dJ/dd = sum over cells at t = 0.5, 1 of lambda_u\n",
        "  dJ/dk = sum over cells and time of -lambda_u*u, and sum over cells at t = 1 of lambda_u*w\n"})
    EXPECT_NE(output().find(line), std::string::npos) << line << output();
}

/// Every kind of unknown at once, with walls that move: one set of bits in the files on any number of ranks.
TEST(Program, SeveralFieldsAreUnknown) {
  const std::string file = folder() + "/fields.yaml";
  std::ofstream(file) << R"yaml(
case: fields
grid:
  order: 4
  x: {cells: 13, to: 1, boundary: {lower: {value: "0.1*sin(t) + a"}, upper: {slope: "b*cos(t)"}}}
  y: {cells: 17, to: 1, boundary: {value: "a*x"}}
  z: {cells: 19, to: 1}
parameters:
  a: 0.3
  b: 0.2
  q: {series: {times: [0, 0.01, 0.02], values: [1, 2, 1.5]}}
  kappa: {field: "1 + 0.3*sin(2*pi*z)*x"}
state: {u: {initial: "a*x*y + 0.1*cos(2*pi*z)"}}
equations: {dt(u): "0.1*div(kappa*grad(u)) + q*u*(1-u)"}
time: {step: 0.001, to: 0.02, method: ssprk3}
objective: [{final: "u^2"}, {integral: "grad2(u)"}, {penalty: "1e-3*grad2(kappa)"}]
unknowns: {a: {}, b: {}, q: {}, kappa: {}, initial(u): {}}
)yaml";
  nlohmann::json first;
  for (const int ranks : {1, 2, 3}) {
    const std::string out = folder() + "/fields" + std::to_string(ranks);
    ASSERT_EQ(
        run("gradient " + file + " --out " + out + " --set checkpoints.host='" + std::to_string(2 * ranks) + " slots'",
            ranks),
        0)
        << output();
    const nlohmann::json json = result(out);
    if (ranks == 1) first = json;
    EXPECT_EQ(json["objective"], first["objective"]);
    EXPECT_EQ(json["gradient"], first["gradient"]) << ranks << " ranks";
  }
}

TEST(Program, PlansShowWhatMemoryBuysAndDrawPictures) {
  const std::string gray = source + "/cases/gray-scott.yaml --set time.to=20 --set checkpoints.host='30 slots' ";
  ASSERT_EQ(run("plan " + gray + "--picture " + folder() + "/plan.svg"), 0) << output();
  for (const char* wanted : {"What memory buys", "half host memory", "double host memory", "1.5: ", "5: "})
    EXPECT_NE(output().find(wanted), std::string::npos) << wanted << "\n" << output();
  std::ifstream picture(folder() + "/plan.svg");
  const std::string svg((std::istreambuf_iterator<char>(picture)), {});
  EXPECT_NE(svg.find("checkpoint in host memory"), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  ASSERT_EQ(run("plan " + gray + "--set checkpoints.disk='100 slots' --cost disk.write=1e-4,disk.read=1e-4 --json -"),
            0);
  const nlohmann::json json = nlohmann::json::parse(output());
  EXPECT_EQ(json["tiers"]["disk"]["write_seconds"], 1e-4);
  EXPECT_EQ(json["variants"].size(), 5U);
}

TEST(Program, SchedulesOfEveryKindAreShown) {
  const std::string common = " --steps 60 --slots host=8,disk=60 --cost disk.write=2,disk.read=2 --period 7 ";
  for (const char* kind :
       {"store-all --slots host=60", "none", "uniform --slots host=60", "revolve", "multistage", "hrevolve",
        "diskrevolve", "diskrevolve-once", "periodic", "twolevel", "mixed", "cams --stages 4 --stiffly-accurate",
        "stride", "walk-back --slots host=60", "online", "online --unknown"}) {
    const std::string words = kind;
    const std::string name = words.substr(0, words.find(' '));
    const std::string own = words.substr(name.size());
    const std::string slots = own.find("--slots") == std::string::npos ? common : " --steps 60 ";
    EXPECT_EQ(run("schedule " + name + slots + own + " --picture " + folder() + "/s.svg"), 0) << kind << "\n"
                                                                                              << output();
    EXPECT_NE(output().find("schedule " + name + ", 60 steps"), std::string::npos) << output();
  }
}

TEST(Program, MissingCompilerExitsWith6) {
  const std::string command = clean_environment + "HINDSIGHT_CC=no-such-cc HINDSIGHT_CACHE=" + folder() +
                              "/empty-cache " + std::string(test::program_file()) + " run " + source +
                              "/cases/lynx-hare.yaml --out " + folder() + "/cc > " + folder() + "/output.txt 2>&1";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 6);
  EXPECT_NE(output().find("HINDSIGHT_CC"), std::string::npos) << output();
}

}  // namespace
}  // namespace hindsight

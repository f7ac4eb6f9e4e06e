// A run that is stopped goes on with the same bits; one that has changed, is complete or is in use is told apart.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tests/program/resumed_run.hpp"
#include "tests/whole.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

using namespace test;

TEST_F(Resume, StopAfterLoopsUntilDoneWithTheSameBits) {
  write_case("", is_whole() ? "6000" : "3000");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  int code = run("gradient case.yaml --out parts --stop-after 2500ms");
  EXPECT_EQ(code, 2);  // no such unit
  code = run_for(2, "gradient case.yaml --out parts");
  int stops = 0;
  for (; code == 5 && stops < 60; ++stops) {
    EXPECT_NE(output().find("go on with: hindsight resume"), std::string::npos) << output();
    code = run_for(2, "resume parts");
  }
  EXPECT_EQ(code, 0) << output();
  EXPECT_GT(stops, 0);
  EXPECT_EQ(answer("parts"), answer("whole"));
  EXPECT_EQ(run("resume parts"), 0);
  EXPECT_NE(output().find("is complete"), std::string::npos) << output();
  for (const auto& entry : fs::directory_iterator("parts"))
    EXPECT_EQ(entry.path().filename().string().find("journal"), std::string::npos) << entry.path();
}

/// Steps that were chosen, jumps, and what methods keep in states beside the fields.
TEST_F(Resume, ChosenStepsEventsAndImplicitMethodsGoOn) {
  for (const char* const time : {"method: dopri5, tolerance: 1e-8, step: 1e-3, most: 0.006",
                                 "method: rodas4, tolerance: 1e-6, step: 1e-3", "method: bdf2, step: 0.04"}) {
    SCOPED_TRACE(time);
    write_text("case.yaml", R"yaml(
case: members
grid: {x: {cells: 16000, to: 1}}
parameters: {a: 0.3, k: {field: "2 + x"}}
state: {u: {initial: "0.2 + 0.1*x"}, v: {initial: 0.4}}
equations: {dt(u): "u*(1 - u) - a*u*v", dt(v): "k*(u^2 - v) + 0.3*sin(3*t)"}
events: [{at: [0, 2, 4.5, 9], set: {u: "u + a*(1 - u)"}}]
objective: [{final: "u^2"}, {integral: "u*v"}]
unknowns: {a: {}, k: {}}
checkpoints: {host: 20 slots}
time: {to: 16, )yaml" + std::string(time) +
                                "}\n");
    fs::remove_all("whole");
    fs::remove_all("killed");
    ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
    ASSERT_TRUE(run_and_kill("gradient case.yaml --epoch 0.02s --out killed", "killed", 2)) << output();
    ASSERT_TRUE(run_and_kill("resume killed", "killed", 2) || run("resume killed") == 0) << output();
    EXPECT_EQ(run("resume killed"), 0) << output();
    EXPECT_EQ(answer("killed"), answer("whole"));
  }
}

/// What walls that move have summed up is kept, of the equations and of their derivatives.
TEST_F(Resume, RosenbrockStepsBesideMovingWallsGoOn) {
  write_text("case.yaml", R"yaml(
case: walls
grid: {x: {cells: 300, to: 1, boundary: {lower: {value: "a*sin(3*t)"}, upper: {slope: "q"}}}}
parameters: {a: 0.3, k: {field: "1 + x"}, q: {series: {times: [0, 1, 2], values: [1, 2, 0]}}}
state: {u: {initial: "x"}}
equations: {dt(u): "div(k*grad(u)) - u^3"}
objective: [{final: "u^2"}]
unknowns: {a: {}, k: {}, q: {}}
checkpoints: {host: 20 slots}
time: {to: 2, method: rodas4, step: 0.001}
)yaml");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  ASSERT_TRUE(run_and_kill("gradient case.yaml --epoch 0.02s --out killed", "killed", 2)) << output();
  ASSERT_TRUE(run_and_kill("resume killed", "killed", 2) || run("resume killed") == 0) << output();
  EXPECT_EQ(run("resume killed"), 0) << output();
  EXPECT_EQ(answer("killed"), answer("whole"));
}

/// The vorticity decays, its integral does not: what is left of it is rounding of the size that it had before the stop.
TEST_F(Resume, WhatConstraintsWereMadeOfIsKept) {
  write_text("case.yaml", R"yaml(
case: decay
grid: {x: {cells: 32, to: 2*pi, boundary: periodic}, y: {cells: 32, to: 2*pi, boundary: periodic}}
parameters: {nu: 1}
state: {w: {initial: "sin(x)*cos(2*y) + 0.3*cos(x + y)"}, psi: }
equations: {dt(w): "-dy(psi)*dx(w) + dx(psi)*dy(w) + nu*lap(w)", zero(psi): "lap(psi) + w"}
objective: [integral: "w^2"]
unknowns: {nu: {}}
time: {method: beuler, step: 0.04, to: 24}
)yaml");
  EXPECT_EQ(run_and_signal("run case.yaml --out stopped", 1, SIGTERM, "stopped", "done", 400), 5) << output();
  EXPECT_EQ(run("resume stopped"), 0) << output();
}

/// Spans of steps, whose records are more than the states that they begin with.
TEST_F(Resume, SpansGoOn) {
  write_text("case.yaml", R"yaml(
case: lotka-volterra
parameters: {alpha: 0.54, beta: 0.027}
state: {u: {initial: 34}, v: {initial: 5.8}}
equations: {dt(u): "(alpha - beta*v)*u + 1e-9*sin(u)*exp(-v)*sin(2*u)", dt(v): "(-0.8 + 0.024*u)*v + 1e-9*exp(sin(v))"}
time: {method: rk4, step: 2e-5, to: 20}
objective: [{final: "u^2 + v^2"}]
unknowns: {alpha: {}, beta: {}, initial(u): {}}
)yaml");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  for (const std::int64_t done : {200'000, 1'300'000}) {  // of 2'000'000
    fs::remove_all("killed");
    ASSERT_EQ(run_and_signal("gradient case.yaml --epoch 0.02s --out killed", 1, SIGKILL, "killed", "done", done), -1)
        << output();
    EXPECT_EQ(run("resume killed"), 0) << output();
    EXPECT_EQ(answer("killed"), answer("whole")) << done;
  }
}

/// On each node it may be another, and one that is gone costs work, not the run.
TEST_F(Resume, AScratchFolderIsNamedByAVariable) {
  write_case("checkpoints: {schedule: hrevolve, host: 5 slots, disk: {size: 60 slots, directory: $SCRATCH/own}}\n",
             "700");
  const auto scratch = [&](const std::string& name) {
    fs::create_directories(here_ + "/" + name);
    environment_ = "SCRATCH=" + here_ + "/" + name + " ";
  };
  EXPECT_EQ(run("gradient case.yaml --out none"), 2);
  EXPECT_NE(output().find("the variable SCRATCH is not set"), std::string::npos) << output();
  EXPECT_FALSE(fs::exists("none"));
  scratch("one");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  EXPECT_TRUE(fs::is_empty("one"));
  const std::string words = "gradient case.yaml --epoch 0.1s --out ";
  ASSERT_EQ(run_and_signal(words + "moved", 1, SIGTERM, "moved", "done", 8000), 5) << output();
  EXPECT_NE(contents("moved/run.json").find("$SCRATCH/own"), std::string::npos);
  EXPECT_FALSE(fs::is_empty("one/own"));
  scratch("two");
  EXPECT_EQ(run("resume moved"), 0) << output();
  EXPECT_EQ(answer("moved"), answer("whole"));
  EXPECT_TRUE(fs::is_empty("two"));
  ASSERT_EQ(run_and_signal(words + "named", 1, SIGTERM, "named", "done", 8000), 5) << output();
  EXPECT_EQ(run_and_signal("resume named --scratch three", 1, SIGTERM, "named", "done", 500), 5) << output();
  EXPECT_TRUE(fs::is_empty("two/own"));  // those are given up
  EXPECT_FALSE(fs::is_empty("three"));
  EXPECT_EQ(run("resume named"), 0) << output();
  EXPECT_EQ(answer("named"), answer("whole"));
}

/// The plan counts on what coded states take, which was learnt before the stop.
TEST_F(Resume, CodedCheckpointsGoOn) {
  for (const char* checkpoints : {"checkpoints: {host: {size: 6 MiB, codec: zstd}}\n",
                                  "checkpoints: {host: {size: 6 MiB, codec: lz4}, disk: 40 slots}\n"}) {
    SCOPED_TRACE(checkpoints);
    write_case(checkpoints, "1000");
    ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
    const std::int64_t most = json("whole/result.json")["memory"]["host"]["peak"];
    EXPECT_EQ(run_and_signal("gradient case.yaml --out coded", 1, SIGTERM, "coded", "done", 11000), 5) << output();
    EXPECT_EQ(run("resume coded"), 0) << output();
    EXPECT_EQ(output().find("begins again"), std::string::npos) << output();
    EXPECT_NE(output().find("gradient at"), std::string::npos) << output();
    EXPECT_EQ(answer("coded"), answer("whole"));
    EXPECT_LE(json("coded/result.json")["memory"]["host"]["peak"].get<std::int64_t>(),
              std::max(most, std::int64_t{6} << 20));
  }
}

/// Where nobody gives a budget, that of the first process holds when there is a little less now; a plan that does not
/// fit is made again with what there is today.
TEST_F(Resume, APlanThatDoesNotFitAnyMoreIsMadeAgain) {
  write_case("checkpoints: {schedule: auto}\n", "3000");  // longer than it takes to see how far it is
  const auto in_node = [&](const char* mebibytes) {
    environment_ = std::string("SLURM_MEM_PER_NODE=") + mebibytes + " ";
  };
  in_node("64");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  for (const auto& [later, is_kept] : {std::pair("52", true), {"16", false}}) {
    SCOPED_TRACE(later);
    in_node("64");
    fs::remove_all("stopped");
    ASSERT_EQ(run_and_signal("gradient case.yaml --out stopped", 1, SIGTERM, "stopped", "done", 11000), 5) << output();
    in_node(later);
    ASSERT_EQ(run("resume stopped"), 0) << output();
    EXPECT_EQ(output().find("begins again") == std::string::npos, is_kept) << output();
    EXPECT_EQ(answer("stopped"), answer("whole"));
    const auto host = json("stopped/result.json")["memory"]["host"];
    EXPECT_EQ(host["budget"].get<std::int64_t>(), (is_kept ? 32 : 8) << 20);
    EXPECT_LE(host["peak"].get<std::int64_t>(), host["budget"].get<std::int64_t>());
  }
}

/// In a budget that leaves no room for deep queues beside the slots of a schedule that is asked for.
TEST_F(Resume, QueuesAreAsDeepAsBefore) {
  write_case("checkpoints: {schedule: store-all, host: {size: 1 MiB, codec: zstd}}\n", "30");
  slow_down();
  const auto of = [](int kib) { return " --set checkpoints.host.size=" + std::to_string(kib) + "KiB"; };
  int too_little = 8800, enough = 20000;
  ASSERT_NE(run("plan case.yaml" + of(too_little)), 0) << output();
  ASSERT_EQ(run("plan case.yaml" + of(enough)), 0) << output();
  while (enough - too_little > 100) {
    const int kib = (too_little + enough) / 2;
    (run("plan case.yaml" + of(kib)) == 0 ? enough : too_little) = kib;
  }
  const std::string budget = of(enough);
  ASSERT_EQ(run("gradient case.yaml --out whole" + budget), 0) << output();
  ASSERT_EQ(
      run_and_signal("gradient case.yaml --epoch 0.1s --out stopped" + budget, 1, SIGTERM, "stopped", "done", 340), 5)
      << output();
  EXPECT_EQ(run("resume stopped"), 0) << output();
  EXPECT_EQ(output().find("begins again"), std::string::npos) << output();
  EXPECT_EQ(answer("stopped"), answer("whole"));
  const auto host = json("stopped/result.json")["memory"]["host"];
  EXPECT_LE(host["peak"].get<std::int64_t>(), host["budget"].get<std::int64_t>());
}

/// Stopped while the codec's tolerance is sought: that begins again, with a plan of its own.
TEST_F(Resume, CalibrationsBeginAgain) {
  write_case("checkpoints: {host: 6 slots, disk: {size: 30 slots, codec: quantised, accept: 1e-3}}\n", "15");
  slow_down();
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  const nlohmann::json exact = json("whole/result.json");
  for (const std::int64_t done : some_of<std::int64_t>({110, 245}, {245})) {
    const std::string folder = "stopped-at-" + std::to_string(done);
    EXPECT_EQ(run_and_signal("gradient case.yaml --out " + folder, 1, SIGTERM, folder, "done", done), 5) << output();
    ASSERT_EQ(run("resume " + folder), 0) << output();
    const nlohmann::json result = json(folder + "/result.json");
    EXPECT_LE(result["codec_error"]["measured"].get<double>(), 1e-3);
    const double before = exact["gradient"]["D"], now = result["gradient"]["D"];
    EXPECT_NEAR(now, before, 2e-3 * std::fabs(before));
  }
}

/// A device's checkpoints, emulated.
TEST_F(Resume, ADevicesRunGoesOn) {
  write_case("checkpoints: {host: 30 slots}\n", "200");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  write_case("checkpoints: {device: 12 slots, host: 20 slots, disk: 50 slots}\n", "200");
  EXPECT_EQ(run_and_signal("gradient case.yaml --backend emulated --out device", 1, SIGTERM, "device", "done", 2500), 5)
      << output();
  EXPECT_EQ(run("resume device"), 0) << output();
  EXPECT_NE(output().find("gradient at"), std::string::npos) << output();
  EXPECT_EQ(answer("device"), answer("whole"));
}

TEST_F(Resume, NamesWhatHasChanged) {
  write_case("", "2500");
  ASSERT_EQ(run("gradient case.yaml --out run --stop-after 1500s --set time.to=3"), 0) << output();
  ASSERT_EQ(run_and_signal("gradient case.yaml --out run", 1, SIGTERM, "run", "done", 5000), 5) << output();
  const std::string before = contents("case.yaml");
  std::ofstream("case.yaml", std::ios::trunc)
      << before.substr(0, before.find("1e-4")) << "2e-4" << before.substr(before.find("1e-4") + 4);
  EXPECT_EQ(run("resume run"), 2);
  EXPECT_NE(output().find("the case has changed: "), std::string::npos) << output();
  EXPECT_NE(output().find("2e-4"), std::string::npos) << output();
  std::ofstream("case.yaml", std::ios::trunc) << before << "# a remark changes nothing\n";
  EXPECT_EQ(run("status run --json -"), 0);
  EXPECT_EQ(nlohmann::json::parse(output())["state"], "stopped") << output();
  EXPECT_EQ(run("resume run"), 0) << output();
  EXPECT_EQ(run("resume nowhere"), 2);
  EXPECT_NE(output().find("holds no run"), std::string::npos) << output();
}

TEST_F(Resume, NamesADataFileThatHasChanged) {
  std::ofstream("data.csv") << "t,u\n1,0.7\n2,0.5\n";
  std::ofstream("ode.yaml") << R"yaml(
case: decay
parameters: {a: 0.5}
state: {u: {initial: 1}}
equations: {dt(u): "-a*u"}
time: {step: 4e-7, to: 2}
objective: [{misfit: {of: u, data: data.csv}}]
unknowns: {a: {}}
checkpoints: {host: 50 slots}
)yaml";
  ASSERT_TRUE(run_and_kill("gradient ode.yaml --out run --epoch 0.05s", "run", 1)) << output();
  std::ofstream("data.csv") << "t,u\n1,0.7\n2,0.6\n";
  EXPECT_EQ(run("resume run"), 2);
  EXPECT_NE(output().find("data.csv' has changed"), std::string::npos) << output();
}

/// Data by a path that is relative to where the program was started.
TEST_F(Resume, ACaseIsFoundFromElsewhere) {
  fs::create_directories("cases");
  write_text("cases/data.csv", "t,u\n1,0.7\n2,0.5\n");
  write_text("cases/ode.yaml",
             "case: decay\nparameters: {a: 0.5}\nstate: {u: {initial: 1}}\nequations: {dt(u): \"-a*u\"}\n"
             "time: {step: 2e-6, to: 2}\nobjective: [{misfit: {of: u, data: data.csv}}]\nunknowns: {a: {}}\n"
             "checkpoints: {host: 50 slots}\n");
  ASSERT_TRUE(run_and_kill("gradient cases/ode.yaml --out run --epoch 0.05s", "run", 1)) << output();
  fs::create_directories("elsewhere");
  fs::current_path("elsewhere");
  EXPECT_EQ(run("resume ../run"), 0) << output();
}

/// A run that is killed before its first step is begun again, whatever the folder held before.
TEST_F(Resume, ARunThatWasKilledWhileItWasPreparedBeginsAgain) {
  write_case("", "20");
  ASSERT_EQ(run("gradient case.yaml --out run"), 0) << output();
  ASSERT_EQ(run("gradient case.yaml --out wanted --set parameters.D=2e-4"), 0) << output();
  ASSERT_EQ(run("gradient case.yaml --out run --set time.step=-1"), 2);
  EXPECT_EQ(run("resume run"), 0);
  EXPECT_NE(output().find("is complete"), std::string::npos) << output();
  EXPECT_NE(run("gradient case.yaml --out run --set parameters.D=2e-4 --die-at 6"), 0);
  EXPECT_EQ(run("resume run"), 0) << output();
  EXPECT_EQ(answer("run"), answer("wanted"));
}

TEST_F(Resume, OtherFilesInTheFolderStay) {
  write_case("", "2");
  fs::create_directories("run");
  for (const char* name : {"journal-notes.md", "slots-of-time.txt", "evaluations-2025.csv"})
    write_text(std::string("run/") + name, "mine");
  ASSERT_EQ(run("gradient case.yaml --out run"), 2) << output();
  ASSERT_EQ(run("gradient case.yaml --out run --overwrite"), 0) << output();
  for (const char* name : {"journal-notes.md", "slots-of-time.txt", "evaluations-2025.csv"})
    EXPECT_EQ(contents(std::string("run/") + name), "mine");
}

TEST_F(Resume, ASecondProcessIsRefusedWithTheOwner) {
  write_case("", "30000");
  Process first(command_line("gradient case.yaml --quiet --out run", 1) + " > first.txt 2>&1");
  while (!fs::exists("run/status.json") && !first.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_FALSE(first.is_over()) << contents("first.txt");
  EXPECT_EQ(run("gradient case.yaml --out run"), 6);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  EXPECT_NE(output().find("in use by process " + std::to_string(first.id()) + " on host " + host), std::string::npos)
      << output();
  EXPECT_EQ(run("resume run"), 6) << output();
  EXPECT_EQ(run("clean run"), 6) << output();
  EXPECT_EQ(run("status run --json -"), 0) << output();
  const nlohmann::json status = nlohmann::json::parse(output());
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["process"], first.id());
  EXPECT_EQ(status["phase"], "gradient");
  EXPECT_GT(status["total"], 0);
  first.send(SIGKILL);
  first.wait();
  EXPECT_EQ(run("status run"), 0);
  EXPECT_NE(output().find("stopped; go on with"), std::string::npos) << output();
  EXPECT_EQ(run("clean run"), 0) << output();
  EXPECT_EQ(run("resume run"), 2) << output();
}

/// Of a hundred million steps that are allowed, a few are taken.
TEST_F(Resume, StatusTellsTheTimeReachedWhereTheStepsAreNotKnown) {
  const std::string oscillator =
      "case: oscillator\nstate: {u: {initial: 1}, v: {initial: 0}}\nequations: {dt(u): v, dt(v): -u}\n"
      "objective: [{final: u}]\n";
  const auto status_at = [&](const std::string& time) {
    write_text("case.yaml", oscillator + "time: {" + time + "}\n");
    fs::remove_all("run");
    Process process(command_line("run case.yaml --quiet --out run", 1) + " > first.txt 2>&1");
    const auto time_reached = [] {
      const auto status = nlohmann::json::parse(std::ifstream("run/status.json"), nullptr, false);
      return status.is_object() ? status.value("time", 0.0) : 0.0;
    };
    while (time_reached() == 0.0 && !process.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(process.is_over()) << contents("first.txt");
    process.send(SIGKILL);
    process.wait();
    EXPECT_EQ(run("status run"), 0);
    const std::string text = output();
    EXPECT_EQ(run("status run --json -"), 0);
    return std::pair(nlohmann::json::parse(output()), text);
  };
  const auto [adaptive, said] = status_at("method: bs3, tolerance: 1e-12, to: 1e5, at most: 100000000");
  EXPECT_EQ(adaptive["total"], 0);
  EXPECT_EQ(adaptive["end"], 1e5);
  const double part = adaptive["time"].get<double>() / 1e5;
  EXPECT_NEAR(adaptive["percent"].get<double>(), 100 * part, 1e-9);
  EXPECT_NEAR(adaptive["eta_seconds"].get<double>(), adaptive["seconds"].get<double>() * (1 - part) / part,
              1e-3 / part);
  EXPECT_NE(said.find("forward  t = "), std::string::npos) << said;
  EXPECT_NE(said.find(" of 100000  "), std::string::npos) << said;
  const auto [open, told] = status_at("step: 1e-6, until: \"norm(u) > 2\", at most: 1000000000");
  EXPECT_FALSE(open.contains("percent"));
  EXPECT_FALSE(open.contains("eta_seconds"));
  EXPECT_EQ(open["latest_end"], 1000);
  EXPECT_NE(told.find(" of 1000 at the latest  "), std::string::npos) << told;
}

/// An inversion's line search goes on as if nothing had been.
TEST_F(Resume, AnInversionEndsWithTheSameHistory) {
  std::ofstream("ode.yaml") << R"yaml(
case: rosenbrock
parameters: {a: -1.2, b: 1.0}
state: {u: {initial: 0}}
equations: {dt(u): "100*(b - a^2)^2 + (1 - a)^2"}
time: {step: 1e-5, to: 1}
objective: [{final: u}]
unknowns: {a: {}, b: {}}
checkpoints: {host: 100 slots}
inversion: {iterations: 40, gradient: 1e-9}
)yaml";
  ASSERT_EQ(run("invert ode.yaml --out whole"), 0) << output();
  int kills = 0;
  std::string arguments = "invert ode.yaml --out parts --epoch 0.02s";
  for (; kills < 8 && run_and_kill(arguments, "parts", 3 + kills); ++kills) arguments = "resume parts";
  EXPECT_GT(kills, 2);
  EXPECT_EQ(run("resume parts"), 0) << output();
  EXPECT_EQ(answer("parts"), answer("whole"));
}

/// Flipped bits and cut files are survived or named, and give no other gradient.
TEST_F(Resume, DamagedFilesAreSurvivedOrNamed) {
  write_case("checkpoints: {schedule: hrevolve, host: 10 slots, disk: 20 slots}\n", "900");
  ASSERT_EQ(run("gradient case.yaml --out whole"), 0) << output();
  ASSERT_TRUE(run_and_kill("gradient case.yaml --out begun --epoch 0.02s", "begun", 1)) << output();
  std::mt19937_64 random(7);
  int survived = 0, named = 0;
  const char* const wanted = std::getenv("HINDSIGHT_FLIPS");
  for (int i = 0; i < (wanted != nullptr ? std::atoi(wanted) : 12); ++i) {
    fs::remove_all("damaged");
    fs::copy("begun", "damaged", fs::copy_options::recursive);
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator("damaged"))
      if (entry.is_regular_file() && entry.file_size() > 0 && entry.path().filename() != "lock")
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    const fs::path file = files[random() % files.size()];
    const std::uintmax_t size = fs::file_size(file);
    if (random() % 4 == 0) {
      fs::resize_file(file, random() % size);
    } else {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(random() % size);
      bytes.seekg(at);
      const int byte = bytes.get() ^ (1 << (random() % 8));
      bytes.seekp(at);
      bytes.put(static_cast<char>(byte));
    }
    const int code = run("resume damaged --quiet");
    if (code == 0) {
      ++survived;
      EXPECT_EQ(answer("damaged"), answer("whole")) << file;
    } else {
      ++named;
      EXPECT_TRUE(code == 6 || (code == 2 && file.filename() == "run.json")) << file << " " << code << output();
      EXPECT_NE(output().find(file.filename() == "run.json" ? "run.json" : "damaged"), std::string::npos) << output();
    }
    if ((i + 1) % 40 == 0) std::cout << survived << " survived, " << named << " named" << std::endl;
  }
  EXPECT_GT(survived, named);
}

TEST_F(Resume, ARunWhoseSolverGaveUpGoesOnWithAnother) {
  write_text("late.yaml", R"yaml(
case: late
grid: {x: {cells: 24, to: 1, boundary: {value: 0}}, y: {cells: 24, to: 1, boundary: {value: 0}}}
parameters: {k: {field: "1 + 0.3*x"}}
state: {u: {initial: "sin(pi*x)*sin(pi*y)"}}
equations: {dt(u): "div((k + u^2)*grad(u))*(0.1 + t^2) + 1"}
time: {method: cn, step: 0.005, to: 3}
objective: [{final: "u^2"}]
unknowns: {k: {}}
petsc: "-step_ksp_type gmres -step_pc_type jacobi"
)yaml");
  ASSERT_EQ(run("gradient late.yaml --out R --petsc \"-step_ksp_max_it 30\" --epoch 0.001s"), 3) << output();
  EXPECT_NE(output().find("DIVERGED_LINEAR_SOLVE"), std::string::npos) << output();
  EXPECT_EQ(run("resume R"), 3) << output();
  EXPECT_EQ(run("status R"), 0);
  EXPECT_NE(output().find("as it would again with the same solvers"), std::string::npos) << output();
  EXPECT_EQ(run("resume R --petsc \"-step_ksp_max_itt 1000\""), 2) << output();  // and is forgotten
  EXPECT_NE(output().find("--petsc: no solver of implicit steps reads -step_ksp_max_itt"), std::string::npos);
  ASSERT_EQ(run("resume R --petsc \"-step_ksp_max_it 1000\""), 0) << output();
  EXPECT_NE(output().find("going on with epoch"), std::string::npos) << output();
  ASSERT_EQ(run("gradient late.yaml --out whole --petsc \"-step_ksp_max_it 1000\""), 0) << output();
  const nlohmann::json resumed = json("R/result.json"), whole = json("whole/result.json");
  EXPECT_EQ(resumed["provenance"]["petsc_changed_at_resume"], nlohmann::json{"-step_ksp_max_it 1000"});
  EXPECT_FALSE(whole["provenance"].contains("petsc_changed_at_resume"));
  EXPECT_NEAR(resumed["objective"].get<double>() / whole["objective"].get<double>(), 1.0, 1e-9);
  EXPECT_NEAR(resumed["gradient"]["k"]["norm"].get<double>() / whole["gradient"]["k"]["norm"].get<double>(), 1.0, 1e-9);
}

}  // namespace
}  // namespace hindsight

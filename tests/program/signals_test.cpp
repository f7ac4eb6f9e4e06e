// starts: ranks
// A request to stop is heeded whatever the program does: while kernels are compiled, checkpoints are planned, memory is
// taken, steps are taken. Exit code 5, nothing left behind that is not needed, and resume ends with the same bits.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

using namespace hindsight::test;
namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Signals : public test::OwnFolder {
 protected:
  Signals() {
    fs::create_directories("bin");
    write_case("case.yaml", "checkpoints: {host: 40 slots, disk: 40 slots}\n");
  }
  static void write_case(const std::string& file, const std::string& checkpoints, const std::string& to = "60") {
    std::ofstream(file) << "case: waves\n"
                           "grid: {x: {cells: 96, to: 1}, y: {cells: 64, to: 1}}\n"
                           "parameters: {D: 1e-4, a: {field: \"1 + 0.3*sin(2*pi*x)\"}}\n"
                           "state: {u: {initial: \"0.5 + 0.4*sin(2*pi*x)*cos(2*pi*y)\"}}\n"
                           "equations: {dt(u): \"D*lap(u) + a*u*(1 - u)*(u - 0.3)\"}\n"
                           "time: {method: rk4, step: 0.1, to: " +
                               to +
                               "}\n"
                               "objective: [{final: \"u^2\"}, {integral: \"u^4\"}]\n"
                               "unknowns: {D: {}, a: {}}\n" +
                               checkpoints;
  }
  /// The program, on some ranks, with variables.
  static std::string command(const std::string& arguments, int ranks, const std::string& variables = "") {
    return command_line(arguments, ranks).insert(clean_environment.size(), variables + " ") + " > output.txt 2>&1";
  }
  static std::string answer(const std::string& folder) {
    const nlohmann::json all = nlohmann::json::parse(std::ifstream(folder + "/result.json"));
    return all["objective"].dump() + all["gradient"].dump();
  }
  static std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::string output() { return contents("output.txt"); }

  /// A compiler that says that it was started and then takes its time.
  std::string slow_compiler() const {
    std::ofstream(here_ + "/bin/cc") << "#!/bin/sh\n[ \"$1\" = --version ] && exec echo slow\necho $$ > " + here_ +
                                            "/compiling\nsleep 300\n";
    fs::permissions(here_ + "/bin/cc", fs::perms::owner_all);
    return "HINDSIGHT_CC=" + here_ + "/bin/cc";
  }
  /// Whether a process of a group still runs; those that nobody has waited for yet do not.
  static bool runs_in_group(int group) {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      if (!std::isdigit(entry.path().filename().string()[0])) continue;
      std::string stat = contents(entry.path().string() + "/stat"), state;
      int parent = 0, own = 0;
      if (const std::size_t name = stat.rfind(')'); name != std::string::npos) stat.erase(0, name + 1);
      if (std::istringstream(stat) >> state >> parent >> own && own == group && state != "Z") return true;
    }
    return false;
  }
  /// Until something is in it.
  static void wait_for(const std::string& file, Process& process) {
    while (contents(file).empty() && !process.is_over()) std::this_thread::sleep_for(milliseconds(5));
  }
  /// Processor time of a command that is over, its kernels compiled before.
  static double seconds_of(const std::string& arguments, int ranks) {
    EXPECT_EQ(run_command(command(arguments, ranks)), 0) << output();
    const auto used = [] {
      rusage all{};
      getrusage(RUSAGE_CHILDREN, &all);
      return static_cast<double>(all.ru_utime.tv_sec + all.ru_stime.tv_sec) +
             1e-6 * static_cast<double>(all.ru_utime.tv_usec + all.ru_stime.tv_usec);
    };
    const double before = used();
    EXPECT_EQ(run_command(command(arguments, ranks)), 0) << output();
    return used() - before;
  }
  /// Until a process has had so much processor time, however busy the machine is. It must not be over by then.
  static void wait_for_seconds(double seconds, pid_t id, Process& process) {
    const auto had = [&] {
      std::string stat = contents("/proc/" + std::to_string(id) + "/stat"), word;
      if (const std::size_t name = stat.rfind(')'); name != std::string::npos) stat.erase(0, name + 1);
      std::istringstream words(stat);
      for (int field = 3; field < 14; ++field) words >> word;
      double user = 0.0, system = 0.0;
      words >> user >> system;
      return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
    };
    while (had() < seconds && !process.is_over()) std::this_thread::sleep_for(milliseconds(20));
    EXPECT_FALSE(process.is_over()) << output();
  }
  static pid_t child_of(pid_t id, int index) {
    std::ifstream children("/proc/" + std::to_string(id) + "/task/" + std::to_string(id) + "/children");
    for (int i = 0; i <= index; ++i) children >> id;
    return id;
  }
  /// Sends a signal. @returns the exit code. It has to end within some seconds, on a busy machine too.
  static int ended_by(Process& process, int signal, pid_t id) {
    const auto begin = std::chrono::steady_clock::now();
    kill(id, signal);
    const int code = process.wait();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << output();
    return code;
  }
};

TEST_F(Signals, WhileKernelsAreCompiled) {
  const std::string own = "HINDSIGHT_CACHE=" + here_ + "/cache ";
  ASSERT_EQ(run_command(command("gradient case.yaml --out whole", 1)), 0) << output();
  for (const auto& [ranks, signal] : {std::pair(1, SIGTERM), {1, SIGINT}, {1, SIGUSR1}, {2, SIGUSR1}, {3, SIGUSR1}}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks, signal " + std::to_string(signal));
    fs::remove("compiling");
    fs::remove_all("run");
    Process process(command("gradient case.yaml --out run", ranks, own + slow_compiler()));
    wait_for("compiling", process);
    EXPECT_EQ(ended_by(process, signal, process.id()), 5) << output();
    EXPECT_NE(output().find("before anything was worked out"), std::string::npos) << output();
    EXPECT_EQ(output().find("C compiler"), std::string::npos) << output();
    EXPECT_EQ(files_in("run"), std::vector<std::string>{"run.json"});
    EXPECT_EQ(files_in("cache"), std::vector<std::string>{});
    EXPECT_FALSE(runs_in_group(std::stoi(contents("compiling")))) << "the compiler, or what it started, is still there";
    EXPECT_EQ(run_command(command("resume run", ranks)), 0) << output();
    EXPECT_EQ(answer("run"), answer("whole"));
  }
}

/// The terminal sends SIGINT to all processes in the foreground.
TEST_F(Signals, OfATerminal) {
  Process process("setsid " +
                  command("gradient case.yaml --out run", 1, "HINDSIGHT_CACHE=" + here_ + "/cache " + slow_compiler()));
  wait_for("compiling", process);
  EXPECT_EQ(ended_by(process, SIGINT, -process.id()), 5) << output();
  EXPECT_EQ(output().find("C compiler"), std::string::npos) << output();
}

/// A dynamic program of minutes. One rank alone may be asked, too.
TEST_F(Signals, WhileCheckpointsArePlanned) {
  write_case("case.yaml", "checkpoints: {schedule: cams, host: 30 slots}\n", "10000");
  for (const auto& [ranks, asked] : {std::pair(1, 0), {2, -1}, {2, 0}, {3, 2}}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks, asked: " + std::to_string(asked));
    const double all_else = seconds_of("gradient case.yaml --set time.to=1 --overwrite --out warm", ranks);
    fs::remove_all("run");
    Process process(command("gradient case.yaml --out run", ranks));
    wait_for("run/run.json", process);
    const pid_t rank = ranks > 1 ? child_of(process.id(), std::max(asked, 0)) : process.id();
    wait_for_seconds(all_else + 1, rank, process);
    EXPECT_EQ(files_in("run"), (std::vector<std::string>{"lock", "run.json"}));
    EXPECT_EQ(ended_by(process, SIGUSR1, asked < 0 ? process.id() : rank), 5) << output();
    EXPECT_NE(output().find("before anything was worked out"), std::string::npos) << output();
    EXPECT_EQ(files_in("run"), std::vector<std::string>{"run.json"});
  }
}

/// Where nothing is written, signals are what they always are.
TEST_F(Signals, EndOtherVerbsAtOnce) {
  write_case("slow.yaml", "checkpoints: {schedule: cams, host: 30 slots}\n", "10000");
  const std::string schedule = "schedule cams --slots host=30 --steps ", plan = "plan slow.yaml --set time.to=";
  for (const auto& [slow, quick] : {std::pair(schedule + "100000", schedule + "10"), {plan + "10000", plan + "1"}}) {
    const double all_else = seconds_of(quick, 1);
    Process process(command(slow, 1));
    wait_for_seconds(all_else + 1, process.id(), process);
    EXPECT_EQ(ended_by(process, SIGTERM, process.id()), -1) << slow << output();
  }
}

/// They leave no compiler behind, and nothing in the cache.
TEST_F(Signals, EndOtherVerbsThatCompile) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    fs::remove("compiling");
    Process process(command("plan case.yaml", 1, "HINDSIGHT_CACHE=" + here_ + "/cache " + slow_compiler()));
    wait_for("compiling", process);
    EXPECT_EQ(ended_by(process, signal, process.id()), -1) << output();
    EXPECT_EQ(output(), "");
    EXPECT_EQ(files_in("cache"), std::vector<std::string>{});
    EXPECT_FALSE(runs_in_group(std::stoi(contents("compiling")))) << "the compiler, or what it started, is still there";
  }
}

class RandomMoments : public Signals {
 protected:
  /// What there is of a run that was stopped, and not yet complete.
  static void expect_no_litter() {
    static const std::regex needed(
        R"(run\.json|case\.yaml|log\.jsonl|status\.json|fields\.h5\.partial|(journal|evaluations)-0\.\d|scratch|slots-0-[01]\.\d|gradient\.h5)");
    for (const std::string& name : files_in("run"))
      EXPECT_TRUE(std::regex_match(name, needed)) << name << "\n" << output();
  }

  /// @returns whether the run was stopped by the signal, and not over before.
  bool try_at(milliseconds moment, int ranks, int signal, bool is_cold) {
    fs::remove_all("run");
    if (is_cold) fs::remove_all("cache");
    const std::string own = "HINDSIGHT_CACHE=" + here_ + "/cache";
    Process process(command("gradient case.yaml --out run --quiet", ranks, own));
    std::this_thread::sleep_for(moment);
    process.send(signal);
    const int code = process.wait();
    const bool was_killed = code == -1 || code == 128 + signal;  // of mpirun: a rank was
    if (was_killed) {  // before the first line of the program, so there is nothing yet
      EXPECT_FALSE(fs::exists("run")) << output();
      return false;
    }
    EXPECT_TRUE(code == 0 || code == 5) << code << "\n" << output();
    if (code == 5) expect_no_litter();
    if (code == 5 && output().find("before anything was worked out") != std::string::npos && fs::exists("run")) {
      EXPECT_EQ(files_in("run"), std::vector<std::string>{"run.json"}) << output();
    }
    if (code == 5 && !fs::exists("run/run.json")) {
      EXPECT_FALSE(fs::exists("run")) << output();
      return true;
    }
    if (code == 5) {
      EXPECT_EQ(run_command(command("resume run --quiet", ranks, own)), 0) << output();
    }
    EXPECT_EQ(answer("run"), answer("whole"));
    return code == 5;
  }

  /// Spread over the time that a run takes here and now.
  void try_moments(int count, int ranks, bool is_cold) {
    std::mt19937 random(static_cast<unsigned>(17 * ranks + (is_cold ? 1 : 0)));
    const std::string own = "HINDSIGHT_CACHE=" + here_ + "/cache";
    if (!is_cold) run_command(command("gradient case.yaml --out warm", ranks, own));
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(run_command(command("gradient case.yaml --out whole", ranks, own)), 0) << output();
    const auto longest = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin).count();
    int stopped = 0;
    for (int i = 0; i < count; ++i) {
      const int signal = ranks > 1 ? SIGUSR1 : std::array{SIGTERM, SIGINT, SIGUSR1}[random() % 3];
      const double part = (i + std::uniform_real_distribution<>()(random)) / count;
      const milliseconds moment(static_cast<std::int64_t>(part * static_cast<double>(longest)));
      SCOPED_TRACE(std::to_string(moment.count()) + " of " + std::to_string(longest) + " ms, signal " +
                   std::to_string(signal) + ", " + std::to_string(ranks) + " ranks" + (is_cold ? ", compiling" : ""));
      if (try_at(moment, ranks, signal, is_cold)) ++stopped;
    }
    EXPECT_GT(stopped, 0);
  }
};

TEST_F(RandomMoments, OneRankCompiling) {
  try_moments(5, 1, true);
}

TEST_F(RandomMoments, OneRank) {
  try_moments(20, 1, false);
}

TEST_F(RandomMoments, TwoRanksCompiling) {
  try_moments(3, 2, true);
}

TEST_F(RandomMoments, TwoRanks) {
  try_moments(8, 2, false);
}

}  // namespace
}  // namespace hindsight

// A run that tests stop, kill and go on with.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight::test {

class Resume : public OwnFolder {
 protected:
  std::string command(const std::string& arguments, int ranks) const {
    return command_line(arguments, ranks).insert(clean_environment.size(), environment_);
  }
  /// @returns the exit code.
  int run(const std::string& arguments, int ranks = 1) {
    return run_command(command(arguments, ranks) + " > " + here_ + "/output.txt 2>&1");
  }
  /// Runs it for so many seconds; more, where a process takes long to begin. @returns the exit code.
  int run_for(int seconds, const std::string& arguments, int ranks = 1) {
    for (int code = 6;; seconds *= 2) {
      code = run(arguments + " --stop-after " + std::to_string(seconds) + "s", ranks);
      if (code != 6 || seconds > 100) return code;
    }
  }
  static void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  std::string output() const { return contents(here_ + "/output.txt"); }
  static nlohmann::json json(const std::string& path) { return nlohmann::json::parse(std::ifstream(path)); }
  /// What must not differ.
  static std::string answer(const std::string& run_folder) {
    const nlohmann::json all = json(run_folder + "/result.json");
    nlohmann::json answer = {{"objective", all["objective"]}};
    for (const char* key : {"gradient", "estimate", "inversion"})
      if (all.contains(key)) answer[key] = all[key];
    return answer.dump() + contents(run_folder + "/convergence.csv");
  }
  static void write_case(const std::string& more = "", const std::string& to = "1500") {
    std::ofstream("case.yaml") << R"yaml(
case: waves
grid: {x: {cells: 96, to: 1}, y: {cells: 64, to: 1}}
parameters: {D: 1e-4, a: {field: "1 + 0.3*sin(2*pi*x)"}}
state: {u: {initial: "0.5 + 0.4*sin(2*pi*x)*cos(2*pi*y)"}}
equations: {dt(u): "D*lap(u) + a*u*(1 - u)*(u - 0.3)"}
time: {method: rk4, step: 0.1, to: )yaml"
                               << to
                               << "}\nobjective: [{final: \"u^2\"}, {integral: \"u^4\"}]\nunknowns: {D: {}, a: {}}\n"
                               << (more.empty() ? "checkpoints: {host: 30 slots}\n" : more);
  }
  /// What the run's status says; 0 when there is none yet.
  static std::int64_t status_of(const std::string& run_folder, const char* key) {
    const nlohmann::json status = nlohmann::json::parse(std::ifstream(run_folder + "/status.json"), nullptr, false);
    return status.is_object() ? status[key].get<std::int64_t>() : 0;
  }
  /// Starts the program and sends it a signal when the value in the run's status has grown by `more`. @returns the exit
  /// code, -1 when it ended by the signal.
  int run_and_signal(const std::string& arguments, int ranks, int signal, const std::string& run_folder,
                     const char* key, std::int64_t more) const {
    const std::int64_t wanted = status_of(run_folder, key) + more;
    Process process(command(arguments, ranks) + " > output.txt 2>&1");
    while (status_of(run_folder, key) < wanted && !process.is_over())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const bool was_alive = !process.is_over();
    process.send(signal);
    const int code = process.wait();
    return code == -1 && !was_alive ? died_before : code;
  }
  /// Starts the program and kills it when the folder has so many epochs more. @returns false when it ended before.
  bool run_and_kill(const std::string& arguments, const std::string& run_folder, int epochs) const {
    return run_and_signal(arguments, 1, SIGKILL, run_folder, "epoch", epochs) == -1;
  }
  /// Few steps of write_case()'s that take long.
  static void slow_down() {
    std::string text = contents("case.yaml");
    text.insert(text.find("D*lap(u)"), "1e-6*sin(1 + sin(2 + sin(3 + sin(4 + sin(5 + sin(6 + sin(7 + sin(u)))))))) + ");
    write_text("case.yaml", text);
  }
  static constexpr int died_before = -2;  // by another signal
  std::string environment_;               // "NAME=VALUE " of processes
};

}  // namespace hindsight::test

// The program in processes of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/places.hpp"

namespace hindsight::test {

/// An environment without the marks that this test's own MPI has left.
inline const std::string clean_environment =
    "env -i PATH=\"$PATH\" HOME=\"$HOME\" HINDSIGHT_CACHE=\"$HINDSIGHT_CACHE\" ASAN_OPTIONS=\"$ASAN_OPTIONS\" "
    "OMPI_ALLOW_RUN_AS_ROOT=$OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=$OMPI_ALLOW_RUN_AS_ROOT_CONFIRM "
    "OMPI_MCA_btl_vader_single_copy_mechanism=none ";

inline std::string command_line(const std::string& arguments, int ranks) {
  std::string text = clean_environment;
  if (ranks > 1) text += "mpirun --oversubscribe --bind-to none -n " + std::to_string(ranks) + " ";
  return text + std::string(test::program_file()) + " " + arguments;
}

/// @returns the exit code, -1 after a signal.
inline int run_command(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// @returns a process and all that it has started, itself first, by the parents that /proc tells.
inline std::vector<pid_t> process_tree(pid_t root) {
  std::vector<std::pair<pid_t, pid_t>> parents;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = contents(entry.path().string() + "/stat");  // "id (name) state parent ..."
    const auto end = stat.rfind(')');
    if (end != std::string::npos && end + 4 < stat.size())
      parents.emplace_back(std::stoi(name), std::stoi(stat.substr(end + 4)));
  }
  std::vector<pid_t> tree{root};
  for (std::size_t i = 0; i < tree.size(); ++i)
    for (const auto& [id, parent] : parents)
      if (parent == tree[i]) tree.push_back(id);
  return tree;
}

/// A command that runs beside the test; killed when it is still there at the end.
class Process {
 public:
  explicit Process(const std::string& command) : id_(fork()) {
    if (id_ != 0) return;
    const std::string text = "exec " + command;
    execl("/bin/sh", "sh", "-c", text.c_str(), nullptr);
    _exit(127);
  }
  ~Process() {
    send(SIGKILL);
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  pid_t id() const { return id_; }
  void send(int signal) const {
    if (!is_over_) kill(id_, signal);
  }
  /// To its ranks as well: mpirun does not hand on SIGSTOP.
  void send_to_all(int signal) const {
    if (is_over_) return;
    for (const pid_t id : process_tree(id_)) kill(id, signal);
  }
  bool is_over() {
    if (!is_over_) is_over_ = waitpid(id_, &status_, WNOHANG) == id_;
    return is_over_;
  }
  /// @returns the exit code, -1 after a signal.
  int wait() {
    if (!is_over_) is_over_ = waitpid(id_, &status_, 0) == id_;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

 private:
  pid_t id_;
  int status_ = 0;
  bool is_over_ = false;
};

}  // namespace hindsight::test

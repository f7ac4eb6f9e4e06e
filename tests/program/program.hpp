// The program in processes of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

namespace hindsight::test {

/// An environment without the marks that this test's own MPI has left.
inline const std::string clean_environment =
    "env -i PATH=\"$PATH\" HOME=\"$HOME\" HINDSIGHT_CACHE=\"$HINDSIGHT_CACHE\" ASAN_OPTIONS=\"$ASAN_OPTIONS\" "
    "OMPI_ALLOW_RUN_AS_ROOT=$OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=$OMPI_ALLOW_RUN_AS_ROOT_CONFIRM "
    "OMPI_MCA_btl_vader_single_copy_mechanism=none ";

inline std::string command_line(const std::string& arguments, int ranks) {
  std::string text = clean_environment;
  if (ranks > 1) text += "mpirun --oversubscribe --bind-to none -n " + std::to_string(ranks) + " ";
  return text + std::string(HINDSIGHT_PROGRAM) + " " + arguments;
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

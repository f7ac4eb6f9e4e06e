#include "runtime/host/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "runtime/stop_request.hpp"

extern char** environ;

namespace hindsight::host {
namespace {

constexpr int look_interval = 20;                   // ms between looks
constexpr auto patience = std::chrono::seconds(2);  // with a program that was asked to end

/// This process's variables, one of them another.
class Variables {
 public:
  explicit Variables(const std::string& temporaries) : own_("TMPDIR=" + temporaries) {
    for (char** variable = environ; *variable != nullptr; ++variable)
      if (temporaries.empty() || std::strncmp(*variable, "TMPDIR=", 7) != 0) all_.push_back(*variable);
    if (!temporaries.empty()) all_.push_back(own_.data());
    all_.push_back(nullptr);
  }
  char** data() { return all_.data(); }

 private:
  std::string own_;
  std::vector<char*> all_;
};

/// A program that runs, the leader of its group; it does not outlive this.
class Child {
 public:
  /// @param output where it writes.
  Child(const std::vector<std::string>& command, const std::string& temporaries, int output) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    Variables variables(temporaries);
    id_ = fork();
    if (id_ == 0) {
      setpgid(0, 0);
      dup2(output, 1);
      dup2(output, 2);
      execve(words[0], words.data(), variables.data());
      _exit(127);
    }
    if (id_ < 0) return;
    setpgid(id_, id_);  // whoever is first
    end_with_this_process(id_);
  }
  ~Child() {
    if (id_ <= 0) return;
    kill(-id_, SIGTERM);
    for (const auto begin = std::chrono::steady_clock::now(); waitpid(id_, nullptr, WNOHANG) == 0;) {
      if (std::chrono::steady_clock::now() - begin > patience) kill(-id_, SIGKILL);
      usleep(1000);
    }
    end_with_this_process(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  bool is_there() const { return id_ > 0; }
  /// @returns its exit code; -1 after a signal.
  int wait() {
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(id_, &status, 0)) < 0 && errno == EINTR) {
    }
    const bool is_whole = ended == id_ && WIFEXITED(status);
    id_ = 0;
    end_with_this_process(0);
    return is_whole ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t id_ = -1;
};

class Pipe {
 public:
  Pipe() { is_open_ = pipe2(ends_.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    if (!is_open_) return;
    close(ends_[0]);
    close_in();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool is_open() const { return is_open_; }
  int in() const { return ends_[1]; }
  int out() const { return ends_[0]; }
  void close_in() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  bool is_open_ = false;
};

/// Until all who write have closed it.
std::string read_all(int pipe, const std::function<void()>& look) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    if (look) look();
    pollfd waits{pipe, POLLIN, 0};
    if (poll(&waits, 1, look_interval) <= 0) continue;
    const ssize_t n = read(pipe, buffer.data(), buffer.size());
    if (n == 0 || (n < 0 && errno != EINTR)) return text;
    if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

ProcessOutcome run_process(const std::vector<std::string>& command, const ProcessSetting& setting) {
  Pipe pipe;
  if (!pipe.is_open()) return {-1, "no pipe"};
  Child child(command, setting.temporaries, pipe.in());
  if (!child.is_there()) return {-1, "no process could be started"};
  pipe.close_in();
  std::string output = read_all(pipe.out(), setting.look);
  return {child.wait(), std::move(output)};
}

}  // namespace hindsight::host

#include "runtime/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <sstream>

#include "runtime/environment.hpp"
#include "runtime/stop_request.hpp"

extern char** environ;

namespace hindsight {
namespace {

constexpr int look_interval = 20;  // ms between looks

/// Variables as a process gets them: "NAME=VALUE".
std::vector<std::string> copy_of(char** variables) {
  std::vector<std::string> all;
  for (; *variables != nullptr; ++variables) all.emplace_back(*variables);
  return all;
}

/// Before main() runs, and with it any library's start.
const std::vector<std::string> variables_at_start = copy_of(environ);

std::vector<std::string> variables_for(const ProcessSetting& setting) {
  std::vector<std::string> all = setting.as_at_start ? variables_at_start : copy_of(environ);
  std::vector<std::string> gone = setting.without;
  if (!setting.temporaries.empty()) gone.emplace_back("TMPDIR");
  const auto is_gone = [&](const std::string& variable) {
    const std::string name = variable.substr(0, variable.find('='));
    return std::find(gone.begin(), gone.end(), name) != gone.end();
  };
  all.erase(std::remove_if(all.begin(), all.end(), is_gone), all.end());
  if (!setting.temporaries.empty()) all.push_back("TMPDIR=" + setting.temporaries);
  return all;
}

/// As exec takes them. The texts must outlive it.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

/// A program that runs, the leader of its group; it does not outlive this.
class Child {
 public:
  /// @param output where it writes.
  Child(const std::vector<std::string>& command, const ProcessSetting& setting, int output) : grace_(setting.grace) {
    const std::vector<std::string> variables = variables_for(setting);
    std::vector<char*> words = pointers(command), environment = pointers(variables);
    id_ = fork();
    if (id_ == 0) {
      setpgid(0, 0);
      dup2(output, 1);
      dup2(output, 2);
      execve(words[0], words.data(), environment.data());
      _exit(127);
    }
    if (id_ < 0) return;
    setpgid(id_, id_);  // whoever is first
    end_with_this_process(id_);
  }
  ~Child() {
    if (id_ <= 0) return;
    kill(-id_, SIGTERM);
    // Until none of its group is left: whoever started it may count on that. Dead ones may stay where nobody reaps
    // them.
    using Seconds = std::chrono::duration<double>;
    const auto begin = std::chrono::steady_clock::now();
    for (double waited = 0.0; has_members() && waited < grace_ + 2.0; usleep(1000)) {
      waited = Seconds(std::chrono::steady_clock::now() - begin).count();
      if (waited > grace_) kill(-id_, SIGKILL);
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
  bool has_members() const {
    waitpid(id_, nullptr, WNOHANG);
    return kill(-id_, 0) == 0;
  }
  pid_t id_ = -1;
  double grace_;
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

/// Until all who write have closed it. @returns nothing when the time is up first.
std::optional<std::string> read_all(int pipe, const ProcessSetting& setting) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    if (setting.look) setting.look();
    if (setting.patience > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > setting.patience)
      return std::nullopt;
    pollfd waits{pipe, POLLIN, 0};
    if (poll(&waits, 1, look_interval) <= 0) continue;
    const ssize_t n = read(pipe, buffer.data(), buffer.size());
    if (n == 0 || (n < 0 && errno != EINTR)) return text;
    if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

bool is_executable(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path, unknown) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

ProcessOutcome run_process(const std::vector<std::string>& command, const ProcessSetting& setting) {
  Pipe pipe;
  if (!pipe.is_open()) return {-1, "no pipe"};
  Child child(command, setting, pipe.in());
  if (!child.is_there()) return {-1, "no process could be started"};
  pipe.close_in();
  std::optional<std::string> output = read_all(pipe.out(), setting);
  if (!output) return {-1, "it took too long"};
  return {child.wait(), std::move(*output)};
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_executable(name) ? name : "";
  std::istringstream path(environment("PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    if (const std::string program = (folder.empty() ? "." : folder) + "/" + name; is_executable(program))
      return program;
  return "";
}

}  // namespace hindsight

#include "src/backend/host/process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hindsight::host {

ProcessOutcome run_process(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, "no pipe"};
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    execv(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  ProcessOutcome outcome;
  char buffer[4096];
  for (ssize_t n = 0; child > 0 && (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    outcome.output.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
}

}  // namespace hindsight::host

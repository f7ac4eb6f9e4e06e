// Another program, run to its end.
#pragma once

#include <string>
#include <vector>

namespace hindsight::host {

struct ProcessOutcome {
  int status = -1;     ///< its exit code; below 0: it did not run, or was ended by a signal
  std::string output;  ///< standard output and error, as they came
};

/// Runs a program without a shell. @param command its full path, and its words.
ProcessOutcome run_process(const std::vector<std::string>& command);

}  // namespace hindsight::host

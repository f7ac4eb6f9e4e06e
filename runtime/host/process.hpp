// Another program, run to its end.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hindsight::host {

struct ProcessOutcome {
  int status = -1;     ///< its exit code; below 0: it did not run, or was ended by a signal
  std::string output;  ///< standard output and error, as they came
};

/// What a program is run with.
struct ProcessSetting {
  std::string temporaries;          ///< the folder for its temporary files (TMPDIR); empty: that of this process
  std::function<void()> look = {};  ///< called every few milliseconds; what it throws ends the program too
};

/// Runs a program without a shell, in a process group of its own: what a terminal sends to this program does not reach
/// it. @param command its full path, and its words.
ProcessOutcome run_process(const std::vector<std::string>& command, const ProcessSetting& setting = {});

}  // namespace hindsight::host

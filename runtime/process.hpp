// Another program, run to its end.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hindsight {

struct ProcessOutcome {
  int status = -1;     ///< its exit code; below 0: it did not run, or was ended by a signal
  std::string output;  ///< standard output and error, as they came
};

/// What a program is run with.
struct ProcessSetting {
  std::string temporaries;          ///< the folder for its temporary files (TMPDIR); empty: that of this process
  std::function<void()> look = {};  ///< called every few milliseconds; what it throws ends the program too
  /// With the variables that this process was started with, and not those that its libraries have set: a launcher of
  /// MPI programs would take those for its own.
  bool as_at_start = false;
  std::vector<std::string> without = {};  ///< variables that it is not to see
  double grace = 2.0;     ///< seconds for it and what it has started to end when asked; then they are killed
  double patience = 0.0;  ///< seconds until it is ended, with status -1; 0: as long as it takes
};

/// Runs a program without a shell, in a process group of its own: what a terminal sends to this program does not reach
/// it. @param command its full path, and its words.
ProcessOutcome run_process(const std::vector<std::string>& command, const ProcessSetting& setting = {});

/// The full path of a program: as it is named where that has a slash, else in the folders of PATH; "" where there is
/// none.
std::string find_program(const std::string& name);

}  // namespace hindsight

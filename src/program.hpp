// The program, for those who add methods, schedules, sources of steps, terms or codecs to it (docs/linking.md).
#pragma once

namespace hindsight {

/// All that `hindsight` does with its command line: from the start of MPI to its end, once in a process. What is to be
/// added (methods(), schedules(), step_sources(), term_kinds(), codecs()) must be there before. Runs are resumed by the
/// program that began them. @returns the exit code.
int run_program(int argc, char** argv);

}  // namespace hindsight

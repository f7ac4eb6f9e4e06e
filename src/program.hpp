// The program, for those who add methods, sources of steps, terms or backends to it.
#pragma once

namespace hindsight {

/// All that `hindsight` does with its command line: from the start of MPI to its end, once in a process. What is to be
/// added (methods(), step_sources(), term_kinds()) must be there before. @returns the exit code.
int run_program(int argc, char** argv);

}  // namespace hindsight

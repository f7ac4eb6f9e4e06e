// From words of a command line to options and a verb.
#pragma once

#include "src/verbs.hpp"

namespace hindsight {

struct Choice {
  Verb verb = nullptr;      ///< null: nothing is to be run
  bool reads_case = false;  ///< itself, or the run that it goes on with
};

/// @param prints whether help and version are printed where they are asked for. @throws InputError.
Choice parse_command_line(int argc, char** argv, Options& options, bool prints);

/// Whether what is asked for writes a run: a signal is then a request, and otherwise what it always is.
bool writes_run(int argc, char** argv);

}  // namespace hindsight

// A run begun here to be computed elsewhere: its folder has a run.json, with which `hindsight resume` goes on.
#pragma once

#include <string>

#include "io/case/case.hpp"
#include "src/options.hpp"

namespace hindsight {

/// Looks at all of a case that can be judged without a grid's memory. @param ranks that are to compute it. @throws
/// InputError for what a run of this verb would refuse: the case, the verb, more ranks than the grid has room for.
void require_runnable(const Case& c, const std::string& verb, int ranks);

/// A folder from the root, without a slash at its end: as jobs and people name it in the same words.
std::string run_folder(const std::string& path);

/// Verbs that send jobs compute nothing themselves. @throws InputError when there are several ranks.
void require_alone(const Communicator& comm, const std::string& verb);

/// Begins a run and leaves it: from here on the folder holds a run that has kept nothing. By one process. @param
/// options with verb, target, set and out as of the verb. @throws as RunClaim.
void leave_begun(const Options& options, const Case& c, int ranks);

/// Of one state on all ranks, about.
double state_bytes(const Case& c);

/// This program's file.
std::string own_path();

}  // namespace hindsight

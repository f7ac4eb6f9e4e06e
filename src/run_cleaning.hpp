// What goes from a run's folder when nobody needs it any more.
#pragma once

#include <functional>
#include <string>

#include "runtime/communicator.hpp"
#include "src/run_manifest.hpp"
#include "src/run_place.hpp"

namespace hindsight {

/// Removes those of a run's checkpoint files whose names are `old`. On every rank: the folder may lie on a node's own
/// disk. It may be missing; what cannot be removed stays. Collective. @param work where the run keeps its files.
void remove_checkpoints(const std::string& work, const RunManifest& run, const Communicator& comm,
                        const std::function<bool(const std::string& name)>& is_old);
/// All of them.
void remove_checkpoints(const std::string& work, const RunManifest& run, const Communicator& comm);

/// Removes of a run that nobody is in what only resuming needs; one that is not complete, as a whole. Collective.
/// @throws ResourceError when a process is in it.
void clean_run(const std::string& folder, bool takes_lock, const Communicator& comm);

/// Removes what a complete run left when it was killed before it could do so. Collective.
void finish_cleaning(const RunPlace& place, bool takes_lock, const Communicator& comm);

}  // namespace hindsight

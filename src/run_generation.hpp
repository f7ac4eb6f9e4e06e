// Generations of a run's files. Whoever takes a run over from a process that may still live goes on with files of its
// own: what that process writes from then on is in files that do not count any more.
#pragma once

#include <string>

#include "io/files/file_system.hpp"
#include "runtime/communicator.hpp"
#include "src/run_manifest.hpp"

namespace hindsight {

/// Whether the process that wrote the run's generation may still write into it, or a copy of it is not whole.
bool needs_new_generation(const RunManifest& manifest);

/// The newest epoch that all ranks of a run's group have; 0: nothing was kept. By one process. @throws ResourceError
/// when a journal is damaged.
std::int64_t kept_epoch(FileSystem& files, const std::string& work, const RunManifest& manifest);

/// Copies what the run has kept: journals and logs of evaluations under the names of the next generation, fields.h5 and
/// log.jsonl, as far as they are written, into new files under the same names. What else only a run at work needs goes;
/// so do checkpoints in files, which are computed again. Killed meanwhile, it is done again from the same generation.
/// The lock of the folder must be held. Collective. @param work where the run keeps its files. @param manifest gets the
/// new generation, in run.json too. @throws ResourceError
void begin_generation(FileSystem& files, const std::string& work, RunManifest& manifest, const Communicator& comm);

}  // namespace hindsight

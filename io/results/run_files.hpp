// Which files a run writes into its folder, told by their names.
#pragma once

#include <string>
#include <vector>

namespace hindsight {

/// The files of a complete run of whatever verb, but run.json. The last two, of which it has one, say that it is
/// complete.
const std::vector<std::string>& result_names();
/// Those that a run of this verb may have.
std::vector<std::string> result_names(const std::string& verb);

/// What lies in a run folder. The lock, and hidden files, are left out.
struct RunFiles {
  std::vector<std::string> results;  ///< of names that runs give their results
  std::vector<std::string> about;    ///< run.json, and the picture of scripts/plot-case
  std::vector<std::string> work;     ///< what only a run at work needs, or one that goes on
  std::vector<std::string> jobs;     ///< of the chain of jobs that computes runs here: they stay
  std::vector<std::string> others;   ///< what no run writes; of folders that runs make, what is not theirs in them
};

/// Nothing of a folder that is not there. @throws ResourceError when it cannot be read.
RunFiles list_run_files(const std::string& folder);

/// Whether a run, of whatever generation, has a file of this name for its work.
bool is_work_file(const std::string& name);
/// Whether it is the journal, the log of evaluations, or the host's checkpoints of a rank in this generation.
bool is_of_generation(const std::string& name, int generation);
/// Whether it is a checkpoint file in a scratch folder.
bool is_checkpoint_file(const std::string& name);

/// @throws InputError when a file of the folder is one of those that the run reads. @param inputs their paths.
void refuse_to_remove(const std::string& file, const std::vector<std::string>& inputs);

}  // namespace hindsight

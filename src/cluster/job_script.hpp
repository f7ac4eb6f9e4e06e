// The batch script of a chain of jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hindsight {

/// What a job asks SLURM for.
struct JobRequest {
  std::string name;                    ///< of the job
  int ranks = 1, nodes = 0;            ///< nodes: 0: as SLURM likes
  double seconds = 0.0;                ///< its limit; 0: the partition's own
  std::string account{}, partition{};  ///< empty: the user's own
  std::int64_t memory = 0;             ///< bytes on each node; 0: the partition's own
  std::string launcher = "srun";       ///< "srun", "mpirun", or words that start a program on all ranks
  std::vector<std::string> sbatch{};   ///< more options of sbatch
};

/// HOURS:MM:SS, as SLURM takes limits.
std::string limit_text(double seconds);

/// Lines "#SBATCH ...".
std::string directives(const JobRequest& request);

/// The words that come before the program's, for the shell.
std::string launch_words(const JobRequest& request);

/// Variables that sbatch would take for options in place of what the script says.
std::vector<std::string> hidden_variables(const JobRequest& request);

/// Lines that give a job the variables of here that change what a run computes, or how its program is found.
std::string exports();

/// A word for the shell, in quotes where it needs them.
std::string quoted_word(const std::string& word);

/// Seconds before a job's end at which the run has stopped: for MPI and SLURM to end in order.
inline constexpr int margin = 10;

/// @param run its folder. @param program that runs it. Paths from the root.
std::string chain_script(const JobRequest& request, const std::string& run, const std::string& program, int most_jobs);

}  // namespace hindsight

// The command line as a plain struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/backends.hpp"

namespace hindsight {

/// What the verb `schedule` simulates.
struct ScheduleOptions {
  std::int64_t steps = 0;
  std::string slots = "host=1", content = "state";
  std::int64_t stages = 1;
  bool stiffly_accurate = false, steps_unknown = false;
  std::int64_t period = 0;
};

/// What `submit` and `sweep` ask SLURM for.
struct ClusterOptions {
  std::string verb;                                  ///< of the runs; empty: chosen from the case
  std::string time;                                  ///< a duration: the limit of each job
  std::int64_t ranks = 0, nodes = 0;                 ///< ranks: 0: one, or as many as the run has
  std::string account, partition, memory, launcher;  ///< launcher: empty: srun
  std::int64_t most_jobs = 0;                        ///< of a chain; 0: 20
  std::string sweep_case;                            ///< of `sweep`, whose target is the table
  std::int64_t at_once = 0, local = 0;  ///< rows at a time: of an array, 0: as SLURM likes; here, 0: not here
  std::string csv;                      ///< of `status`: where a sweep's table goes, too
  bool dry_run = false;                 ///< show the script, begin nothing
  std::vector<std::string> sbatch;      ///< the words after --
};

/// Hidden options, for tests.
struct DeveloperOptions {
  std::vector<double> emulate_disk;  ///< memory in place of a disk, seconds per write and per read of a state
  std::string break_gradient;        ///< a part of the adjoint and its relative error, steps:1e-6
  /// The call that changes a file of the journal, from 1, at which a process is to kill itself; 0: none. Only one rank,
  /// or each by its own count.
  std::int64_t die_at = 0;
  std::optional<int> die_on_rank;
  std::optional<unsigned> shuffle_shots;  ///< of a random order in which shots are done
};

struct Options {
  std::string verb;    ///< empty: chosen from the case
  std::string target;  ///< case file; kind of schedule; kind of template
  std::vector<std::string> set;
  std::string shot;  ///< the only one that counts; empty: all that the case has
  int groups = 0;    ///< of ranks, which share the shots; 0: as many as can be
  std::string out;   ///< run folder; empty: runs/CASE/VERB
  std::string json;  ///< file, or - for standard output
  bool quiet = false;
  std::string backend = "auto";
  std::string petsc;
  std::vector<std::string> petsc_changes;  ///< of those, what was added when the run was gone on with
  double started = 0.0;                    ///< seconds that the process had taken until it could look at these words
  bool resume = false;                     ///< go on with what is in the run folder
  bool overwrite = false;                  ///< give up what is in the run folder
  bool take_lock = false;                  ///< though it cannot be seen whether its owner lives
  int ranks = 0;                           ///< resume: as many are meant; 0: as before
  std::string stop_after, epoch;           ///< durations: of the process, between epochs; empty: none, measured
  std::string scratch;                     ///< resume: folder of checkpoint files from now on; empty: as before
  std::string cost, picture;
  double noise = 0.0;      ///< observe: standard deviation of what is added to values
  std::uint64_t seed = 1;  ///< of that
  ScheduleOptions schedule;
  ClusterOptions cluster;
  DeveloperOptions developer;
};

/// The backend that was asked for; `auto` is the first one.
inline const Backend& chosen_backend(const Options& options) {
  return options.backend == "auto" ? *backends().front() : find_backend(options.backend);
}

}  // namespace hindsight

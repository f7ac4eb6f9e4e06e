// SLURM through its commands: what it says of jobs, and jobs sent to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/slurm/job.hpp"

namespace hindsight {

/// What squeue says of a job.
struct JobView {
  bool has_answered = false;  ///< SLURM did
  std::string state;          ///< PENDING, RUNNING, COMPLETED, ...; empty: SLURM knows the job no more
  std::string nodes, end;     ///< those that it has; when its limit is up, as "2026-11-23T16:32:32"
  std::string reason;         ///< why it waits
  /// It waits, runs, or is being ended.
  bool is_in_queue() const;
  /// Processes of it may run, as far as SLURM knows.
  bool may_run() const;
};

JobView view_job(const std::string& job);

/// A job in the queue.
struct QueuedJob {
  std::string id, array;  ///< of a task of an array that has begun: its own number, and the array's
  JobView seen;
};
/// Jobs of a batch script, whoever has sent it: numbers alone begin again, and other clusters have the same. Nothing
/// where SLURM does not answer. @param script from the root.
std::optional<std::vector<QueuedJob>> jobs_of(const std::string& script);

/// Of this process's job, else as SLURM's settings say; empty: nobody knows.
const std::string& cluster_name();

/// Whether SLURM has ended the job, or started it again since: nobody waits for its processes any more, though some
/// may live on a node that cannot be reached. @param patience seconds in which SLURM is asked again while it does not
/// answer. False where it does not say, and where it may hide the job, another user's. @throws Stopped
bool has_given_up(const JobIdentity& job, double patience = 0.0);

/// Variables by which sbatch would not do what a script says.
using Hidden = std::vector<std::string>;

/// Whether SLURM would take a script; nothing is sent. @throws as send_job().
void test_job(const std::string& script, const Hidden& hidden);

/// What sbatch makes of a script: the job's number. @param options of sbatch. @param script its path and arguments.
/// (Variables that are named in --export cost a tenth of a second a task, in which SLURM logs the user in.) @throws
/// ResourceError when there is no sbatch or no controller answers; InputError with SLURM's words when it refuses the
/// job.
std::string send_job(const std::vector<std::string>& options, const std::vector<std::string>& script,
                     const Hidden& hidden);

/// @throws ResourceError with SLURM's words.
void cancel_job(const std::string& job);

struct Partition {
  std::string name;
  std::int64_t cores = 0, nodes = 0;
  double seconds = 0.0;  ///< the longest limit of its jobs; 0: there is none
};
/// @param name empty: the default one. Nothing where SLURM does not say.
std::optional<Partition> find_partition(const std::string& name);

/// The largest number of tasks that an array of jobs may have; 1001 where SLURM does not say.
std::int64_t most_array_tasks();

}  // namespace hindsight

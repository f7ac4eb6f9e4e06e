// The jobs that compute a run, one after another, as they tell it in RUN/jobs.log:
//
//   2026-11-23T16:00:00Z chain 1 begins: at most 20 jobs on CLUSTER
//   2026-11-23T16:00:00Z chain 1 job 17 queued
//   2026-11-23T16:00:05Z chain 1 job 17 begins on n[1-2] at epoch 0
//   2026-11-23T16:00:05Z chain 1 job 18 queued
//   2026-11-23T16:01:00Z chain 1 job 17 ends with code 5 at epoch 14
//   2026-11-23T16:01:09Z chain 1 ends: the run is complete
#pragma once

#include <string>
#include <vector>

#include "io/slurm/slurm.hpp"
#include "src/report.hpp"

namespace hindsight {

struct ChainJob {
  std::string id;
  std::string nodes, begun;  ///< empty: it has not begun
  std::string ended;         ///< empty: it runs, or was lost
  int code = 0;              ///< of its end
};

struct Chain {
  int number = 0;
  std::vector<ChainJob> jobs;  ///< in the order in which they were queued
  std::string end;             ///< why it has ended; empty: it has not
  std::string cluster;         ///< where its jobs are; empty: unknown
};

/// The log of a run, or of a row of a sweep.
class JobLog {
 public:
  static std::string file(const std::string& run) { return run + "/jobs.log"; }
  /// Of a run's folder; empty where nothing was submitted.
  static JobLog of(const std::string& run);
  /// @param text may end within a line, which says nothing then.
  static JobLog parse(const std::string& text);
  /// Adds a line, with the time. @throws ResourceError
  static void say(const std::string& run, int chain, const std::string& what);

  /// From the first to the newest.
  const std::vector<Chain>& chains() const { return chains_; }
  bool is_empty() const { return chains_.empty(); }
  /// There must be one.
  const Chain& newest() const { return chains_.back(); }

 private:
  std::vector<Chain> chains_;
};

/// What SLURM says of the jobs of a run.
struct QueueView {
  std::string silence;          ///< why it says nothing; empty: it has answered
  std::vector<QueuedJob> jobs;  ///< those in the queue
  bool has_answered() const { return silence.empty(); }
  bool has(const std::string& id) const;
};
/// @param run its folder, from the root.
QueueView view_queue(const std::string& run, const JobLog& log);

/// The script that the jobs of a run's chain are made of.
inline std::string chain_file(const std::string& run) {
  return run + "/submit.sbatch";
}

/// The newest chain in words for `hindsight status`, whole lines; what it says is added to `json`. Nothing where
/// nothing was submitted.
std::string chain_text(const std::string& run, Json& json);

}  // namespace hindsight

// The jobs that compute a run, one after another, as they tell it in RUN/jobs.log:
//
//   2026-11-23T16:00:00Z chain 1 begins: at most 20 jobs
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
  /// Jobs of any chain that have not said that they end.
  std::vector<ChainJob> open_jobs() const;

 private:
  std::vector<Chain> chains_;
};

/// What SLURM says of jobs.
struct QueueView {
  struct Queued {
    ChainJob job;
    JobView seen;
  };
  bool has_answered = true;  ///< SLURM did
  std::vector<Queued> jobs;  ///< those in the queue
  bool has(const std::string& id) const;
};
QueueView view(const std::vector<ChainJob>& jobs);

/// The newest chain in words for `hindsight status`, whole lines; what it says is added to `json`. Nothing where
/// nothing was submitted.
std::string chain_text(const std::string& run, Json& json);

}  // namespace hindsight

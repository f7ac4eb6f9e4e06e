// Which process it is, so that it can be told from a later one with the same number.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "io/slurm/job.hpp"

namespace hindsight {

/// Process numbers are given again: the time when the process started, in ticks since the boot, tells two apart, and
/// the boot tells two such times apart. Numbers mean nothing outside their name space (a container's, say).
struct ProcessIdentity {
  std::string host;
  long process = 0;
  std::string started;             ///< field 22 of /proc/PROCESS/stat
  std::string boot;                ///< /proc/sys/kernel/random/boot_id
  std::string space;               ///< of process numbers
  std::string date;                ///< UTC, of when this was asked for; for people
  std::optional<JobIdentity> job;  ///< of SLURM, that it belongs to

  bool operator==(const ProcessIdentity&) const = default;
};

ProcessIdentity this_process();

enum class Liveness {
  alive,
  dead,
  given_up,  ///< cannot be seen from here, but SLURM has ended its job: nobody waits for it
  unknown,
};

/// Whether it still runs, as far as can be seen from here. Of processes on other hosts and in other name spaces that
/// belong to jobs, SLURM is asked. @param patience seconds with one that does not answer.
Liveness liveness(const ProcessIdentity& owner, double patience = 0.0);
/// The same. @param has_given_up whether SLURM has ended a job.
Liveness liveness(const ProcessIdentity& owner, const std::function<bool(const JobIdentity&)>& has_given_up);

/// Lines "host NAME", "process 17" and so on, the job's where there is one; nothing when the text is not such.
std::string to_text(const ProcessIdentity& identity);
std::optional<ProcessIdentity> parse_identity(const std::string& text);

}  // namespace hindsight

// Which job of SLURM a process belongs to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace hindsight {

/// A job that is put back into the queue keeps its number and starts again with a higher restart.
struct JobIdentity {
  std::string cluster, job;
  int restart = 0;
  std::int64_t user = 0;  ///< whose it is: SLURM may hide it from others
  bool operator==(const JobIdentity&) const = default;
};

/// That of this process; nothing outside of a job. @param variable of the environment; "" when it is not set.
std::optional<JobIdentity> this_job(const std::function<std::string(const char*)>& variable);
std::optional<JobIdentity> this_job();

/// "CLUSTER JOB RESTART USER", and back; nothing when the text is not such.
std::string to_text(const JobIdentity& job);
std::optional<JobIdentity> parse_job(const std::string& text);

}  // namespace hindsight
